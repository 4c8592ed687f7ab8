#include "ir/patch_place.h"

#include <algorithm>

#include "ir/text_walk.h"

namespace frazil {

namespace {

struct Numbering {
  const Graph& graph;
  std::vector<std::size_t>& positions;
  std::vector<std::size_t>& depths;
  std::vector<std::size_t> next{};

  Status enter(BlockId id) {
    depths[id.id] = next.size();
    next.push_back(0);
    return {};
  }
  Status node(NodeId id) {
    positions[id.id] = next.back()++;
    return {};
  }
  Status done(NodeId) { return {}; }
  Status leave(BlockId) {
    next.pop_back();
    return {};
  }
};

}  // namespace

Places::Places(const Graph& graph) : graph_(graph), positions_(graph.node_count()), depths_(graph.block_count()) {
  Numbering numbering{graph, positions_, depths_};
  (void)walk(graph, numbering);
}

std::optional<Place> Places::after(Value v) const {
  const auto block = graph_.block_of(v);
  if (!block) return std::nullopt;
  const auto maker = graph_.producer(v);
  return Place{*block, maker ? positions_[maker->id] + 1 : 0};
}

Place Places::outer(Place p) const {
  const NodeId owner = graph_.block(p.block).owner;
  return {graph_.node(owner).parent, positions_[owner.id]};
}

Place Places::common(Place a, Place b) const {
  while (depth(a.block) > depth(b.block)) a = outer(a);
  while (depth(b.block) > depth(a.block)) b = outer(b);
  while (a.block != b.block) {
    a = outer(a);
    b = outer(b);
  }
  return {a.block, std::min(a.index, b.index)};
}

bool Places::dominates(Place a, Place b) const { return common(a, b) == a; }

std::optional<Place> Places::later(Place a, Place b) const {
  if (dominates(a, b)) return b;
  if (dominates(b, a)) return a;
  return std::nullopt;
}

}  // namespace frazil
