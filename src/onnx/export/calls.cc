#include "onnx/export/calls.h"

#include <algorithm>
#include <optional>
#include <ranges>

#include "ir/op/op.h"
#include "onnx/export/fields.h"
#include "onnx/export/names.h"

namespace frazil::onnx {
namespace {

constexpr std::uint32_t kResult = ~0u;  ///< position of reads by the results of a block

bool made_by(const Graph& graph, const ModelInfo::Call& call, NodeId id) {
  return id && graph.node(id).stable >= call.first && graph.node(id).stable < call.last;
}

/// The positions of nodes in their blocks, and the last position that reads each value in its block.
class Places {
 public:
  explicit Places(const Graph& graph) : graph_(graph), at_(graph.node_count()), last_use_(graph.value_count()) {
    for (std::uint32_t b = 0; b < graph.block_count(); ++b) {
      const auto& nodes = graph.block(BlockId{b}).nodes;
      for (std::uint32_t k = 0; k < nodes.size(); ++k) {
        at_[nodes[k].id] = k;
        by_stable_.emplace_back(graph.node(nodes[k]).stable, nodes[k]);
      }
    }
    std::ranges::sort(by_stable_);
    for (std::uint32_t b = 0; b < graph.block_count(); ++b) note_uses(BlockId{b});
  }

  /// Returns the call if it is whole. Pass nested calls before the calls that contain them.
  std::optional<ExportableCall> whole(const ModelInfo::Call& call) {
    const auto from = std::ranges::lower_bound(by_stable_, call.first, {}, &Stable::first);
    if (from == by_stable_.end() || from->first >= call.last) return std::nullopt;
    Span span;
    auto it = from;
    while (it != by_stable_.end() && it->first < call.last) {
      const auto inner = spans_.find(it->first);
      const Span part = inner == spans_.end() ? span_of(it) : std::move(inner->second);
      if (!made_by(graph_, call, graph_.block(part.block).owner)) span.add(part);
      it = by_stable_.begin() + part.end;
    }
    span.end = it - by_stable_.begin();
    std::erase_if(span.outputs, [&](Value v) { return !leaves(v, call, span.last); });
    const Span& found = spans_[from->first] = std::move(span);
    if (!found.whole || found.last - found.first + 1 != found.count) return std::nullopt;
    const auto& nodes = graph_.block(found.block).nodes;
    ExportableCall whole{&call, nodes[found.first], nodes[found.last], found.outputs};
    sort_known_first(graph_, call.outputs, whole.outputs);
    return whole;
  }

 private:
  using Stable = std::pair<std::uint32_t, NodeId>;

  /// The nodes of one block, without those of nested blocks.
  struct Span {
    BlockId block{};
    std::uint32_t first = 0, last = 0, count = 0;  ///< positions in the block
    std::ptrdiff_t end = 0;                        ///< index after the nodes in by_stable_
    bool whole = true;                             ///< all nodes are in one block
    std::vector<Value> outputs;

    void add(const Span& more) {
      whole = whole && more.whole && (count == 0 || block == more.block);
      first = count == 0 ? more.first : std::min(first, more.first);
      last = std::max(last, more.last);
      block = more.block;
      count += more.count;
      outputs.insert(outputs.end(), more.outputs.begin(), more.outputs.end());
    }
  };

  Span span_of(std::vector<Stable>::const_iterator it) const {
    const std::uint32_t place = at_[it->second.id];
    const Node& node = graph_.node(it->second);
    Span span{node.parent, place, place, 1, it - by_stable_.begin() + 1, true, node.out};
    std::erase(span.outputs, Value{});
    return span;
  }

  void note_uses(BlockId block) {
    for (const NodeId id : graph_.block(block).nodes) {
      for (const Value v : graph_.node(id).in) note_use(v, block, at_[id.id]);
    }
    for (const Value v : graph_.block(block).results) note_use(v, block, kResult);
  }

  void note_use(Value v, BlockId block, std::uint32_t place) {
    const auto home = v ? graph_.block_of(v) : std::nullopt;
    if (!home) return;
    while (block != *home) {
      const NodeId owner = graph_.block(block).owner;
      place = at_[owner.id];
      block = graph_.node(owner).parent;
    }
    last_use_[v.id] = std::max(last_use_[v.id], place);
  }

  /// Returns whether a value of the call, whose nodes end at `last`, is read elsewhere or was an output of the
  /// function.
  bool leaves(Value v, const ModelInfo::Call& call, std::uint32_t last) const {
    return last_use_[v.id] > last || name_in_function(call.outputs, graph_.value_name(v)) != nullptr;
  }

  const Graph& graph_;
  std::vector<std::uint32_t> at_, last_use_;
  std::vector<Stable> by_stable_;
  std::unordered_map<std::uint32_t, Span>
      spans_;  ///< spans of the outermost calls so far, by the stable id of their first node
};

bool is_operator(const ModelInfo::Function& f) { return OpRegistry::global().find(f.domain, f.name) != nullptr; }

}  // namespace

ExportableCalls exportable_calls(const Graph& graph) {
  ExportableCalls calls;
  if (!graph.info || graph.info->calls.empty()) return calls;
  Places places(graph);
  for (const ModelInfo::Call& call : graph.info->calls | std::views::reverse) {
    auto whole = places.whole(call);
    if (whole && !is_operator(graph.info->functions[call.function]))
      calls[whole->first.id].push_back(std::move(*whole));
  }
  for (auto& [node, those] : calls) std::ranges::reverse(those);
  return calls;
}

bool made_in(const Graph& graph, const ModelInfo::Call& call, Value v) {
  const ValueDef& def = graph.def(v);
  if (def.kind == ValueDef::Kind::constant) return false;
  const NodeId maker = def.kind == ValueDef::Kind::node ? NodeId{def.owner} : graph.block(BlockId{def.owner}).owner;
  return made_by(graph, call, maker);
}

void sort_known_first(const Graph& graph, const ModelInfo::Call::Names& names, std::vector<Value>& values) {
  std::ranges::stable_sort(values, {}, [&](Value v) {
    return std::ranges::find(names, graph.value_name(v), &std::pair<std::string, std::string>::first) - names.begin();
  });
}

FunctionProtos::FunctionProtos(const Graph& graph) {
  if (!graph.info) return;
  for (const ModelInfo::Function& f : graph.info->functions) used_.emplace(f.domain, f.name, f.overload);
}

std::string FunctionProtos::add(const ModelInfo::Function& function, std::string body) {
  auto& known = bodies_[{function.domain, function.name, function.overload}];
  const auto it = std::ranges::find(known, body, &std::pair<std::string, std::string>::first);
  if (it != known.end()) return it->second;
  const std::string name = known.empty() ? function.name : free_name(function);
  std::string& proto = protos_.emplace_back(body);
  Writer writer(proto);
  add_text(writer, 1, name);
  add_text(writer, 10, function.domain);
  add_text(writer, 13, function.overload);
  known.emplace_back(std::move(body), name);
  return name;
}

std::string FunctionProtos::free_name(const ModelInfo::Function& function) {
  for (int k = 2;; ++k) {
    std::string name = fmt::format("{}_{}", function.name, k);
    if (used_.emplace(function.domain, name, function.overload).second) return name;
  }
}

}  // namespace frazil::onnx
