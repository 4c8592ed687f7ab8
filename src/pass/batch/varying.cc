#include "pass/batch/varying.h"

#include <algorithm>

#include "ir/op/op.h"
#include "ops/generic/extent_expr.h"

namespace frazil::pass {

Varying::Varying(const Graph& graph, std::span<const std::size_t> inputs)
    : graph_(graph), values_(graph.value_count()), nodes_(graph.node_count()) {
  for (std::size_t i : inputs) values_[graph.main().params[i].id] = true;
  bool changed = !inputs.empty();
  while (changed) {  // one iteration per level of nesting, and one more
    changed = false;
    for (const NodeId n : graph.nodes()) changed |= visit(n);
  }
}

bool Varying::reads_varying(const Node& node) const {
  const auto varies = [&](Value v) { return value(v); };
  if (node.op->stateful || std::ranges::any_of(node.in, varies)) return true;
  return std::ranges::any_of(node.blocks,
                             [&](BlockId b) { return std::ranges::any_of(graph_.block(b).results, varies); });
}

/// Marks a node and its outputs if they vary. Returns true if something new is marked.
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
    if (!v || values_[v.id] || (each && !result(id, k)) || is_of_extents(v, id)) continue;
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

std::optional<Varying::Source> Varying::source(SymbolId symbol, NodeId reader) const {
  const auto at = first_extent(symbol);
  return at && is_visible(at->value, reader) ? at : std::nullopt;
}

std::optional<Varying::Source> Varying::first_extent(SymbolId symbol) const {
  if (graph_.origin(symbol) || symbol >= graph_.scope().symbol_count()) return std::nullopt;
  if (const auto e = graph_.extent_origin(symbol)) return Source{e->value, e->axis};
  const Dim dim = graph_.scope().symbol_dim(symbol);
  for (Value v : graph_.main().params) {
    const Shape& shape = graph_.type(v).shape;
    const auto at = std::ranges::find(shape, dim);
    if (at != shape.end()) return Source{v, at - shape.begin()};
  }
  return std::nullopt;
}

/// Returns true for a value of the reader's block, or of an enclosing one, that the reader does not make itself.
bool Varying::is_visible(Value v, NodeId reader) const {
  if (graph_.producer(v) == reader) return false;
  const auto block = graph_.block_of(v);
  if (!block) return true;
  for (BlockId b = graph_.node(reader).parent; b; b = graph_.block(b).parent) {
    if (b == *block) return true;
  }
  return false;
}

/// Returns true for integers or bools that are made of extents alone, which all elements share.
bool Varying::is_of_extents(Value v, NodeId maker) const {
  const auto* known = graph_.known_value(v);
  const Type& type = graph_.type(v);
  const auto fixed = [](Dim d) { return d.is_const(); };
  if (known == nullptr || !std::ranges::all_of(type.shape, fixed)) return false;
  if (!contains(elems::kInt, type.elem) && type.elem != Elem::boolean) return false;
  return std::ranges::all_of(*known, [&](Dim d) { return has_extent_text(d, maker); });
}

/// Returns true if batch_extents() has an expression for d.
bool Varying::has_extent_text(Dim d, NodeId maker) const {
  if (d.is_const()) return d.value() > Dim::kMin && d.value() < Dim::kMax;  // others are clipped
  const auto& in = graph_.node(maker).in;
  const auto first = std::ranges::find_if(in, [](Value v) { return static_cast<bool>(v); });
  const auto is_own = [&](Dim one) {
    return first != in.end() && std::ranges::find(graph_.type(*first).shape, one) != graph_.type(*first).shape.end();
  };
  const auto ref_of = [&](SymbolId s) -> std::optional<ops::OperandRef> {
    if (!is_own(graph_.scope().symbol_dim(s)) && !source(s, maker)) return std::nullopt;
    return ops::OperandRef{.operand = 999, .index = 99};  // as long as any in the text, whose length is limited
  };
  return is_own(d) || ops::ExtentExpr::of(graph_.scope(), d, ref_of).has_value();
}

}  // namespace frazil::pass
