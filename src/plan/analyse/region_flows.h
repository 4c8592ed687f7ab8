#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/op/flow.h"
#include "plan/analyse/needs.h"

namespace frazil {

/// The flow of one needed region, with facts that several analyses use.
struct RegionFlow {
  Flow flow;
  std::vector<SymbolId> counters;            ///< symbols made for the flow's counters
  std::vector<Value> variable_params;        ///< per variable: the block param that it feeds
  std::vector<std::uint32_t> output_counts;  ///< per output of the node: how many times the flow gives it
  std::optional<SymbolId> iteration{};       ///< the counter that starts at 0 and increases by one per iteration

  /// Returns the node's output that accumulator `a` becomes; nullopt if the flow gives it to none.
  std::optional<std::uint32_t> output_of(std::uint32_t a) const;
};

/// The flows of all needed regions. Counters become symbols, so that values which depend on them, such as slice
/// offsets, are ordinary register arithmetic.
class RegionFlows {
 public:
  RegionFlows(const Graph& graph, Scope& scope, const Needs& needs);
  const RegionFlow& of(NodeId region) const { return flows_.at(region.id); }
  const std::vector<NodeId>& regions() const { return regions_; }

 private:
  std::unordered_map<std::uint32_t, RegionFlow> flows_;
  std::vector<NodeId> regions_;  // by node number
};

/// Returns true if `block` is `outer` or lies inside it.
bool is_inside(const Graph& graph, BlockId block, BlockId outer);
/// Returns true if every symbol of d belongs to a block outside of all blocks of the region.
bool is_outside(const Graph& graph, NodeId region, Dim d);
/// Returns true for a result that its own block computes, as opposed to params, captures and other kinds of cells.
bool is_own_result(const Graph& graph, const Cell& cell);

}  // namespace frazil
