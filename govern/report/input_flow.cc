#include "govern/report/input_flow.h"

namespace frazil::govern {

InputFlow::InputFlow(const api::Model& model) : model_(model), graph_(model), values_(graph_.value_count()) {
  for (const std::uint32_t id : graph_.nodes()) nodes_.push_back(graph_.node(id));
  for (std::uint32_t b = 0; b < graph_.block_count(); ++b) blocks_.push_back(graph_.block(b));
  conditions_.resize(blocks_.size());
  for (std::size_t i = 0; i < blocks_[0].parameters.size(); ++i) values_[blocks_[0].parameters[i]].add(i);
  while (sweep()) {
  }
}

BitSet InputFlow::of_inputs(const api::GraphView::Node& node) const {
  BitSet set = conditions_[node.block];
  for (const auto& value : node.inputs) {
    if (value) set.join(values_[*value]);
  }
  return set;
}

/// Returns whether something was added, so that another sweep may add more.
bool InputFlow::sweep() {
  bool grew = false;
  for (const auto& node : nodes_) {
    BitSet set = of_inputs(node);
    for (const std::uint32_t body : node.bodies) grew |= enter(body, set);
    for (const std::uint32_t body : node.bodies) {
      for (const std::uint32_t result : blocks_[body].results) set.join(values_[result]);
    }
    for (const std::uint32_t out : node.outputs) grew |= values_[out].join(set);
  }
  return grew;
}

/// Gives the parameters of a body what reaches the node and what the previous iteration computed.
bool InputFlow::enter(std::uint32_t body, const BitSet& set) {
  bool grew = conditions_[body].join(set);
  BitSet carried = set;
  for (const std::uint32_t result : blocks_[body].results) carried.join(values_[result]);
  if (!blocks_[body].parameters.empty()) grew |= conditions_[body].join(carried);
  for (const std::uint32_t parameter : blocks_[body].parameters) grew |= values_[parameter].join(carried);
  return grew;
}

std::set<std::string> InputFlow::names(const BitSet& inputs) const {
  std::set<std::string> names;
  for (std::size_t i = 0; i < model_.inputs().size(); ++i) {
    if (inputs.has(i)) names.insert(model_.inputs()[i].name);
  }
  return names;
}

}  // namespace frazil::govern
