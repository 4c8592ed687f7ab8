#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph/graph.h"

namespace frazil {

/// A position for new nodes: before node `index` of a block.
struct PatchPlace {
  BlockId block;
  std::size_t index = 0;
  bool operator==(const PatchPlace&) const = default;
};

/// Returns the values that blocks use, including their own.
std::vector<Value> captures(const Graph& graph, std::span<const BlockId> blocks);
/// Returns the inputs of a node and the values that its blocks use.
std::vector<Value> values_used(const Graph& graph, NodeId node);

/// The order of positions in a graph.
class PatchPlaces {
 public:
  explicit PatchPlaces(const Graph& graph);

  /// Returns the first position at which v can be used; nullopt for constants, which can be used everywhere.
  std::optional<PatchPlace> after(Value v) const;
  /// Returns true if a value defined at a is available at b.
  bool dominates(PatchPlace a, PatchPlace b) const;
  /// Returns the later of two positions, one of which dominates the other; nullopt if neither does.
  std::optional<PatchPlace> later(PatchPlace a, PatchPlace b) const;
  /// Returns the last position that dominates both.
  PatchPlace common(PatchPlace a, PatchPlace b) const;

 private:
  PatchPlace outer(PatchPlace p) const;  ///< returns the position before the node that owns p's block
  std::size_t depth(BlockId block) const { return depths_[block.id]; }
  const Graph& graph_;
  std::vector<std::size_t> positions_;  // by node
  std::vector<std::size_t> depths_;     // by block
};

}  // namespace frazil
