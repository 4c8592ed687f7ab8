#pragma once

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/infer/infer.h"
#include "plan/analyse/uses.h"
#include "plan/lower/bind.h"
#include "plan/lower/fuse.h"

// Shared by the parts of fusion: fuse.cc decides which nodes run together, fuse_write.cc writes their kernel,
// fuse_product.cc its producer.
namespace frazil {

/// A group under construction.
struct Draft {
  std::vector<NodeId> members;
  Shape domain;
  bool rows = false;
  NodeId product{};
  std::size_t instructions = 0;
  std::vector<Value> inputs;        ///< operands from outside, each once
  const Draft* prologue = nullptr;  ///< computes the product's first operand
  bool is_prologue = false;         ///< is the prologue of another draft

  bool has(NodeId n) const { return n && std::ranges::find(members, n) != members.end(); }
};

inline bool is_one(Dim d) { return d == Dim(1); }

RowOp row_op(const Binding& binding);

/// Facts about the graph that fusion needs.
struct FusionFacts {
  const Graph& graph;
  const Needs& needs;
  ValueUses uses;
  std::vector<std::optional<Binding>> bindings;         ///< per node
  std::unordered_map<std::uint32_t, ScalarTape> tapes;  ///< per elementwise node

  FusionFacts(const Graph& g, const Needs& n) : graph(g), needs(n), uses(g, n), bindings(g.node_count()) {}

  const Shape& shape(Value v) const { return graph.type(v).shape; }
  /// Returns the operands of a node that the step reads; those of a fold do not include its axes.
  std::vector<Value> operands(NodeId id) const;
  /// Returns true if extents of other values are read from the node's result as soon as it exists.
  bool feeds_extents(NodeId id) const;
  bool is_made_by(const Draft& d, Value v) const;
  /// Returns true for a member's result that is used outside of the draft.
  bool is_output(const Draft& d, Value v) const;
};

/// Returns the group of a complete draft.
FusionGroup write_group(const FusionFacts& facts, const Draft& draft);

}  // namespace frazil
