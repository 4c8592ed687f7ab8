#include <algorithm>
#include <set>

#include "onnx/importer.h"

// Messages of the importer's errors.
namespace frazil::onnx {

namespace {

using Nodes = std::vector<NodeParts>;

bool contains(const Texts& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

const NodeParts* maker_of(const Nodes& nodes, std::string_view name) {
  const auto found = std::ranges::find_if(nodes, [&](const NodeParts& n) { return contains(n.outputs, name); });
  return found == nodes.end() ? nullptr : &*found;
}

/// True when a node reads one of the values `made`, directly or through other nodes in the list.
bool needs(const Nodes& nodes, const NodeParts& node, const Texts& made) {
  std::vector<const NodeParts*> open{&node};
  std::set<const NodeParts*> seen{&node};
  while (!open.empty()) {
    const NodeParts* next = open.back();
    open.pop_back();
    for (const std::string_view input : next->inputs) {
      if (input.empty()) continue;
      if (contains(made, input)) return true;
      const NodeParts* maker = maker_of(nodes, input);
      if (maker != nullptr && seen.insert(maker).second) open.push_back(maker);
    }
  }
  return false;
}

}  // namespace

Result<std::vector<NodeParts>> Importer::nodes_behind(const Frame& frame) {
  Nodes nodes;
  Reader rest = frame.nodes;
  while (rest.next(frame.node_tag)) {
    FRAZIL_TRY(const Bytes bytes, message_field(rest));
    FRAZIL_TRY(nodes.emplace_back(), read_node(bytes));
  }
  return nodes;
}

std::unexpected<Fault> Importer::undefined(std::string_view name, const NodeParts& node) const {
  const auto because = [&](std::string_view reason) {
    return fail(Code::bad_model, "{}: input '{}' {}", describe(node), proto::shown(name), reason);
  };
  if (contains(node.outputs, name)) return because("is its own output: a cycle");
  Texts made = node.outputs;  // at each level, outputs of the construct being built
  for (auto frame = frames_.rbegin(); frame != frames_.rend() && frame->cx == top().cx; ++frame) {
    FRAZIL_TRY(const Nodes later, nodes_behind(*frame));
    if (const NodeParts* maker = maker_of(later, name)) {
      const bool cycle = needs(later, *maker, made);
      return because(cycle ? fmt::format("comes from {}, which needs this one: a cycle", describe(*maker))
                           : fmt::format("is used before {} defines it; nodes must be sorted", describe(*maker)));
    }
    if (!frame->region && !frame->spliced) continue;
    made = frame->region ? frame->region->outputs : frame->spliced->outputs;
    if (contains(made, name)) {
      const std::string& around = frame->region ? frame->region->described : frame->spliced->described;
      return because(fmt::format("is an output of {} around it: a cycle", around));
    }
  }
  return because("is not defined");
}

std::string Importer::path() const {
  constexpr std::size_t kShown = 2;  // outermost levels shown, besides the innermost
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

std::string Importer::name_of_node(const NodeParts& node) const {
  std::string_view name = node.name;
  for (const std::string_view output : node.outputs) {
    if (name.empty()) name = output;
  }
  return top().cx->prefix + std::string(name);
}

std::string Importer::describe(const NodeParts& node) const {
  return fmt::format("node '{}' ({})", proto::shown(name_of_node(node)), proto::shown(node.op));
}

}  // namespace frazil::onnx
