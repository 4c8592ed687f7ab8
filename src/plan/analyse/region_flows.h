#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/op/flow.h"
#include "plan/analyse/needs.h"

namespace frazil {

/// How one needed region runs, with what several analyses ask of it.
struct RegionFlow {
  Flow flow;
  std::vector<SymbolId> counters;       ///< symbols made for the flow's counters
  std::vector<Value> variable_params;   ///< per variable: the block param that it feeds
  std::vector<std::uint32_t> gives;     ///< per output of the node: how often it is given
  std::optional<SymbolId> iteration{};  ///< the counter that starts at 0 and goes up by one in each iteration

  /// The node's output that accumulator `a` becomes; nothing if it is not asked for.
  std::optional<std::uint32_t> output_of(std::uint32_t a) const;
};

/// The flows of all needed regions. Counters become symbols, so that what depends on them (slice offsets) is ordinary
/// register arithmetic.
class RegionFlows {
 public:
  RegionFlows(const Graph& graph, Scope& scope, const Needs& needs);
  const RegionFlow& of(NodeId region) const { return flows_.at(region.id); }
  const std::vector<NodeId>& regions() const { return regions_; }

 private:
  std::unordered_map<std::uint32_t, RegionFlow> flows_;
  std::vector<NodeId> regions_;  // by node number
};

/// True when `block` is `outer` or lies inside it.
bool is_inside(const Graph& graph, BlockId block, BlockId outer);
/// True when every symbol of d belongs to a block outside of all of the region's blocks.
bool is_outside(const Graph& graph, NodeId region, Dim d);
/// True for a result that its own block computes: cells of other kinds, params and captures are not.
bool is_own_result(const Graph& graph, const Cell& cell);

}  // namespace frazil
