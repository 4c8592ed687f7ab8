#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace frazil {

/// A place for new nodes: in front of node `index` of a block.
struct PatchPlace {
  BlockId block;
  std::size_t index = 0;
  bool operator==(const PatchPlace&) const = default;
};

/// Answers which places of a graph come before which.
class PatchPlaces {
 public:
  explicit PatchPlaces(const Graph& graph);

  /// The first place at which v can be used; nullopt for constants, which can be used everywhere.
  std::optional<PatchPlace> after(Value v) const;
  /// True when what stands at a is there for everything at b.
  bool dominates(PatchPlace a, PatchPlace b) const;
  /// The later of two places of which one dominates the other; nullopt when none does.
  std::optional<PatchPlace> later(PatchPlace a, PatchPlace b) const;
  /// The last place that dominates both.
  PatchPlace common(PatchPlace a, PatchPlace b) const;

 private:
  PatchPlace outer(PatchPlace p) const;  ///< in front of the node that owns p's block
  std::size_t depth(BlockId block) const { return depths_[block.id]; }
  const Graph& graph_;
  std::vector<std::size_t> positions_;  // by node
  std::vector<std::size_t> depths_;     // by block
};

}  // namespace frazil
