#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "plan/analyse/needs.h"
#include "plan/lower/bind.h"
#include "plan/model/fused.h"

namespace frazil {

/// Nodes of one block that run as one step, where the last of them stands.
struct FusionGroup {
  std::vector<NodeId> members;  ///< in block order
  Shape domain;                 ///< all members work on it or on its rows
  std::vector<Value> inputs;    ///< the kernel's operands; an absent one is Value{}
  std::vector<Value> outputs;   ///< the kernel's stores: what is used outside
  NodeId product{};             ///< the producer's node
  Value tiles{};                ///< the producer's operand 0 where a prologue makes it
  std::shared_ptr<const FusedKernel> kernel;
};

/// Why a node does not run in one step with the node that feeds it.
enum class FusionRejection : std::uint8_t {
  domain,     ///< they do not work on provably the same extents
  rounding,   ///< the value between them is rounded to a narrower type than it is computed in
  order,      ///< something between them uses the result of the first one
  size,       ///< together they have more operands or instructions than a step holds
  products,   ///< a step holds one product, on whose result the others work
  short_row,  ///< rows of so few elements do not pay
};
std::string_view text_of(FusionRejection why);

/// Which nodes of a graph run together. Elementwise nodes over one domain share a step; so do folds, softmax and
/// normalisation along its last axis, and one product or convolution whose result has that domain: the body runs on
/// each tile of the result while that is in a cache, and the product's kernel itself adds a row and does Relu or
/// LeakyRelu. What makes the first operand of a product with a small constant becomes its prologue where nothing else
/// uses that operand. Every member's value is computed once, with the bits that it has by itself.
class Fusion {
 public:
  struct Rejected {
    NodeId node, producer;
    FusionRejection why;
  };

  /// `enabled` false: each node that a fused kernel can serve is a group of its own.
  static Fusion of(const Graph& graph, const Needs& needs, bool enabled);
  /// The group of the node; null if a kernel of its own serves it.
  const FusionGroup* group(NodeId n) const;
  const std::vector<FusionGroup>& groups() const { return groups_; }
  const std::vector<Rejected>& rejected() const { return rejected_; }
  /// bind() of a needed node that is no View and no Region.
  const std::optional<Binding>& binding(NodeId n) const { return bindings_[n.id]; }

 private:
  friend class Fuser;
  std::vector<FusionGroup> groups_;
  std::vector<std::uint32_t> group_of_;  // per node
  std::vector<std::optional<Binding>> bindings_;
  std::vector<Rejected> rejected_;
};

}  // namespace frazil
