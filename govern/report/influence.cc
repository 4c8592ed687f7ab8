#include "govern/report/influence.h"

#include <vector>

#include <frazil/graph.h>

namespace frazil::govern {
namespace {

/// A set of inputs by their numbers.
using InputSet = std::vector<bool>;

bool join(InputSet& to, const InputSet& from) {
  bool grew = false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] && !to[i]) to[i] = grew = true;
  }
  return grew;
}

class Taints {
 public:
  explicit Taints(const api::Model& model)
      : model_(model), graph_(model), inputs_(model.inputs().size()), values_(graph_.value_count(), InputSet(inputs_)) {
    for (const std::uint32_t id : graph_.nodes()) nodes_.push_back(graph_.node(id));
    for (std::uint32_t b = 0; b < graph_.block_count(); ++b) blocks_.push_back(graph_.block(b));
    conditions_.assign(blocks_.size(), InputSet(inputs_));
    for (std::size_t i = 0; i < inputs_; ++i) values_[blocks_[0].parameters[i]][i] = true;
    while (sweep()) {
    }
  }

  Influence run() const {
    Influence found;
    for (std::size_t k = 0; k < model_.outputs().size(); ++k) {
      found["output '" + model_.outputs()[k].name + "'"] = names(values_[blocks_[0].results[k]]);
    }
    for (const auto& node : nodes_) {
      if (!node.bodies.empty()) found[node.text] = names(of_inputs(node));
    }
    return found;
  }

 private:
  /// Returns the inputs that reach the operands of a node, and the decision whether it runs.
  InputSet of_inputs(const api::GraphView::Node& node) const {
    InputSet set = conditions_[node.block];
    for (const auto& value : node.inputs) {
      if (value) join(set, values_[*value]);
    }
    return set;
  }

  bool sweep() {
    bool grew = false;
    for (const auto& node : nodes_) {
      InputSet set = of_inputs(node);
      for (const std::uint32_t body : node.bodies) grew |= enter(body, set);
      for (const std::uint32_t body : node.bodies) {
        for (const std::uint32_t result : blocks_[body].results) join(set, values_[result]);
      }
      for (const std::uint32_t out : node.outputs) grew |= join(values_[out], set);
    }
    return grew;
  }

  /// Gives the parameters of a body what reaches the node and what the previous iteration computed.
  bool enter(std::uint32_t body, const InputSet& set) {
    bool grew = join(conditions_[body], set);
    InputSet carried = set;
    for (const std::uint32_t result : blocks_[body].results) join(carried, values_[result]);
    if (!blocks_[body].parameters.empty()) grew |= join(conditions_[body], carried);
    for (const std::uint32_t parameter : blocks_[body].parameters) grew |= join(values_[parameter], carried);
    return grew;
  }

  std::set<std::string> names(const InputSet& set) const {
    std::set<std::string> names;
    for (std::size_t i = 0; i < inputs_; ++i) {
      if (set[i]) names.insert(model_.inputs()[i].name);
    }
    return names;
  }

  const api::Model& model_;
  api::GraphView graph_;
  std::size_t inputs_;
  std::vector<InputSet> values_;      ///< by value
  std::vector<InputSet> conditions_;  ///< by block: of the decision whether it runs
  std::vector<api::GraphView::Node> nodes_;
  std::vector<api::GraphView::Block> blocks_;
};

}  // namespace

Influence influence_of(const api::Model& model) { return Taints(model).run(); }

}  // namespace frazil::govern
