#include "pass/batch_varying.h"

#include <algorithm>

#include "ir/op.h"

namespace frazil {

Varying::Varying(const Graph& graph, std::span<const std::size_t> inputs)
    : graph_(graph), values_(graph.value_count()), nodes_(graph.node_count()) {
  for (std::size_t i : inputs) values_[graph.main().params[i].id] = true;
  bool changed = !inputs.empty();
  while (changed) {  // once per level of nesting, and once more
    changed = false;
    for (std::uint32_t n = 0; n < graph.node_count(); ++n) changed |= visit(NodeId{n});
  }
}

bool Varying::reads_varying(const Node& node) const {
  const auto varies = [&](Value v) { return value(v); };
  if (node.op->stateful || std::ranges::any_of(node.in, varies)) return true;
  return std::ranges::any_of(node.blocks,
                             [&](BlockId b) { return std::ranges::any_of(graph_.block(b).results, varies); });
}

/// True when something is marked that was not.
bool Varying::visit(NodeId id) {
  const Node& node = graph_.node(id);
  const bool before = nodes_[id.id];
  if (!before && !reads_varying(node)) return false;
  nodes_[id.id] = true;
  mark_owners(node);
  return mark_outputs(id) || !before;
}

void Varying::mark_owners(const Node& node) {
  for (BlockId b = node.parent; b && b != Graph::kMain; b = graph_.block(b).parent) {
    nodes_[graph_.block(b).owner.id] = true;
  }
}

bool Varying::mark_outputs(NodeId id) {
  const Node& node = graph_.node(id);
  const bool each = !node.blocks.empty() && in_place(id);
  bool changed = false;
  for (std::size_t k = 0; k < node.out.size(); ++k) {
    const Value v = node.out[k];
    if (!v || values_[v.id] || (each && !result(id, k)) || is_of_extents(v)) continue;
    values_[v.id] = changed = true;
  }
  return changed;
}

bool Varying::in_place(NodeId region) const {
  const Node& node = graph_.node(region);
  const bool steady = std::ranges::none_of(node.in, [&](Value v) { return value(v); });
  return steady && std::ranges::all_of(node.blocks, [&](BlockId b) { return graph_.block(b).params.empty(); });
}

bool Varying::result(NodeId region, std::size_t k) const {
  return std::ranges::any_of(graph_.node(region).blocks, [&](BlockId b) {
    const auto& results = graph_.block(b).results;
    return k < results.size() && value(results[k]);
  });
}

std::optional<Varying::Source> Varying::source(SymbolId symbol) const {
  if (const auto o = graph_.origin(symbol)) {
    return value(o->value) ? std::nullopt : std::optional(Source{o->value, o->index, true});
  }
  if (const auto e = graph_.extent_origin(symbol)) return Source{e->value, e->axis};
  if (symbol >= graph_.scope().symbol_count()) return std::nullopt;
  const Dim dim = graph_.scope().symbol_dim(symbol);
  for (Value v : graph_.main().params) {
    const Shape& shape = graph_.type(v).shape;
    const auto at = std::ranges::find(shape, dim);
    if (at != shape.end()) return Source{v, at - shape.begin()};
  }
  return std::nullopt;
}

bool Varying::is_of_extents(Value v) const {
  const auto* known = graph_.known_value(v);
  const Type& type = graph_.type(v);
  const auto fixed = [](Dim d) { return d.is_const(); };
  if (known == nullptr || !std::ranges::all_of(type.shape, fixed)) return false;
  if (!contains(elems::kInt, type.elem) && type.elem != Elem::boolean) return false;
  return std::ranges::all_of(*known, [&](Dim d) {
    if (d.is_const()) return d.value() > Dim::kMin && d.value() < Dim::kMax;  // else a number cut off
    const auto symbols = graph_.scope().symbols_of(d);
    return std::ranges::all_of(symbols, [&](SymbolId s) { return source(s).has_value(); });
  });
}

}  // namespace frazil
