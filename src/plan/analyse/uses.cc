#include "plan/analyse/uses.h"

namespace frazil {

ValueUses::ValueUses(const Graph& graph, const Needs& needs)
    : uses_(graph.value_count()), position_(graph.node_count(), 0) {
  for (std::uint32_t b = 0; b < graph.block_count(); ++b) {
    const auto& nodes = graph.block(BlockId{b}).nodes;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) position_[nodes[i].id] = i;
  }
  for (std::uint32_t b = 0; b < graph.block_count(); ++b) {
    const Block& block = graph.block(BlockId{b});
    for (NodeId n : block.nodes) {
      if (!needs.node(n)) continue;
      for (Value v : graph.node(n).in) add(graph, v, BlockId{b}, n);
    }
    for (Value v : block.results) add(graph, v, BlockId{b}, NodeId{});
  }
}

void ValueUses::add(const Graph& graph, Value v, BlockId block, NodeId user) {
  if (!v) return;
  const auto home = graph.block_of(v);
  if (!home) return;
  while (block != *home && block != Graph::kMain) {
    user = graph.block(block).owner;
    block = graph.block(block).parent;
  }
  uses_[v.id].push_back({user, user ? position_[user.id] : ~0u});
}

}  // namespace frazil
