#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "plan/analyse/needs.h"
#include "plan/lower/bind.h"
#include "plan/model/fused.h"

namespace frazil {

/// Nodes of one block that run as one step, at the position of the last of them.
struct FusionGroup {
  std::vector<NodeId> members;  ///< in block order
  Shape domain;                 ///< all members work on it or on its rows
  std::vector<Value> inputs;    ///< the kernel's operands; an absent one is Value{}
  std::vector<Value> outputs;   ///< the kernel's stores: results used outside of the group
  NodeId product{};             ///< the producer's node
  Value tiles{};                ///< the producer's operand 0, if a prologue computes it
  std::shared_ptr<const FusedKernel> kernel;
};

/// The reason why a node does not run in one step with the node that feeds it.
enum class FusionRejection : std::uint8_t {
  domain,     ///< their extents are not provably equal
  rounding,   ///< the value between them is rounded to a type narrower than its compute type
  order,      ///< a node between them uses the first one's result
  size,       ///< together they exceed the operand or instruction limit of a step
  products,   ///< a step holds one product and nodes that work on its result
  short_row,  ///< rows are too short to gain
};
std::string_view text_of(FusionRejection why);

/// The nodes of a graph that run together.
/// Elementwise nodes over one domain share a step, also with folds, softmax and normalisation along its last axis.
/// A step may hold one product or convolution whose result has that domain. The body runs on each tile of the result
/// while the tile is in a cache. The product's kernel itself adds a row and applies Relu or LeakyRelu.
/// The nodes that compute the first operand of a product with a small constant become its prologue, if nothing else
/// uses that operand.
/// Each member's value is computed once, with the same bits as without fusion.
class Fusion {
 public:
  struct Rejected {
    NodeId node, producer;
    FusionRejection why;
  };

  /// With `enabled` false, each node that a fused kernel can serve is a group of its own.
  static Fusion of(const Graph& graph, const Needs& needs, bool enabled);
  /// Returns the group of the node; null if the node is in no group, as when a kernel of its own serves it.
  const FusionGroup* group(NodeId n) const;
  const std::vector<FusionGroup>& groups() const { return groups_; }
  const std::vector<Rejected>& rejected() const { return rejected_; }
  /// Returns bind() of a needed node that is neither a View nor a Region.
  const std::optional<Binding>& binding(NodeId n) const { return bindings_[n.id]; }

 private:
  friend class Fuser;
  std::vector<FusionGroup> groups_;
  std::vector<std::uint32_t> group_of_;  // per node
  std::vector<std::optional<Binding>> bindings_;
  std::vector<Rejected> rejected_;
};

}  // namespace frazil
