#include "ir/edit/patch_sink.h"

#include <algorithm>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "ir/edit/graph_writer.h"
#include "ir/edit/patch_place.h"

namespace frazil {
namespace {

bool has_any(const std::unordered_set<std::uint32_t>& set, std::span<const Value> values) {
  return std::ranges::any_of(values, [&](Value v) { return v && set.contains(v.id); });
}

void add_all(std::unordered_set<std::uint32_t>& to, std::span<const Value> values) {
  for (const Value v : values) to.insert(v.id);
}

}  // namespace

void InnerUses::add(const Graph& graph, std::span<const Value> outputs) {
  const auto block = outputs.empty() ? std::nullopt : graph.block_of(outputs[0]);
  if (!block) return;
  std::unordered_set<std::uint32_t> needed, derived;
  add_all(needed, outputs);
  add_all(derived, outputs);
  std::vector<NodeId> makers;
  for (const NodeId id : graph.block(*block).nodes | std::views::reverse) {
    if (!has_any(needed, graph.node(id).out)) continue;
    makers.push_back(id);
    add_all(needed, values_used(graph, id));
  }
  for (const NodeId id : makers | std::views::reverse) {
    if (!has_any(derived, values_used(graph, id))) continue;
    add_all(derived, graph.node(id).out);
    keep(graph, id, outputs);
  }
}

void InnerUses::keep(const Graph& graph, NodeId node, std::span<const Value> outputs) {
  std::vector<NodeId> open{node};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    for (const Value v : outputs) nodes_.insert({id.id, v.id});
    for (const BlockId body : graph.node(id).blocks) {
      for (const Value v : outputs) blocks_.insert({body.id, v.id});
      const auto& inner = graph.block(body).nodes;
      open.insert(open.end(), inner.begin(), inner.end());
    }
  }
}

namespace {

class Sinker {
 public:
  Sinker(Graph& graph, const PatchSink& sink)
      : graph_(graph),
        sink_(sink),
        outer_(graph.node(sink.region).parent),
        inner_(graph.node(sink.region).blocks[sink.body]) {}

  Status run() {
    find_uses();
    choose();
    for (const Value v : graph_.block(inner_).results) FRAZIL_CHECK(check_moved(v));
    move();
    return {};
  }

 private:
  /// Collects the uses by the body, and the uses by everything that certainly stays.
  void find_uses() {
    const Node& region = graph_.node(sink_.region);
    add_all(inside_, captures(graph_, std::span(&inner_, 1)));
    add_all(outside_, region.in);
    for (const BlockId body : region.blocks) {
      if (body != inner_) add_all(outside_, captures(graph_, std::span(&body, 1)));
    }
    add_all(outside_, graph_.block(outer_).results);
    add_all(outside_, sink_.keep);
  }

  /// Decides from the last node to the first, so that the users of a value come before its maker.
  void choose() {
    const auto& nodes = graph_.block(outer_).nodes;
    for (std::size_t i = nodes.size(); i-- > 0;) {
      if (nodes[i] == sink_.region || is_unused(nodes[i])) continue;
      add_all(moves(nodes[i]) ? inside_ : outside_, values_used(graph_, nodes[i]));
    }
  }

  bool is_unused(NodeId id) const {
    const std::vector<Value>& out = graph_.node(id).out;
    return !has_any(inside_, out) && !has_any(outside_, out);
  }

  bool moves(NodeId id) {
    const std::vector<Value>& out = graph_.node(id).out;
    return has_any(inside_, out) && !has_any(outside_, out) && moved_.insert(id.id).second;
  }

  Status check_moved(Value v) const {
    const auto maker = graph_.producer(v);
    if (maker && moved_.contains(maker->id)) return {};
    if (!maker || graph_.node(*maker).parent != outer_) {
      return fail(Code::bad_model, "value '{}' cannot be wrapped: it is not made by a node beside {}",
                  graph_.value_name(v), graph_.describe(sink_.region));
    }
    return fail(Code::bad_model, "{} cannot be wrapped: {} outside of the branch", graph_.describe(*maker),
                use_of(*maker));
  }

