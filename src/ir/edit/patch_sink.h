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
  std::vector<Value> keep;  ///< nodes that make one of these values stay
};

/// The uses of one wrapped value in the computation of another one. They move into the body, so they are not
/// redirected.
class InnerUses {
 public:
  /// Adds the uses for one region. `outputs` are the values that it will compute; `graph` does not have the region yet.
  void add(const Graph& graph, std::span<const Value> outputs);
  bool has(NodeId node, Value v) const { return nodes_.contains({node.id, v.id}); }
  bool has(BlockId block, Value v) const { return blocks_.contains({block.id, v.id}); }

 private:
  void keep(const Graph& graph, NodeId node, std::span<const Value> outputs);
  std::set<std::pair<std::uint32_t, std::uint32_t>> nodes_, blocks_;
};

/// Moves nodes next to the region into the body if their results are used only there or by nodes that move. Nodes
/// without any use do not count; they are removed if they use a value that moves. Nodes that use the region's results
/// are moved after it.
/// Returns Code::bad_model if a node that makes a result of the body cannot move, or if the region depends on its own
/// results.
Status sink_nodes(Graph& graph, const PatchSink& sink);

}  // namespace frazil
