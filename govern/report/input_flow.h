#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <frazil/graph.h>

#include "govern/report/bit_set.h"

namespace frazil::govern {

/// The inputs of a model that may influence each value, and whether each node runs. Keeps the model.
class InputFlow {
 public:
  /// The time is linear in the number of nodes for each iteration after which carried values still change.
  explicit InputFlow(const api::Model& model);

  const std::vector<api::GraphView::Node>& nodes() const { return nodes_; }
  const api::GraphView::Block& block(std::uint32_t id) const { return blocks_[id]; }
  const api::GraphView& graph() const { return graph_; }
  const api::Model& model() const { return model_; }

  /// Returns the numbers of the inputs that may influence a value.
  const BitSet& of_value(std::uint32_t value) const { return values_[value]; }
  /// Returns those that may decide whether the nodes of a block run.
  const BitSet& of_condition(std::uint32_t block) const { return conditions_[block]; }
  /// Returns those that reach the operands of a node, or decide whether it runs.
  BitSet of_inputs(const api::GraphView::Node& node) const;
  std::set<std::string> names(const BitSet& inputs) const;

 private:
  bool sweep();
  bool enter(std::uint32_t body, const BitSet& set);

  api::Model model_;
  api::GraphView graph_;
  std::vector<BitSet> values_, conditions_;
  std::vector<api::GraphView::Node> nodes_;
  std::vector<api::GraphView::Block> blocks_;
};

}  // namespace frazil::govern
