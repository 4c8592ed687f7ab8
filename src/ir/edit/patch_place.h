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

/// Values used inside of blocks, their own ones among them.
std::vector<Value> captures(const Graph& graph, std::span<const BlockId> blocks);
/// Inputs of a node and what its blocks use.
std::vector<Value> values_used(const Graph& graph, NodeId node);

/// Determines the order of positions in a graph.
class PatchPlaces {
 public:
  explicit PatchPlaces(const Graph& graph);

  /// The first position at which v can be used; nullopt for constants, which can be used everywhere.
  std::optional<PatchPlace> after(Value v) const;
  /// True when a value defined at a is available at b.
  bool dominates(PatchPlace a, PatchPlace b) const;
  /// The later of two positions, one of which dominates the other; nullopt when neither does.
  std::optional<PatchPlace> later(PatchPlace a, PatchPlace b) const;
  /// The last position that dominates both.
  PatchPlace common(PatchPlace a, PatchPlace b) const;

 private:
  PatchPlace outer(PatchPlace p) const;  ///< before the node that owns p's block
  std::size_t depth(BlockId block) const { return depths_[block.id]; }
  const Graph& graph_;
  std::vector<std::size_t> positions_;  // by node
  std::vector<std::size_t> depths_;     // by block
};

}  // namespace frazil
