#include "plan/analyse/needs.h"

#include <algorithm>

#include "base/limits/load_scope.h"
#include "ir/op/op.h"
#include "plan/lower/bind.h"

namespace frazil {

bool is_direct(const ViewMap& map) {
  bool fills = false, strides = false;
  for (const auto& a : map.axes) {
    if (a.edge == Edge::clamp || a.edge == Edge::reflect || a.edge == Edge::wrap) return false;
    fills |= a.edge == Edge::fill;
    strides |= a.step != Dim(1) || a.axis < 0;
  }
  return !(fills && strides);
}

Needs::Needs(const Graph& graph)
    : graph_(graph),
      values_(graph.value_count()),
      nodes_(graph.node_count()),
      symbols_(graph.scope().symbol_count()),
      reached_(graph.node_count()),
      seen_(graph.value_count()) {}

Result<Needs> Needs::of(const Graph& graph) {
  Needs needs(graph);
  FRAZIL_CHECK(needs.run());
  return needs;
}

const std::vector<std::pair<SymbolId, std::uint32_t>>& Needs::bound_by(Value v) const {
  static const std::vector<std::pair<SymbolId, std::uint32_t>> none;
  const auto it = bound_.find(v.id);
  return it == bound_.end() ? none : it->second;
}

bool Needs::is_known(const Graph& graph, Value v) {
  const auto* known = graph.known_value(v);
  if (!known || graph.def(v).kind != ValueDef::Kind::node) return false;
  for (Dim d : graph.type(v).shape) {  // an empty tensor may still define one of its own extents
    for (SymbolId s : graph.scope().symbols_of(d)) {
      if (const auto o = graph.extent_origin(s); o && o->value == v) return false;
    }
  }
  for (Dim d : *known) {
    if (d.is_const() && (d.value() >= Dim::kMax || d.value() <= Dim::kMin)) return false;  // clipped
    const auto symbols = graph.scope().symbols_of(d);
    if (std::ranges::any_of(symbols, [&](SymbolId s) { return graph.origin(s).has_value(); })) return false;
  }
  return true;
}

Status Needs::run() {
  for (Value v : graph_.main().results) need(v);
  need_assumptions(std::span(&Graph::kMain, 1), NodeId{});
  for (const NodeId n : nodes_with_effects(graph_)) FRAZIL_CHECK(need_node(n));
  while (!work_.empty()) {
    FRAZIL_CHECK(follow());
    reach();
  }
  return {};
}

/// Marks the nodes that results depend on, including those that need not run. Enters blocks only if their region runs.
void Needs::reach() {
  seen_.assign(seen_.size(), false);
  std::vector<Value> work;
  reach(graph_.main().results, work);
  for (const NodeId n : nodes_with_effects(graph_)) reach(graph_.node(n).in, work);
  while (!work.empty()) {
    const Value v = work.back();
    work.pop_back();
    const auto n = graph_.producer(v);
    if (!n) continue;
    const Node& node = graph_.node(*n);
    reach(node.in, work);
    if (nodes_[n->id]) {
      for (BlockId b : node.blocks) reach(graph_.block(b).results, work);
    }
    if (reached_[n->id]) continue;
    reached_[n->id] = true;
    for (const Constraint& c : node.constraints) {
      need(c.a);
      need(c.b);
    }
  }
}

void Needs::reach(const std::vector<Value>& values, std::vector<Value>& work) {
  for (Value v : values) {
    if (!v || seen_[v.id]) continue;
    seen_[v.id] = true;
    work.push_back(v);
  }
}

Status Needs::follow() {
  while (!work_.empty()) {
    const Value v = work_.back();
    work_.pop_back();
    for (Dim d : graph_.type(v).shape) need(d);
    if (is_known(graph_, v)) {
      for (Dim d : *graph_.known_value(v)) need(d);
      continue;
    }
    if (const auto n = graph_.producer(v)) FRAZIL_CHECK(need_node(*n));
    const auto block = graph_.block_of(v);
    if (graph_.def(v).kind == ValueDef::Kind::param && *block != Graph::kMain) {
      FRAZIL_CHECK(need_node(graph_.block(*block).owner));
    }
  }
  return {};
}

void Needs::need(Value v) {
  if (!v || values_[v.id]) return;
  values_[v.id] = true;
  work_.push_back(v);
}

void Needs::need(Dim d) {
  for (SymbolId s : graph_.scope().symbols_of(d)) {
    if (s >= symbols_.size()) symbols_.resize(s + 1);
    if (symbols_[s]) continue;
    symbols_[s] = true;
    if (const auto o = graph_.origin(s)) {
      bound_[o->value.id].emplace_back(s, static_cast<std::uint32_t>(o->index));
      need(o->value);
    } else if (const auto e = graph_.extent_origin(s)) {
      need(e->value);
    }
  }
}

Status Needs::need_node(NodeId n) {
  if (nodes_[n.id]) return {};
  FRAZIL_CHECK(check_load());
  nodes_[n.id] = true;
  need_form(n);
  const Node& node = graph_.node(n);
  for (const Constraint& c : node.constraints) {
    need(c.a);
    need(c.b);
  }
  for (Value v : node.out) {
    if (!v) continue;
    for (Dim d : graph_.type(v).shape) need(d);
  }
  if (!node.blocks.empty()) need_assumptions(node.blocks, n);
  for (BlockId b : node.blocks) {
    for (Value v : graph_.block(b).results) need(v);
  }
  return {};
}

/// Marks the predicates that are checked inside `blocks` or at `owner` as needed.
void Needs::need_assumptions(std::span<const BlockId> blocks, NodeId owner) {
  for (const Assumption& a : graph_.assumptions()) {
    const bool inside = std::ranges::find(blocks, graph_.node(a.node).parent) != blocks.end();
    if (a.node == owner || (inside && graph_.node(a.node).blocks.empty())) need(a.predicate);
  }
}

void Needs::need_form(NodeId n) {
  const Form& form = graph_.node(n).op->form;
  const bool view = std::holds_alternative<View>(form) && !has_unranked_value(graph_, n) &&
                    graph_.type(graph_.node(n).in[0]).elem != Elem::string;
  if (!view) {
    for (Value v : graph_.node(n).in) need(v);
    return;
  }
  const Node& node = graph_.node(n);
  for (const ViewMap& map : views(n)) {
    const auto source = static_cast<std::size_t>(map.source);
    const std::size_t end = map.kind == ViewMap::Kind::concat ? node.in.size() : source + 1;
    for (std::size_t i = source; i < end; ++i) need(node.in[i]);
    if (map.fill >= 0) need(node.in[static_cast<std::size_t>(map.fill)]);
    for (const auto& a : map.axes) {
      need(a.offset);
      need(a.step);
    }
    for (Dim d : map.shape) need(d);
    if (!is_direct(map)) {
      for (Value v : node.in) need(v);
    }
  }
}

}  // namespace frazil
