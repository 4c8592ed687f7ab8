#include "pass/engine/dead.h"

#include "ir/edit/rebuild.h"
#include "ir/op/op.h"

namespace frazil::pass {
namespace {

/// The nodes on which results depend, those with effects, and those whose assumptions types rely on.
class Live {
 public:
  explicit Live(const Graph& graph) : graph_(graph), nodes_(graph.node_count()) {
    reach(Graph::kMain);
    for (const NodeId n : nodes_with_effects(graph)) reach(n);
    while (!work_.empty()) {
      const Node& node = graph_.node(work_.back());
      work_.pop_back();
      reach(node.in);
      for (BlockId b : node.blocks) reach(b);
    }
  }
  bool operator[](NodeId id) const { return nodes_[id.id]; }

  std::size_t count_dead() const {
    std::size_t dead = 0;
    for (std::uint32_t b = 0; b < graph_.block_count(); ++b) {
      if (b != 0 && !nodes_[graph_.block({b}).owner.id]) continue;
      for (NodeId id : graph_.block({b}).nodes) dead += !nodes_[id.id];
    }
    return dead;
  }

 private:
  void reach(const std::vector<Value>& values) {
    for (Value v : values) {
      if (const auto maker = v ? graph_.producer(v) : std::nullopt) reach(*maker);
    }
  }
  void reach(NodeId node) {
    if (nodes_[node.id]) return;
    nodes_[node.id] = true;
    work_.push_back(node);
  }
  void reach(BlockId block) {
    reach(graph_.block(block).results);
    for (const Assumption& a : graph_.assumptions()) {
      if (graph_.node(a.node).parent == block) reach(a.node);
    }
  }

  const Graph& graph_;
  std::vector<bool> nodes_;
  std::vector<NodeId> work_;
};

class Remover : public Rewriter {
 public:
  explicit Remover(const Live& live) : live_(live) {}
  bool drops(const Graph&, NodeId id) override { return !live_[id]; }

 private:
  const Live& live_;
};

}  // namespace

Result<std::optional<Graph>> remove_dead(const Graph& graph, const PassOptions&, std::string& note) {
  const Live live(graph);
  const std::size_t dead = live.count_dead();
  if (dead == 0) return std::nullopt;
  note = fmt::format("{} nodes removed", dead);
  Remover remover(live);
  FRAZIL_TRY(Graph made, rebuild(graph, remover));
  return made;
}

}  // namespace frazil::pass
