#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/analyse/appends.h"
#include "plan/analyse/region_flows.h"
#include "plan/lower/fuse.h"

namespace frazil {

/// The memory that a node's result is written to: its own, or the place where the enclosing region needs the result.
struct Placement {
  enum class Kind : std::uint8_t {
    own,      ///< memory of its own
    joined,   ///< the memory of output `index` of `region`, which each branch of an If writes
    row,      ///< the next part of accumulator `index` of `region`
    carried,  ///< its own memory, which is then swapped with that of variable `index` of `region`
  };
  Kind kind = Kind::own;
  NodeId region{};
  std::uint32_t index = 0;
};

/// The results that are written directly to the place where a region needs them. Decided from the graph alone, before
/// steps are written.
/// Such a result has no views, is written in full, and its extents provably equal those of the place. A value is placed
/// at most once.
class Placements {
 public:
  Placements(const Graph& graph, Scope& scope, const Needs& needs, const Fusion& fusion, const RegionFlows& flows,
             const Appends& appends, bool rows_enabled);
  const Placement& of(Value v) const { return of_[v.id]; }
  /// Returns true for an output whose parts the loop's iterations write directly to their final place. Its extents are
  /// known when the request starts, so its accumulator needs no memory.
  bool is_stacked(NodeId region, std::uint32_t accumulator) const;
  /// Returns a line such as "%part: row of accumulator 0 of node 'repeat' (Scan)" for each value without memory of its
  /// own.
  std::string str(const Graph& graph) const;

 private:
  friend class PlacementFinder;
  std::vector<Placement> of_;                              // per value
  std::vector<std::pair<NodeId, std::uint32_t>> stacked_;  // (region, accumulator)
};

}  // namespace frazil