  /// Returns the first use of a node's results that keeps it outside.
  std::string use_of(NodeId maker) const {
    const auto uses = [&](std::span<const Value> values) {
      return std::ranges::any_of(values, [&](Value v) { return v && graph_.producer(v) == maker; });
    };
    for (const NodeId id : graph_.block(outer_).nodes) {
      if (id == sink_.region || moved_.contains(id.id) || is_unused(id) || !uses(values_used(graph_, id))) continue;
      return graph_.describe(id) + " uses it";
    }
    if (uses(graph_.node(sink_.region).in)) return "the condition uses it";
    if (uses(graph_.block(outer_).results)) return "a result uses it";
    return uses(sink_.keep) ? "it is kept" : "the other branch uses it";
  }

  void move() {
    std::vector<NodeId>& from = GraphWriter(graph_).block(outer_).nodes;
    std::vector<NodeId>& to = GraphWriter(graph_).block(inner_).nodes;
    std::vector<NodeId> moved;
    std::ranges::copy_if(from, std::back_inserter(moved), [&](NodeId id) { return moved_.contains(id.id); });
    std::unordered_set<std::uint32_t> lost;
    std::erase_if(from, [&](NodeId id) {
      const bool gone =
          moved_.contains(id.id) || (id != sink_.region && is_unused(id) && has_any(lost, values_used(graph_, id)));
      if (gone) add_all(lost, graph_.node(id).out);
      return gone;
    });
    to.insert(to.begin(), moved.begin(), moved.end());
    for (const NodeId id : moved) {
      GraphWriter(graph_).node(id).parent = inner_;
      for (const BlockId body : graph_.node(id).blocks) GraphWriter(graph_).block(body).parent = inner_;
    }
  }

  Graph& graph_;
  const PatchSink& sink_;
  const BlockId outer_, inner_;
  std::unordered_set<std::uint32_t> inside_, outside_;  // values, by their uses
  std::unordered_set<std::uint32_t> moved_;             // nodes
};

/// Orders the nodes next to a region so that each value is made before it is used. Moves nothing if they are already in
/// order.
class Sorter {
 public:
  Sorter(Graph& graph, NodeId region)
      : graph_(graph), region_(region), nodes_(GraphWriter(graph).block(graph.node(region).parent).nodes) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) place_[nodes_[i].id] = i;
    state_.resize(nodes_.size());
  }

  Status run() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) FRAZIL_CHECK(add(i));
    nodes_ = std::move(sorted_);
    return {};
  }

 private:
  enum class State : std::uint8_t { waits, open, done };
  struct Frame {
    std::size_t node;
    std::vector<Value> uses;
  };

  void open(std::size_t node) {
    state_[node] = State::open;
    stack_.push_back({node, values_used(graph_, nodes_[node])});
  }

  Status add(std::size_t first) {
    if (state_[first] == State::waits) open(first);
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      if (frame.uses.empty()) {
        state_[frame.node] = State::done;
        sorted_.push_back(nodes_[frame.node]);
        stack_.pop_back();
        continue;
      }
      const Value v = frame.uses.back();
      frame.uses.pop_back();
      const auto maker = v ? graph_.producer(v) : std::nullopt;
      const auto at = maker ? place_.find(maker->id) : place_.end();
      if (at == place_.end() || state_[at->second] == State::done) continue;
      if (state_[at->second] == State::open) {
        return fail(Code::bad_model, "{} depends on its own results through {}", graph_.describe(region_),
                    graph_.describe(*maker == region_ ? nodes_[frame.node] : *maker));
      }
      open(at->second);
    }
    return {};
  }

  Graph& graph_;
  const NodeId region_;
  std::vector<NodeId>& nodes_;
  std::unordered_map<std::uint32_t, std::size_t> place_;  // by node
  std::vector<State> state_;
  std::vector<Frame> stack_;
  std::vector<NodeId> sorted_;
};

}  // namespace

Status sink_nodes(Graph& graph, const PatchSink& sink) {
  FRAZIL_CHECK(Sorter(graph, sink.region).run());
  return Sinker(graph, sink).run();
}

}  // namespace frazil
