#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "plan/lower/fuse_draft.h"

namespace frazil {

/// A group and its kernel while they are written.
struct GroupParts {
  FusionGroup group;
  FusedKernel kernel;

  /// Adds an operand of the kernel and returns its number.
  std::uint32_t add_operand(const Graph& graph, Value v, Access access);
};

inline Origin origin_of(const Graph& graph, NodeId n) { return {.node = graph.node(n).stable}; }

/// Writes the producer of a group with a product: its parameters and operands, and the members whose work the product's
/// kernel does itself.
class ProducerWriter {
 public:
  ProducerWriter(const FusionFacts& facts, const Draft& draft, GroupParts& parts)
      : facts_(facts), graph_(facts.graph), d_(draft), parts_(parts) {}

  /// Adds the producer to the kernel. Call it before operands of the body are added.
  void open();
  /// Returns the value that the producer's kernel makes: the result of the product or of a later member.
  Value given() const { return given_; }
  /// Returns true for a value that only the producer's kernel sees.
  bool hides(Value v) const { return std::ranges::find(hidden_, v) != hidden_.end(); }
  /// Chooses where the producer's result goes: a store of that result, a store whose memory it may share, an additional
  /// store, or nowhere. Call it when the body and its stores are complete.
  void place();

 private:
  void take(NodeId member);
  void take_bias(const params::MatMul& matmul);
  bool take_row(ScalarOp op);
  bool take_half_norm();
  bool take_addend();
  void take_negative_slope(float& negative_slope);
  void take_epilogue(params::Conv& conv);

  std::optional<NodeId> only_member(Value v) const;
  std::optional<NodeId> only_cast(Value v, Elem to) const;
  std::optional<NodeId> only_user(Value v) const;
  bool has_epilogue(Value v) const;
  bool is_binary(ScalarOp op, NodeId node) const;
  bool is_with_row(ScalarOp op, NodeId user, Value v) const;
  Value other_operand(NodeId sum, Value v) const;
  bool may_pass() const;

  const FusionFacts& facts_;
  const Graph& graph_;
  const Draft& d_;
  GroupParts& parts_;
  Value given_{};
  std::vector<Value> hidden_;
};

}  // namespace frazil
