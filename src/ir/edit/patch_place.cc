#include "ir/edit/patch_place.h"

#include <algorithm>

#include "ir/text/text_walk.h"

namespace frazil {

std::vector<Value> captures(const Graph& graph, std::span<const BlockId> blocks) {
  std::vector<Value> uses;
  std::vector<BlockId> open(blocks.begin(), blocks.end());
  while (!open.empty()) {
    const Block& block = graph.block(open.back());
    open.pop_back();
    uses.insert(uses.end(), block.results.begin(), block.results.end());
    for (NodeId id : block.nodes) {
      const Node& n = graph.node(id);
      uses.insert(uses.end(), n.in.begin(), n.in.end());
      open.insert(open.end(), n.blocks.begin(), n.blocks.end());
    }
  }
  return uses;
}

std::vector<Value> values_used(const Graph& graph, NodeId node) {
  const Node& n = graph.node(node);
  std::vector<Value> uses = captures(graph, n.blocks);
  uses.insert(uses.end(), n.in.begin(), n.in.end());
  return uses;
}

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

PatchPlaces::PatchPlaces(const Graph& graph)
    : graph_(graph), positions_(graph.node_count()), depths_(graph.block_count()) {
  Numbering numbering{graph, positions_, depths_};
  (void)walk(graph, numbering);
}

std::optional<PatchPlace> PatchPlaces::after(Value v) const {
  const auto block = graph_.block_of(v);
  if (!block) return std::nullopt;
  const auto maker = graph_.producer(v);
  return PatchPlace{*block, maker ? positions_[maker->id] + 1 : 0};
}

PatchPlace PatchPlaces::outer(PatchPlace p) const {
  const NodeId owner = graph_.block(p.block).owner;
  return {graph_.node(owner).parent, positions_[owner.id]};
}

PatchPlace PatchPlaces::common(PatchPlace a, PatchPlace b) const {
  while (depth(a.block) > depth(b.block)) a = outer(a);
  while (depth(b.block) > depth(a.block)) b = outer(b);
  while (a.block != b.block) {
    a = outer(a);
    b = outer(b);
  }
  return {a.block, std::min(a.index, b.index)};
}

bool PatchPlaces::dominates(PatchPlace a, PatchPlace b) const { return common(a, b) == a; }

std::optional<PatchPlace> PatchPlaces::later(PatchPlace a, PatchPlace b) const {
  if (dominates(a, b)) return b;
  if (dominates(b, a)) return a;
  return std::nullopt;
}

}  // namespace frazil
