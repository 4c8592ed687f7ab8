#include <algorithm>

#include "ir/axis.h"
#include "plan/lower.h"

namespace frazil {

/// The counter that starts at 0 and goes up by one in each iteration.
void Lowering::find_row(FlowState& state) {
  if (!passes_.has(Pass::stack)) return;
  const auto step = std::ranges::find(state.flow.ops, FlowOp::Kind::step, &FlowOp::kind);
  if (step == state.flow.ops.end()) return;
  const bool from_zero = std::ranges::any_of(state.flow.ops, [&](const FlowOp& op) {
    return op.kind == FlowOp::Kind::count && op.index == step->index && op.number == 0;
  });
  if (from_zero) state.row = state.counters[step->index];
}

Value Lowering::output_of(const FlowState& state, std::uint32_t accumulator) const {
  for (const FlowOp& op : state.flow.ops) {
    if (op.kind != FlowOp::Kind::give || op.a.kind != Cell::Kind::gathered || op.a.index != accumulator) continue;
    return graph_.node(state.node).out[op.index];
  }
  return {};
}

/// Results whose extents are known when the request starts need no accumulator.
void Lowering::open_stacked(FlowState& state) {
  state.stacked.assign(state.flow.accumulators, kNone);
  if (state.row == kNone) return;
  for (std::uint32_t a = 0; a < state.flow.accumulators; ++a) {
    const Value out = output_of(state, a);
    if (!out || !needs_.value(out)) continue;
    const Type& type = graph_.type(out);
    const auto at_start = [&](Dim d) { return regs_->group(d) == 0; };
    if (is_object(type) || !all_bound(type.shape, ~std::size_t{0}) || !std::ranges::all_of(type.shape, at_start))
      continue;
    const std::uint32_t made = own_slot(out, type);
    plan_.storages[plan_.slots[made].storage].by_rows = true;
    state.stacked[a] = made;
    ++stacked_in_place_;
  }
}

/// Where the next part of a result of unknown length lies; nothing unless that is known when an iteration begins.
std::optional<Layout> Lowering::next_part(const FlowState& state, const Type& type) {
  if (state.row == kNone || is_object(type) || !all_bound(type.shape, ~std::size_t{0})) return std::nullopt;
  const Dim at = scope_.symbol_dim(state.row);
  Layout part = row_major(type.shape);
  part.offset = scope_.mul(at, scope_.product(type.shape));
  if (regs_->group(part.offset) != regs_->group(at)) return std::nullopt;
  return part;
}

/// Room for what this iteration gives, so that it may be written where it stays.
void Lowering::reserve_rows(FlowState& state) {
  if (state.row == kNone || state.flow.accumulators == 0) return;
  for (const FlowOp& op : state.flow.ops) {
    if (op.kind != FlowOp::Kind::gather || state.stacked[op.index] != kNone) continue;
    const Type& type = cell_type(state, op.a);
    if (!next_part(state, type)) continue;
    const Dim bytes = scope_.mul(scope_.product(type.shape), static_cast<std::int64_t>(byte_size(type.elem)));
    Step s;
    s.kind = Step::Kind::reserve;
    s.node = state.node;
    s.index = state.accumulators[op.index];
    s.limit = regs_->reg(bytes);
    emit(std::move(s));
  }
  eval_symbol(state.row);
}

/// Of what a loop's body writes.
bool Lowering::written_by_kernels(const FlowState& state, std::uint32_t storage) const {
  return std::ranges::all_of(std::span(plan_.steps).subspan(state.open.back().step), [&](const Step& step) {
    const bool writes =
        std::ranges::any_of(step.out, [&](std::uint32_t s) { return s != kNone && plan_.slots[s].storage == storage; });
    return !writes || (step.kind == Step::Kind::kernel && step.kernel != Kernel::opaque &&
                       step.kernel != Kernel::reference && step.kernel != Kernel::pack);
  });
}

/// The body's result moves to `row` of `storage`, with all views of it. False where others need it where it is.
bool Lowering::put_in_place(const FlowState& state, const Cell& cell, std::uint32_t part, std::uint32_t storage,
                            const Layout& row) {
  const std::uint32_t own = plan_.slots[part].storage;
  if (!is_own_result(cell) || !renamable_[own] || !is_whole(part) || layouts_[part].shape != row.shape) return false;
  const Layout plain = row_major(row.shape);
  for (std::size_t d = 0; d < row.shape.size(); ++d) {
    if (row.shape[d] != Dim(1) && row.strides[d] != plain.strides[d]) return false;
  }
  if (!written_by_kernels(state, own)) return false;
  renamable_[own] = false;
  for (std::uint32_t s = 0; s < plan_.slots.size(); ++s) {
    if (plan_.slots[s].storage != own) continue;
    Layout moved = layouts_[s];
    moved.offset = scope_.add(moved.offset, row.offset);
    plan_.slots[s].storage = storage;
    set_layout(s, std::move(moved));
  }
  return true;
}

void Lowering::put_row(FlowState& state, const FlowOp& op) {
  const auto begin = std::chrono::steady_clock::now();
  place_row(state, op);
  stack_time_ += std::chrono::steady_clock::now() - begin;
}

void Lowering::place_row(FlowState& state, const FlowOp& op) {
  const std::uint32_t part = cell_slot(state, op.a), stacked = state.stacked[op.index];
  if (stacked != kNone) {
    const Dim at = scope_.symbol_dim(state.row);
    Layout row = layouts_[stacked];
    const std::size_t axis = from_front(op.axis, row.shape.size());
    const Dim extent = row.shape[axis], stride = row.strides[axis];
    row.offset = scope_.mul(op.reversed ? scope_.sub(scope_.sub(extent, 1), at) : at, stride);
    row.shape.erase(row.shape.begin() + static_cast<std::ptrdiff_t>(axis));
    row.strides.erase(row.strides.begin() + static_cast<std::ptrdiff_t>(axis));
    if (put_in_place(state, op.a, part, plan_.slots[stacked].storage, row)) return;
    copy(part, view_slot(stacked, {}, std::move(row)), state.node);
    return;
  }
  Step s;
  s.kind = Step::Kind::append;
  s.node = state.node;
  s.index = state.accumulators[op.index];
  const Accumulator& acc = plan_.accumulators[s.index];
  if (const auto next = next_part(state, cell_type(state, op.a))) {
    s.in_place = put_in_place(state, op.a, part, acc.storage, *next);
    stacked_in_place_ += s.in_place ? 1 : 0;
  }
  s.in = {acc.object || s.in_place ? part : contiguous(part, state.node)};
  emit(std::move(s));
}

}  // namespace frazil
