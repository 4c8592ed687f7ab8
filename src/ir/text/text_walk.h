#pragma once

#include <vector>

#include "ir/graph/graph.h"

namespace frazil {

/// Visits a graph in the order of its text, without recursion. The visitor returns Status from
///   enter(block), node(id) before its blocks, done(id) after them (nodes with blocks only), leave(block).
template <class Visitor>
Status walk(const Graph& graph, Visitor& visitor) {
  struct Frame {
    BlockId block;
    NodeId owner;
    std::size_t index = 0, next = 0;
  };
  FRAZIL_CHECK(visitor.enter(Graph::kMain));
  std::vector<Frame> stack{{Graph::kMain, {}}};
  const auto enter = [&](NodeId owner, std::size_t index) -> Status {
    const BlockId block = graph.node(owner).blocks[index];
    FRAZIL_CHECK(visitor.enter(block));
    stack.push_back({block, owner, index});
    return {};
  };
  while (!stack.empty()) {
    Frame& f = stack.back();
    const auto& nodes = graph.block(f.block).nodes;
    if (f.next < nodes.size()) {
      const NodeId id = nodes[f.next++];
      FRAZIL_CHECK(visitor.node(id));
      if (!graph.node(id).blocks.empty()) FRAZIL_CHECK(enter(id, 0));
      continue;
    }
    FRAZIL_CHECK(visitor.leave(f.block));
    const Frame ended = f;
    stack.pop_back();
    if (!ended.owner) continue;
    if (ended.index + 1 < graph.node(ended.owner).blocks.size()) {
      FRAZIL_CHECK(enter(ended.owner, ended.index + 1));
    } else {
      FRAZIL_CHECK(visitor.done(ended.owner));
    }
  }
  return {};
}

}  // namespace frazil
