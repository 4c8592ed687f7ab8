#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/analyse/appends.h"
#include "plan/analyse/region_flows.h"
#include "plan/lower/fuse.h"

namespace frazil {

/// Where the result of a node is written, other than into memory of its own: where the region around it takes it.
struct Placement {
  enum class Kind : std::uint8_t {
    own,      ///< memory of its own
    joined,   ///< that of output `index` of `region`, which each branch of an If writes
    row,      ///< the next part of accumulator `index` of `region`
    carried,  ///< its own, which then changes places with that of variable `index` of `region`
  };
  Kind kind = Kind::own;
  NodeId region{};
  std::uint32_t index = 0;
};

/// Decides from the graph alone, before steps are written, which results are written where they are taken: nothing else
/// sees them, they are whole, and their extents are provably those of the place. A value is taken once.
class Placements {
 public:
  Placements(const Graph& graph, Scope& scope, const Needs& needs, const Fusion& fusion, const RegionFlows& flows,
             const Appends& appends, bool rows_enabled);
  const Placement& of(Value v) const { return of_[v.id]; }
  /// True for an output that all iterations of the loop fill where it stays: its extents are known when the request
  /// starts, so that its accumulator needs no memory.
  bool is_stacked(NodeId region, std::uint32_t accumulator) const;
  /// "row of 'repeat' accumulator 0: %part", a line for each value that does not have memory of its own.
  std::string str(const Graph& graph) const;

 private:
  friend class PlacementFinder;
  std::vector<Placement> of_;                              // per value
  std::vector<std::pair<NodeId, std::uint32_t>> stacked_;  // (region, accumulator)
};

}  // namespace frazil
