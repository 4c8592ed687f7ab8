#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"

namespace frazil {

/// A body of a region that takes over the nodes that only it needs.
struct PatchSink {
  NodeId region;
  std::size_t body = 0;
  std::vector<Value> keep;  ///< nodes that make one of these stay
};

/// Uses that one wrapped value has in the computation of another one: they are inside of the body, and stay.
class InnerUses {
 public:
  /// `outputs`: the values of one region, which the graph does not have yet.
  void add(const Graph& graph, std::span<const Value> outputs);
  bool has(NodeId node, Value v) const { return nodes_.contains({node.id, v.id}); }
  bool has(BlockId block, Value v) const { return blocks_.contains({block.id, v.id}); }

 private:
  void keep(const Graph& graph, NodeId node, std::span<const Value> outputs);
  std::set<std::pair<std::uint32_t, std::uint32_t>> nodes_, blocks_;
};

/// Moves each node beside the region whose results are used in the body, or by nodes that move, and nowhere else. Nodes
/// without any use do not count, and are removed where they use what moves. Nodes that use the region's results are
/// moved after it. Code::bad_model where a node that makes a result of the body cannot move, or where the region
/// depends on its own results.
Status sink_nodes(Graph& graph, const PatchSink& sink);

}  // namespace frazil
