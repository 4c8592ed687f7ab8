#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/appends.h"
#include "plan/fuse.h"
#include "plan/placement.h"
#include "plan/plan_writer.h"

namespace frazil {

/// Where the blocks of a graph are cut into runs of nodes that become one section each. A run ends in front of a region
/// and of a node whose steps depend on more than the run's own nodes and operands: such a node is lowered by itself. A
/// run begins anew with each product, so that an edit between two products leaves the other runs as they are.
class NodeRuns {
 public:
  NodeRuns(const Graph& graph, const Needs& needs, const Fusion& fusion, const Appends& appends,
           const Placements& placements);
  /// The run that begins at position `begin` of the block; empty where the node there is lowered by itself.
  std::span<const NodeId> at(BlockId block, std::size_t begin) const;

 private:
  friend class RunCutter;
  const Graph& graph_;
  std::vector<std::vector<std::uint32_t>>
      ends_;  // per block and position: where the run that begins there ends; 0: none
};

/// A run with the values and symbols that it names, in the order of first use, and the hash of all that its steps
/// depend on. Two runs of one hash have the same steps but for these values and symbols.
struct NodeRun {
  std::vector<NodeId> nodes;
  std::vector<Value> values;
  std::vector<SymbolId> symbols;
  std::uint64_t hash = 0;
  /// It has extents that are too long to be compared with those of other graphs: its steps become no section.
  bool is_local = false;
};

/// Precondition: what the run reads has its slots in `writer`.
NodeRun describe_run(const PlanWriter& writer, const Fusion& fusion, std::span<const NodeId> nodes);

}  // namespace frazil
