#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "plan/bind.h"
#include "plan/needs.h"
#include "plan/program.h"

namespace frazil {

/// Nodes of one block that run as one step, where the last of them stands.
struct FusionGroup {
  std::vector<NodeId> members;  ///< in block order
  Shape space;                  ///< all members work on it or on its rows
  std::vector<Value> inputs;    ///< of the program: defined outside, or what the product's kernel gives as the first
  std::vector<Value> outputs;   ///< used outside
  Program program;
  NodeId product{};        ///< a member with a kernel of its own, on whose result the program runs
  Value bias;              ///< a row that this kernel adds by itself, in place of a member; else absent
  float slope = 1;         ///< it also does what a member would: below 0, times this. 0: Relu, 1: nothing
  std::uint32_t base = 0;  ///< the output that the product's result is in until the program replaces it
  /// What makes the product's first operand, some rows at a time: its only output. Its members are in the list, too.
  std::unique_ptr<const FusionGroup> before;
};

/// Why a node does not run in one step with the node that gives one of its operands.
enum class Apart : std::uint8_t {
  space,      ///< they do not work on provably the same extents
  rounding,   ///< the value between them is rounded to a narrower type than it is computed in
  order,      ///< something between them uses what the first one gives
  size,       ///< together they have more operands or instructions than a step holds
  products,   ///< a step holds one product, on whose result the others work
  short_row,  ///< rows of so few elements do not pay
};
std::string_view text_of(Apart why);

/// Which nodes of a graph run together. Elementwise nodes over one space share a step; so do folds, softmax and
/// normalisation along its last axis, and one product or convolution whose result has that space: its program runs on
/// each part of the result while that is in a cache, and a matrix product adds a row and does Relu or LeakyRelu by
/// itself. What makes the first operand of a product with a small constant joins it where nothing else wants that
/// operand. Every member's value is computed once, with the bits that it has by itself.
class Fusion {
 public:
  struct Refusal {
    NodeId node, producer;
    Apart why;
  };

  /// `enabled` false: each node that a tile step serves is a group of its own.
  static Fusion of(const Graph& graph, const Needs& needs, bool enabled);
  /// The group of the node; null if a kernel of its own serves it.
  const FusionGroup* group(NodeId n) const;
  const std::vector<FusionGroup>& groups() const { return groups_; }
  const std::vector<Refusal>& refusals() const { return refusals_; }
  /// bind() of a needed node that is no View and no Region.
  const std::optional<Binding>& binding(NodeId n) const { return bindings_[n.id]; }

 private:
  friend class Fuser;
  std::vector<FusionGroup> groups_;
  std::vector<std::uint32_t> group_of_;  // per node
  std::vector<std::optional<Binding>> bindings_;
  std::vector<Refusal> refusals_;
};

}  // namespace frazil
