#include "onnx/import/frames.h"

#include <algorithm>

namespace frazil::onnx {

namespace {

/// A node of a cycle, or the node in its subgraphs that reads from the cycle's next node.
struct CycleReader {
  NodeParts node;
  std::string_view value;  ///< the value that the node reads
};

bool contains(const Texts& names, std::string_view name) {
  return !name.empty() && std::ranges::find(names, name) != names.end();
}

/// Returns the node that reads one of the values `made`: this one, or one in its subgraphs.
Result<CycleReader> reader_of(Bytes node, const Texts& made) {
  std::vector<Bytes> open{node};
  while (!open.empty()) {
    FRAZIL_TRY(NodeParts parts, read_node(open.back()));
    open.pop_back();
    for (const std::string_view input : parts.inputs) {
      if (contains(made, input)) return CycleReader{std::move(parts), input};
    }
    for (const Bytes attribute : parts.attributes) {
      FRAZIL_TRY(const std::optional<Bytes> graph, subgraph_of(attribute));
      if (!graph) continue;
      FRAZIL_TRY(const GraphParts body, read_graph(*graph));
      for (const Bytes output : body.outputs) {
        FRAZIL_TRY(const ValueInfo info, read_value_info(output));
        if (contains(made, info.name)) return CycleReader{std::move(parts), info.name};
      }
      NodeList nodes(*graph, kGraphNode);
      FRAZIL_TRY(std::optional<Bytes> inner, nodes.next());
      while (inner) {
        open.push_back(*inner);
        FRAZIL_TRY(inner, nodes.next());
      }
    }
  }
  FRAZIL_TRY(NodeParts parts, read_node(node));
  return fail(Code::internal, "{}: it reads nothing of the next node of its cycle", proto::shown(parts.name));
}

/// Returns the fault for a result of NodeOrder::cycle.
std::unexpected<Fault> cyclic(const NameContext& cx, std::span<const Bytes> cycle) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(cycle.size(), kShown); ++i) {
    FRAZIL_TRY(const NodeParts maker, read_node(cycle[(i + 1) % cycle.size()]));
    FRAZIL_TRY(const CycleReader reader, reader_of(cycle[i], maker.outputs));
    text += fmt::format("{}{} reads '{}' of {}", i == 0 ? "" : ", ", describe(cx, reader.node),
                        proto::shown(reader.value), describe(cx, maker));
  }
  const std::string more = cycle.size() > kShown ? fmt::format(", and {} more", cycle.size() - kShown) : "";
  return fail(Code::bad_model, "the nodes form a cycle: {}{}", text, more);
}

}  // namespace

std::string FrameStack::path() const {
  constexpr std::size_t kShown = 2;  // number of outermost levels shown, besides the innermost
  std::vector<std::string> levels;
  for (const Frame& frame : frames_) {
    if (frame.region) levels.push_back(described_block(frame.region->described, frame.region->attr()));
    if (frame.spliced) levels.push_back(described_block(frame.spliced->described, frame.spliced->splice->attr));
  }
  std::string text;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (i >= kShown && i + 1 < levels.size()) continue;
    if (i > kShown) text += fmt::format("{} levels deeper: ", i - kShown);
    text += levels[i] + ": ";
  }
  return text;
}

std::string name_of_node(const NameContext& cx, const NodeParts& node) {
  std::string_view name = node.name;
  for (const std::string_view output : node.outputs) {
    if (name.empty()) name = output;
  }
  return cx.prefix + std::string(name);
}

std::string describe(const NameContext& cx, const NodeParts& node) {
  return fmt::format("node '{}' ({})", proto::shown(name_of_node(cx, node)), proto::shown(node.op));
}

std::string described_block(std::string_view node, std::string_view attr) {
  return fmt::format("{}, attribute '{}'", node, attr);
}

Result<std::vector<Value>> resolve_inputs(const NameContext& cx, const NodeParts& node) {
  std::vector<Value> values;
  for (const std::string_view name : node.inputs) {
    const auto value = name.empty() ? Value{} : cx.names.find(name);
    if (!value) return fail_at(describe(cx, node), Code::bad_model, "input '{}' is not defined", proto::shown(name));
    values.push_back(*value);
  }
  return values;
}

Result<std::vector<Value>> results(const Frame& frame, const std::string& what) {
  std::vector<Value> values;
  for (const Bytes bytes : frame.body.outputs) {
    FRAZIL_TRY(const ValueInfo info, read_value_info(bytes));
    const auto value = frame.cx->names.find(info.name);
    if (!value || !*value) {
      return fail(Code::bad_model, "{}: output '{}' is not defined", what, proto::shown(info.name));
    }
    values.push_back(*value);
  }
  return values;
}

Status FrameStack::push(Frame frame, Bytes whole, Tag tag) {
  if (frames_.size() >= limits_.nesting) {
    return fail(Code::limit, "subgraphs and function calls nest deeper than {} levels", limits_.nesting);
  }
  frame.nodes = order_.nodes(whole, tag);
  frames_.push_back(std::move(frame));
  if (const auto cycle = order_.cycle(whole); !cycle.empty()) return cyclic(*top().cx, cycle);
  return {};
}

}  // namespace frazil::onnx
