#include "plan/lower/lower_nodes.h"

#include <algorithm>
#include <utility>

#include "ir/op/op.h"
#include "kernel/move/copy.h"
#include "kernel/move/edges.h"
#include "plan/lower/contraction.h"

namespace frazil {

Picks::Picks(const Graph& graph, Scope& scope, const Needs& needs) {
  for (const NodeId n : graph.nodes()) {
    if (!needs.node(n) || !picked_axis(graph, n)) continue;
    picks_[n.id] = *scope.as_symbol(scope.unbacked({0, Dim::kMax}));
  }
}

NodeLowering::NodeLowering(PlanWriter& writer, const Fusion& fusion, const Appends& appends,
                           const Placements& placements, const Picks& picks)
    : w_(writer), fusion_(fusion), appends_(appends), placements_(placements), picks_(picks) {}

Status NodeLowering::lower(NodeId id) {
  const Node& n = w_.graph.node(id);
  if (n.blocks.empty()) w_.guard(id);
  for (Value v : n.out) {
    if (v && w_.needs.value(v) && Needs::is_known(w_.graph, v)) store_known_value(v, id);
  }
  if (!w_.needs.reached(id) && !w_.needs.node(id)) return {};
  for (const Constraint& c : n.constraints) w_.check(c, id);
  if (!w_.needs.node(id) || std::holds_alternative<Region>(n.op->form)) return {};
  if (std::holds_alternative<View>(n.op->form) && !is_object(w_.graph.type(n.in[0])) &&
      !has_unranked_value(w_.graph, id)) {
    return view(id);
  }
  if (const auto axis = picked_axis(w_.graph, id)) {
    pick(id, *axis);
    return {};
  }
  if (const FusionGroup* group = fusion_.group(id)) {
    if (group->members.back() == id) compute(*group);
    return {};
  }
  if (const auto& binding = fusion_.binding(id)) {
    compute(id, *binding);
  } else if (auto space = bind_contraction(w_.graph, id)) {
    compute(id, {.params = std::move(space->params), .strided = true}, space->domain);
  } else {
    compute(id, Binding{});
  }
  return {};
}

void NodeLowering::store_known_value(Value v, NodeId id) {
  const SlotId made = w_.own_slot(v, w_.graph.type(v));
  w_.set_slot(v, made);
  step::Store store{.to = made, .elements = {}};
  for (Dim d : *w_.graph.known_value(v)) store.elements.push_back(w_.regs.reg(d));
  w_.emit(std::move(store), id);
}

// ---- where results are written ----

Layout NodeLowering::row_layout(const Row& row, const Shape& shape) {
  if (row.stacked) {
    const Dim extent = row.stacked->shape[row.axis];
    const Dim at = row.reversed ? w_.scope.sub(w_.scope.sub(extent, 1), row.at) : row.at;
    return at_position(w_.scope, *row.stacked, row.axis, at);
  }
  Layout part = row_major(w_.scope, shape);
  part.offset = w_.scope.mul(row.at, product(w_.scope, shape));
  return part;
}

const NodeLowering::Row* NodeLowering::row_of(NodeId region, std::uint32_t accumulator) const {
  const auto at = rows_.find({region.id, accumulator});
  return at == rows_.end() ? nullptr : &at->second;
}

SlotId NodeLowering::result_slot(Value v) {
  const Type& type = w_.graph.type(v);
  const Placement& p = placements_.of(v);
  SlotId made;
  if (p.kind == Placement::Kind::joined) {
    const SlotId joined = joined_.at({p.region.id, p.index});
    Layout layout = row_major(w_.scope, type.shape);
    layout.offset = w_.layout(joined).offset;
    made = w_.new_slot(v, type, w_.plan.slot(joined).storage, std::move(layout));
  } else if (p.kind == Placement::Kind::row) {
    const Row& row = rows_.at({p.region.id, p.index});
    made = w_.new_slot(v, type, row.storage, row_layout(row, type.shape));
  } else {
    made = w_.own_slot(v, type);
  }
  w_.set_slot(v, made);
  return made;
}

// ---- computing steps ----

void NodeLowering::bind_operands(step::Launch& launch, NodeId id, const Binding& binding) {
  launch.params = binding.params;
  for (Value v : w_.graph.node(id).in) {
    if (!v) {
      launch.in.emplace_back();
      continue;
    }
    const SlotId in = w_.slot(v);
    launch.in.push_back(binding.strided ? in : w_.contiguous(in, id));
  }
}

/// Binds the extents of results that are known only after the node has run. Their symbols form a group of their own.
std::vector<step::OutputExtent> NodeLowering::bind_output_extents(const Node& n, std::uint32_t& group) {
  std::vector<step::OutputExtent> extents;
  for (std::uint32_t k = 0; k < n.out.size(); ++k) {
    if (!n.out[k]) continue;
    const Shape& shape = w_.graph.type(n.out[k]).shape;
    for (std::uint32_t axis = 0; axis < shape.size(); ++axis) {
      const auto symbol = w_.scope.as_symbol(shape[axis]);
      if (symbol && !w_.regs.is_bound(*symbol)) extents.push_back({.to = *symbol, .output = k, .axis = axis});
    }
  }
  if (!extents.empty()) group = w_.regs.new_group();
  for (const auto& e : extents) w_.regs.bind(e.to, group);
  return extents;
}

void NodeLowering::compute(NodeId id, const Binding& binding, std::span<const Dim> domain) {
  const Node& n = w_.graph.node(id);
  step::Launch launch{.in_place = binding.in_place};
  bind_operands(launch, id, binding);
  for (Dim d : domain) launch.domain.push_back(w_.regs.reg(d));
  std::uint32_t group = 0;
  launch.extents = bind_output_extents(n, group);
  for (Value v : n.out) make_result(launch, v);
  w_.emit(std::move(launch), id);
  if (group != 0) w_.eval(group);
  for (Value v : n.out) {
    if (v) w_.after_definition(v);
  }
}

void NodeLowering::make_result(step::Launch& launch, Value v) { launch.out.push_back(v ? result_slot(v) : SlotId{}); }

void NodeLowering::compute(const FusionGroup& group) {
  step::Launch launch{.params = params::Fused{}};
  launch.in_place = !group.product;
  const NodeId last = group.members.back();
  if (group.tiles) {
    const Type& type = w_.graph.type(group.tiles);
    w_.set_slot(group.tiles,
                w_.new_slot(group.tiles, type, w_.new_storage(Place::tiles), row_major(w_.scope, type.shape)));
  }
  const auto& producer = group.kernel->producer;
  const std::uint32_t own = producer ? producer->operands.end() : 0;
  const bool strided = group.product && fusion_.binding(group.product)->strided;
  const std::size_t declared = group.product ? w_.graph.node(group.product).in.size() : 0;
  for (std::uint32_t k = 0; k < group.inputs.size(); ++k) {
    if (!group.inputs[k]) {
      launch.in.emplace_back();
      continue;
    }
    const SlotId in = w_.slot(group.inputs[k]);
    const bool packs = k < own && (!strided || k >= declared);
    launch.in.push_back(packs ? w_.contiguous(in, k < declared ? group.product : last) : in);
  }
  launch.fused = static_cast<std::uint32_t>(w_.plan.fused.size());
  w_.plan.fused.push_back(group.kernel);
  for (Dim d : group.domain) launch.domain.push_back(w_.regs.reg(d));
  for (Value v : group.outputs) make_result(launch, v);
  w_.emit(std::move(launch), last);
  if (group.members.size() > 1) w_.plan.steps.back().members = group.members;
  for (Value v : group.outputs) w_.after_definition(v);
}

// ---- views ----

Status NodeLowering::view(NodeId id) {
  const auto& maps = w_.needs.views(id);
  const Node& n = w_.graph.node(id);
  for (std::size_t k = 0; k < n.out.size(); ++k) {
    const Value out = n.out[k];
    if (!out || !w_.needs.value(out) || Needs::is_known(w_.graph, out)) continue;
    view_output(id, maps[k], out);
    w_.after_definition(out);
  }
  return {};
}

void NodeLowering::view_output(NodeId id, const ViewMap& map, Value out) {
  switch (map.kind) {
    case ViewMap::Kind::concat:
      if (!append(id, map, out)) concat(id, map, out);
      return;
    case ViewMap::Kind::affine: return affine(id, map, out);
    case ViewMap::Kind::reshape: return reshape(id, map, out);
  }
}

void NodeLowering::reshape(NodeId id, const ViewMap& map, Value out) {
  const SlotId from = w_.slot(w_.graph.node(id).in[static_cast<std::size_t>(map.source)]);
  const bool has_capacity = !w_.layout(from).contiguous && w_.has_capacity[w_.plan.slot(from).storage];
  if (auto layout = has_capacity ? regrouped(w_.scope, w_.layout(from), map.shape) : std::nullopt) {
    w_.set_slot(out, w_.view_slot(from, out, std::move(*layout)));
    return;
  }
  const SlotId base = w_.contiguous(from, id);
  Layout layout = row_major(w_.scope, map.shape);
  layout.offset = w_.layout(base).offset;
  w_.set_slot(out, w_.view_slot(base, out, std::move(layout)));
}

void NodeLowering::affine(NodeId id, const ViewMap& map, Value out) {
  const SlotId base = w_.slot(w_.graph.node(id).in[static_cast<std::size_t>(map.source)]);
  if (!is_direct(map)) {
    if (auto parts = repeated(map, w_.layout(base))) {
      const SlotId whole = result_slot(out);
      Layout to = row_major(w_.scope, parts->second);
      to.offset = w_.layout(whole).offset;
      w_.copy(w_.view_slot(base, {}, std::move(parts->first)), w_.view_slot(whole, {}, std::move(to)), id);
    } else if (!edges(id, map, out)) {
      compute(id, Binding{});
    }
    return;
  }
  if (std::ranges::any_of(map.axes, [](const auto& a) { return a.edge == Edge::fill; })) return pad(id, map, out);
  Layout layout{map.shape, std::vector<Dim>(map.shape.size(), Dim(0)), w_.layout(base).offset, false};
  for (std::size_t d = 0; d < map.axes.size(); ++d) {
    const auto& a = map.axes[d];
    const Dim stride = w_.layout(base).strides[d];
    layout.offset = w_.scope.add(layout.offset, w_.scope.mul(a.offset, stride));
    if (a.axis < 0) continue;
    Dim& s = layout.strides[static_cast<std::size_t>(a.axis)];
    s = w_.scope.add(s, w_.scope.mul(a.step, stride));
  }
  w_.set_slot(out, w_.view_slot(base, out, std::move(layout)));
}

/// Emits an Edges step if the map has fixed offsets, moves only along the operand's own axes, and reads beyond them.
/// Returns false for other maps.
bool NodeLowering::edges(NodeId id, const ViewMap& map, Value out) {
  if (map.shape.size() != map.axes.size() || map.axes.size() > kernel::kMaxEdgeRank) return false;
  params::Edges how;
  for (std::size_t d = 0; d < map.axes.size(); ++d) {
    const auto& a = map.axes[d];
    if (a.axis != static_cast<int>(d) || a.step != Dim(1) || !a.offset.is_const() || a.edge == Edge::fill) return false;
    how.offset.push_back(a.offset.value());
    how.outside.push_back(a.edge == Edge::clamp     ? kernel::Outside::clamp
                          : a.edge == Edge::reflect ? kernel::Outside::reflect
                          : a.edge == Edge::wrap    ? kernel::Outside::wrap
                                                    : kernel::Outside::nowhere);
  }
  const SlotId from = w_.slot(w_.graph.node(id).in[static_cast<std::size_t>(map.source)]);
  w_.emit(step::Launch{.params = std::move(how), .in = {from}, .out = {result_slot(out)}}, id);
  return true;
}

/// Splits a map that only repeats whole axes. Returns the operand's layout with an axis of stride 0 before each
/// repeated axis, and the result's extents split the same way.
/// Returns nullopt if the extents do not prove this, or if there are too many axes.
std::optional<std::pair<Layout, Shape>> NodeLowering::repeated(const ViewMap& map, const Layout& from) {
  Layout parts{{}, {}, from.offset, false};
  if (map.shape.size() != map.axes.size()) return std::nullopt;
  for (std::size_t d = 0; d < map.axes.size(); ++d) {
    const auto& a = map.axes[d];
    const Dim extent = from.shape[d], times = w_.scope.floordiv(map.shape[d], extent);
    const bool one = a.axis < 0 && extent == Dim(1), along = a.axis == static_cast<int>(d) && a.step == Dim(1);
    if (a.offset != Dim(0) || (a.edge != Edge::none && a.edge != Edge::wrap) || (!one && !along)) return std::nullopt;
    if (w_.scope.mul(times, extent) != map.shape[d]) return std::nullopt;
    if (times != Dim(1)) {
      parts.shape.push_back(times);
      parts.strides.emplace_back(0);
    }
    parts.shape.push_back(extent);
    parts.strides.push_back(from.strides[d]);
  }
  if (parts.shape.size() > kernel::kMaxCopyRank) return std::nullopt;
  Shape shape = parts.shape;
  return std::pair(std::move(parts), std::move(shape));
}

/// Fills the output, then copies the operand into it. Negative padding crops.
void NodeLowering::pad(NodeId id, const ViewMap& map, Value out) {
  const Node& n = w_.graph.node(id);
  Scope& s = w_.scope;
  const SlotId base = w_.slot(n.in[static_cast<std::size_t>(map.source)]);
  const SlotId whole = result_slot(out);
  step::Launch fill{.params = params::Fill{}, .out = {whole}};
  if (map.fill >= 0) fill.in = {w_.slot(n.in[static_cast<std::size_t>(map.fill)])};
  w_.emit(std::move(fill), id);
  Layout from = w_.layout(base), to = w_.layout(whole);
  for (std::size_t d = 0; d < map.axes.size(); ++d) {
    const auto axis = static_cast<std::size_t>(map.axes[d].axis);
    const Dim start = s.max(0, s.sub(0, map.axes[d].offset));
    const Dim end = s.min(map.shape[axis], s.sub(w_.layout(base).shape[d], map.axes[d].offset));
    const Dim extent = s.max(0, s.sub(end, start));
    to.offset = s.add(to.offset, s.mul(start, to.strides[axis]));
    from.offset = s.add(from.offset, s.mul(s.add(start, map.axes[d].offset), from.strides[d]));
    to.shape[axis] = extent;
    from.shape[d] = extent;
  }
  w_.copy(w_.view_slot(base, {}, std::move(from)), w_.view_slot(whole, {}, std::move(to)), id);
}

void NodeLowering::concat(NodeId id, const ViewMap& map, Value out) {
  const Node& n = w_.graph.node(id);
  const SlotId whole = result_slot(out);
  const auto axis = static_cast<std::size_t>(map.axis);
  Dim at = 0;
  for (std::size_t i = static_cast<std::size_t>(map.source); i < n.in.size(); ++i) {
    const SlotId from = w_.slot(n.in[i]);
    Layout part = w_.layout(whole);
    part.shape = w_.layout(from).shape;
    part.offset = w_.scope.add(part.offset, w_.scope.mul(at, part.strides[axis]));
    at = w_.scope.add(at, w_.layout(from).shape[axis]);
    w_.copy(from, w_.view_slot(whole, {}, std::move(part)), id);
  }
}

void NodeLowering::grow(SlotId slot, Dim least, const Append& append, bool keep) {
  w_.emit(step::Grow{.of = slot,
                     .capacity = append.capacity,
                     .needed = w_.regs.reg(least),
                     .axis = static_cast<std::uint32_t>(append.axis),
                     .keep = keep},
          append.node);
  w_.eval_symbol(append.capacity);
}

/// Lowers a Concat that appends. Returns false for an ordinary one.
bool NodeLowering::append(NodeId id, const ViewMap& map, Value out) {
  const Node& n = w_.graph.node(id);
  const Append* append = appends_.of(n.in[static_cast<std::size_t>(map.source)]);
  if (append == nullptr || append->node != id) return false;
  const SlotId old = w_.slot(append->from);
  const Type& type = w_.graph.type(out);
  const Layout whole = with_capacity(w_.scope, type.shape, append->axis, w_.scope.symbol_dim(append->capacity));
  const auto part_at = [&](const Shape& shape, Dim at) {
    Layout part = whole;
    part.shape = shape;
    part.offset = w_.scope.mul(at, whole.strides[append->axis]);
    return part;
  };
  Dim at = w_.layout(old).shape[append->axis];
  SlotId longer;
  if (!append->by_request()) {
    grow(old, type.shape[append->axis], *append, true);
    longer = w_.view_slot(old, out, whole);
  } else {
    const std::uint32_t storage = w_.new_storage(Place::output, append->output);
    w_.has_capacity[storage] = true;
    w_.plan.storages[storage].bytes = w_.bytes_of(type.elem, type.shape);
    longer = w_.new_slot(out, type, storage, whole);
    w_.copy(old, w_.view_slot(longer, {}, part_at(w_.layout(old).shape, 0)), id);
  }
  w_.set_slot(out, longer);
  for (std::size_t i = static_cast<std::size_t>(map.source) + 1; i < n.in.size(); ++i) {
    const SlotId from = w_.slot(n.in[i]);
    w_.copy(from, w_.view_slot(longer, {}, part_at(w_.layout(from).shape, at)), id);
    at = w_.scope.add(at, w_.layout(from).shape[append->axis]);
  }
  w_.plan.appends.push_back({.node = id,
                             .from = append->from,
                             .to = out,
                             .axis = static_cast<std::uint32_t>(append->axis),
                             .capacity = append->capacity,
                             .slot = longer,
                             .input = append->input,
                             .output = append->output,
                             .input_capacity = append->by_request() ? append->input_capacity : kNoReg});
  return true;
}

/// Lowers to a view whose offset is read at run time.
void NodeLowering::pick(NodeId id, std::size_t axis) {
  const Node& n = w_.graph.node(id);
  const SlotId base = w_.slot(n.in[0]);
  const SymbolId index = picks_.of(id);
  w_.emit(step::Pick{.to = index,
                     .index = w_.contiguous(w_.slot(n.in[1]), id),
                     .extent = w_.regs.reg(w_.layout(base).shape[axis])},
          id);
  const std::uint32_t group = w_.regs.new_group();
  w_.regs.bind(index, group);
  w_.eval(group);
  Layout layout = at_position(w_.scope, w_.layout(base), axis, w_.scope.symbol_dim(index));
  w_.set_slot(n.out[0], w_.view_slot(base, n.out[0], std::move(layout)));
  w_.after_definition(n.out[0]);
}

}  // namespace frazil
