#include <algorithm>
#include <set>

#include "ir/op/axis.h"
#include "plan/lower/lower_flow.h"

// The values that loops carry from iteration to iteration, and the results that they collect.
namespace frazil {

// ---- variables ----

bool LoopVariables::is_variable(const OpenFlow& flow, SlotId slot) const {
  return std::ranges::any_of(flow.variables,
                             [&](SlotId v) { return v && w_.plan.slot(v).storage == w_.plan.slot(slot).storage; });
}

/// Returns a new object with the slot's content and its current extents.
SlotId LoopVariables::set_aside(SlotId slot, NodeId node) {
  const Slot of = w_.plan.slot(slot);
  const SlotId made = w_.new_slot(of.value, Type::tensor(of.elem, w_.layout(slot).shape), w_.new_storage(Place::object),
                                  w_.layout(slot));
  w_.plan.slot(made).object = true;
  w_.emit(step::Move{.from = slot, .to = made}, node);
  return made;
}

/// Returns the source of a variable's value at the back edge, copied if other assignments could change it. All extents
/// change first, and a source may itself be a variable.
SlotId LoopVariables::next_source(const OpenFlow& flow, std::uint32_t variable, const Cell& cell, SlotId from) {
  if (w_.plan.slot(from).object) return is_variable(flow, from) ? set_aside(from, flow.node) : from;
  if (w_.plan.slot(flow.variables[variable]).object) return set_aside(from, flow.node);
  if (cell.kind == Cell::Kind::result) {
    const Placement& p = placements_.of(w_.graph.block(cell.block).results[cell.index]);
    if (p.kind == Placement::Kind::carried && p.region == flow.node && p.index == variable) return from;
  }
  const SlotId packed = w_.temp_like(from);
  w_.copy(from, packed, flow.node);
  return packed;
}

/// Assigns the extents of all variables at the same time: one variable's new extents may be another's old ones.
void LoopVariables::assign_extents(const OpenFlow& flow, const FlowOp& op, const std::vector<SlotId>& sources) {
  step::Assign extents;
  std::set<std::uint32_t> groups;
  for (std::size_t i = 0; i < op.pairs.size(); ++i) {
    const Value param = flow.region->variable_params[op.pairs[i].first];
    for (const auto& copy : w_.own_extents(param, w_.plan.slot(sources[i]).dims)) {
      if (!w_.regs.is_bound(copy.to)) w_.regs.bind(copy.to, w_.regs.new_group());
      groups.insert(w_.regs.group(w_.scope.symbol_dim(copy.to)));
      extents.copies.push_back(copy);
    }
  }
  if (!extents.copies.empty()) w_.emit(std::move(extents), {});
  for (std::uint32_t g : groups) w_.eval(g);
}

SlotId LoopVariables::first_variable(Value param, SlotId source, NodeId node) {
  const Type& type = w_.graph.type(param);
  SlotId variable;
  if (const Append* append = appends_.of(param)) {
    const std::uint32_t storage = w_.new_storage(Place::growing);
    w_.has_capacity[storage] = true;
    const Dim capacity = w_.scope.symbol_dim(append->capacity);
    variable = w_.new_slot(param, type, storage, with_capacity(w_.scope, type.shape, append->axis, capacity));
    nodes_.grow(variable, type.shape[append->axis], *append, false);
  } else {
    variable = w_.own_slot(param, type);
  }
  if (w_.plan.slot(variable).object || w_.plan.slot(source).object) {
    w_.emit(step::Move{.from = source, .to = variable}, node);
  } else {
    w_.copy(source, variable, node);
  }
  return variable;
}

void LoopVariables::set(OpenFlow& flow, const FlowOp& op) {
  if (op.pairs.empty()) return;
  const bool first = !flow.variables[op.pairs[0].first];
  std::vector<SlotId> sources;
  for (const auto& [variable, cell] : op.pairs) {
    const SlotId from = cells_.slot(flow, cell);
    const bool stays = first || appends_.of(flow.region->variable_params[variable]) != nullptr;
    sources.push_back(stays ? from : next_source(flow, variable, cell, from));
  }
  assign_extents(flow, op, sources);
  for (std::size_t i = 0; i < op.pairs.size(); ++i) {
    SlotId& variable = flow.variables[op.pairs[i].first];
    const Value param = flow.region->variable_params[op.pairs[i].first];
    if (first) {
      variable = first_variable(param, sources[i], flow.node);
    } else if (appends_.of(param) == nullptr) {
      update(variable, sources[i], flow.node);
    }
  }
}

void LoopVariables::update(SlotId variable, SlotId source, NodeId node) {
  if (w_.plan.slot(source).object || w_.plan.slot(variable).object) {
    w_.emit(step::Move{.from = source, .to = variable}, node);
    return;
  }
  Storage &a = w_.storage(source), &b = w_.storage(variable);
  w_.emit(step::Swap{.source = source, .variable = variable}, node);
  a.swapped = b.swapped = true;
  if (a.bytes != b.bytes || a.place == Place::growing || b.place == Place::growing) {
    a.place = b.place = Place::growing;
  }
}

// ---- results ----

void LoopResults::open(OpenFlow& flow) {
  const Flow& ops = flow.region->flow;
  flow.stacked.resize(ops.accumulators);
  flow.accumulators.assign(ops.accumulators, kNone);
  for (std::uint32_t a = 0; a < ops.accumulators; ++a) {
    if (placements_.is_stacked(flow.node, a)) {
      open_stacked(flow, a);
    } else {
      open_accumulator(flow, a);
    }
  }
}

/// Opens a result whose extents are known when the request starts. It needs no accumulator.
void LoopResults::open_stacked(OpenFlow& flow, std::uint32_t a) {
  const Value out = w_.graph.node(flow.node).out[*flow.region->output_of(a)];
  const SlotId made = w_.own_slot(out, w_.graph.type(out));
  w_.storage(made).by_rows = true;
  flow.stacked[a] = made;
  ++in_place_;
  const FlowOp& gather = gather_of(flow, a);
  nodes_.set_row(flow.node, a,
                 {.storage = w_.plan.slot(made).storage,
                  .stacked = w_.layout(made),
                  .axis = from_front(gather.axis, w_.layout(made).shape.size()),
                  .reversed = gather.reversed,
                  .at = w_.scope.symbol_dim(*flow.region->iteration)});
}

const FlowOp& LoopResults::gather_of(const OpenFlow& flow, std::uint32_t a) const {
  return *std::ranges::find_if(flow.region->flow.ops,
                               [&](const FlowOp& op) { return op.kind == FlowOp::Kind::gather && op.index == a; });
}

/// Opens an accumulator. Its element type comes from the gathered cell, before the loop runs.
void LoopResults::open_accumulator(OpenFlow& flow, std::uint32_t a) {
  const AccumulatorId id{static_cast<std::uint32_t>(w_.plan.accumulators.size())};
  flow.accumulators[a] = id.id;
  w_.plan.accumulators.push_back({.storage = w_.new_storage(Place::growing),
                                  .count = w_.regs.plain(),
                                  .dims = {},
                                  .elem = Elem::f32,
                                  .node = flow.node});
  const auto& ops = flow.region->flow.ops;
  const bool gathered =
      std::ranges::any_of(ops, [&](const FlowOp& op) { return op.kind == FlowOp::Kind::gather && op.index == a; });
  if (!gathered) return;
  const FlowOp& gather = gather_of(flow, a);
  const Type& type = cells_.type(flow, gather.a);
  Accumulator& acc = w_.plan.accumulators.back();
  acc.elem = type.elem;
  acc.object = is_object(type);
  for (std::size_t i = 0; i < type.rank(); ++i) acc.dims.push_back(w_.regs.plain());
  w_.emit(step::Reset{id}, flow.node);
  if (is_row(flow, gather)) {
    nodes_.set_row(flow.node, a, {.storage = acc.storage, .at = w_.scope.symbol_dim(*flow.region->iteration)});
  }
}

/// Returns true if the step that makes the part writes it directly to its place.
bool LoopResults::is_row(const OpenFlow& flow, const FlowOp& gather) const {
  if (gather.a.kind != Cell::Kind::result) return false;
  const Placement& p = placements_.of(w_.graph.block(gather.a.block).results[gather.a.index]);
  return p.kind == Placement::Kind::row && p.region == flow.node && p.index == gather.index;
}

void LoopResults::reserve(const OpenFlow& flow) {
  if (flow.region->flow.accumulators == 0 || !flow.region->iteration) return;
  for (const FlowOp& op : flow.region->flow.ops) {
    if (op.kind != FlowOp::Kind::gather || flow.stacked[op.index] || !is_row(flow, op)) continue;
    const Type& type = cells_.type(flow, op.a);
    w_.emit(step::Reserve{.accumulator = {flow.accumulators[op.index]}, .bytes = w_.bytes_of(type.elem, type.shape)},
            flow.node);
  }
  w_.eval_symbol(*flow.region->iteration);
}

void LoopResults::add_part(const OpenFlow& flow, const FlowOp& op) {
  const SlotId part = cells_.slot(flow, op.a);
  const bool in_place = is_row(flow, op);
  if (flow.stacked[op.index]) {
    if (in_place) return;
    Layout row = nodes_.row_layout(*nodes_.row_of(flow.node, op.index), w_.layout(part).shape);
    w_.copy(part, w_.view_slot(flow.stacked[op.index], {}, std::move(row)), flow.node);
    return;
  }
  in_place_ += in_place ? 1 : 0;
  const AccumulatorId id{flow.accumulators[op.index]};
  const bool as_is = w_.plan.accumulators[id.id].object || in_place;
  const SlotId from = as_is ? part : w_.contiguous(part, flow.node);
  w_.emit(step::Append{.accumulator = id, .part = from, .in_place = in_place}, flow.node);
}

/// Defines the output as a view of the accumulator's [count, element...], with the gathered axis where the node
/// requires it.
void LoopResults::define_output(const OpenFlow& flow, Value out, std::uint32_t a) {
  if (flow.stacked[a]) return w_.set_slot(out, flow.stacked[a]);
  const AccumulatorId id{flow.accumulators[a]};
  const Accumulator acc = w_.plan.accumulators[id.id];
  const FlowOp& gather = gather_of(flow, a);
  if (acc.object) return stack(out, acc, id, gather, flow.node);
  const Shape& shape = w_.graph.type(out).shape;
  const std::size_t axis = from_front(gather.axis, shape.size());
  std::vector<Reg> dims = acc.dims;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), acc.count);
  w_.assign_extents(out, dims);
  Shape stored = shape;
  stored.erase(stored.begin() + static_cast<std::ptrdiff_t>(axis));
  Dim stride = product(w_.scope, stored);
  Layout layout{shape, row_major(w_.scope, stored).strides, 0, false};
  if (gather.reversed) {
    layout.offset = w_.scope.mul(w_.scope.sub(shape[axis], 1), stride);
    stride = w_.scope.sub(0, stride);
  }
  layout.strides.insert(layout.strides.begin() + static_cast<std::ptrdiff_t>(axis), stride);
  w_.set_slot(out, w_.new_slot(out, w_.graph.type(out), acc.storage, std::move(layout)));
}

void LoopResults::stack(Value out, const Accumulator& acc, AccumulatorId id, const FlowOp& gather, NodeId node) {
  if (const std::size_t rank = w_.graph.type(out).rank(); rank > 0) {
    std::vector<Reg> dims = acc.dims;
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(from_front(gather.axis, rank)), acc.count);
    w_.assign_extents(out, dims);
  }
  const SlotId made = w_.own_slot(out, w_.graph.type(out));
  w_.set_slot(out, made);
  w_.emit(step::Stack{.accumulator = id, .to = made, .axis = gather.axis, .reversed = gather.reversed}, node);
}

}  // namespace frazil
