#include "plan/lower/lower_flow.h"

#include "ir/op/axis.h"

namespace frazil {

const Type& Cells::type(const OpenFlow& flow, const Cell& cell) const {
  static const Type counter = Type::tensor(Elem::i64), truth = Type::tensor(Elem::boolean);
  switch (cell.kind) {
    case Cell::Kind::input: return w_.graph.type(w_.graph.node(flow.node).in[cell.index]);
    case Cell::Kind::result: return w_.graph.type(w_.graph.block(cell.block).results[cell.index]);
    case Cell::Kind::variable: return w_.graph.type(flow.region->variable_params[cell.index]);
    case Cell::Kind::counter: return counter;
    default: return truth;
  }
}

SlotId Cells::slot(const OpenFlow& flow, const Cell& cell) {
  switch (cell.kind) {
    case Cell::Kind::input: return w_.slot(w_.graph.node(flow.node).in[cell.index]);
    case Cell::Kind::result: return w_.slot(w_.graph.block(cell.block).results[cell.index]);
    case Cell::Kind::variable: return flow.variables[cell.index];
    case Cell::Kind::slice: return flow.slices[cell.index];
    case Cell::Kind::counter:
    case Cell::Kind::constant_true: {
      const bool count = cell.kind == Cell::Kind::counter;
      const SlotId made = w_.own_slot({}, Type::tensor(count ? Elem::i64 : Elem::boolean));
      const Reg number = count ? static_cast<Reg>(flow.region->counters[cell.index]) : w_.regs.reg(1);
      w_.emit(step::Store{.to = made, .elements = {number}}, flow.node);
      return made;
    }
    default: return {};
  }
}

FlowLowering::FlowLowering(PlanWriter& writer, NodeLowering& nodes, const RegionFlows& flows, const Appends& appends,
                           const Placements& placements)
    : w_(writer),
      nodes_(nodes),
      flows_(flows),
      appends_(appends),
      placements_(placements),
      cells_(writer),
      variables_(writer, nodes, appends, placements, cells_),
      results_(writer, nodes, placements, cells_) {}

OpenFlow FlowLowering::begin(NodeId id) {
  const RegionFlow& region = flows_.of(id);
  OpenFlow flow{.node = id,
                .number = static_cast<std::uint32_t>(w_.plan.regions.size()),
                .region = &region,
                .variables = std::vector<SlotId>(region.flow.variables),
                .slices = std::vector<SlotId>(region.flow.slices),
                .accumulators = {},
                .stacked = {},
                .open = {}};
  w_.plan.regions.push_back({.node = id,
                             .begin = w_.here(),
                             .blocks = {},
                             .counters = {},
                             .variables = {},
                             .accumulators = {},
                             .stacked = {}});
  for (SymbolId c : region.counters) w_.regs.bind(c, w_.regs.new_group());
  for (const Value param : region.variable_params) {
    if (param) open_append(param);
  }
  results_.open(flow);
  open_joined(flow);
  return flow;
}

/// Allocates the outputs that branches write.
void FlowLowering::open_joined(const OpenFlow& flow) {
  for (const FlowOp& op : flow.region->flow.ops) {
    if (op.kind != FlowOp::Kind::output || op.a.kind != Cell::Kind::result) continue;
    const Placement& p = placements_.of(w_.graph.block(op.a.block).results[op.a.index]);
    const Value out = w_.graph.node(flow.node).out[op.index];
    if (p.kind != Placement::Kind::joined || p.region != flow.node || w_.has_slot(out)) continue;
    nodes_.set_joined(flow.node, op.index, nodes_.result_slot(out));
  }
}

void FlowLowering::open_append(Value from) {
  const Append* append = appends_.of(from);
  if (append == nullptr) return;
  w_.regs.bind(append->capacity, w_.regs.new_group());
  if (append->by_request()) w_.regs.bind(append->input_capacity, 0);
}

/// Returns the slot of a condition. Adds a check if its element count is not provably one.
SlotId FlowLowering::condition(const OpenFlow& flow, const Cell& cell) {
  const SlotId slot = cells_.slot(flow, cell);
  const Dim count = product(w_.scope, w_.layout(slot).shape);
  if (count != Dim(1)) w_.check({count, 1, "element count of the condition"}, flow.node);
  return w_.contiguous(slot, flow.node);
}

/// Ends the steps of the last entered block.
void FlowLowering::leave_block(const OpenFlow& flow) {
  auto& blocks = planned(flow).blocks;
  if (!blocks.empty() && blocks.back().end == 0) blocks.back().end = w_.here();
}

std::optional<BlockId> FlowLowering::step(OpenFlow& flow) {
  leave_block(flow);
  const FlowOp& op = flow.region->flow.ops[flow.next++];
  using Kind = FlowOp::Kind;
  switch (op.kind) {
    case Kind::branch: {
      const SlotId c = condition(flow, op.a);
      flow.open.push_back({.is_loop = false, .step = w_.emit(step::Branch{.condition = c}, flow.node), .leaves = {}});
      break;
    }
    case Kind::otherwise: {
      const StepIndex jump = w_.emit(step::Jump{}, flow.node);
      set_target(flow.open.back().step, w_.here());
      flow.open.back().step = jump;
      break;
    }
    case Kind::join:
      set_target(flow.open.back().step, w_.here());
      flow.open.pop_back();
      break;
    case Kind::loop:
      planned(flow).head = w_.here();
      flow.open.push_back({.is_loop = true, .step = w_.here(), .leaves = {}});
      break;
    case Kind::leave_unless: {
      if (op.a.kind == Cell::Kind::constant_true) break;
      const SlotId c = condition(flow, op.a);
      leave(flow, w_.emit(step::Branch{.condition = c}, flow.node));
      break;
    }
    case Kind::leave_at:
      leave(flow,
            w_.emit(step::LeaveAt{.counter = flow.region->counters[op.index], .limit = flow.region->counters[op.limit]},
                    flow.node));
      break;
    case Kind::back_edge: end_loop(flow); break;
    case Kind::count:
    case Kind::count_from:
    case Kind::count_dim:
    case Kind::step: count(flow, op); break;
    case Kind::set: variables_.set(flow, op); break;
    case Kind::enter: enter(flow, op); return op.block;
    case Kind::slice: slice(flow, op); break;
    case Kind::gather: results_.add_part(flow, op); break;
    case Kind::output: define_output(flow, op); break;
    case Kind::expect: w_.guard(flow.node); break;
  }
  return std::nullopt;
}

void FlowLowering::count(const OpenFlow& flow, const FlowOp& op) {
  const Reg counter = flow.region->counters[op.index];
  switch (op.kind) {
    case FlowOp::Kind::count: w_.emit(step::Set{.to = counter, .number = op.number}, flow.node); break;
    case FlowOp::Kind::count_from:
      w_.emit(step::Load{.to = counter, .from = w_.contiguous(cells_.slot(flow, op.a), flow.node)}, flow.node);
      break;
    case FlowOp::Kind::count_dim: w_.emit(step::Assign{{{counter, w_.regs.reg(op.dim)}}}, flow.node); break;
    default: w_.emit(step::Add{.to = counter, .number = 1}, flow.node); break;
  }
}

void FlowLowering::set_target(StepIndex at, StepIndex target) {
  struct Visitor : FieldVisitor {
    StepIndex to = 0;
    void target(std::string_view, StepIndex& field) { field = to; }
  } visitor;
  visitor.to = target;
  for_fields(w_.plan.steps[at], visitor);
}

void FlowLowering::end_loop(OpenFlow& flow) {
  const OpenFlow::Open loop = flow.open.back();
  flow.open.pop_back();
  const StepIndex end = w_.emit(step::BackEdge{.target = loop.step}, flow.node);
  for (StepIndex leaving : loop.leaves) set_target(leaving, w_.here());
  loops_.push_back({loop.step, end});
  ++w_.plan.loops;
}

void FlowLowering::end(OpenFlow& flow) {
  leave_block(flow);
  PlannedRegion& region = planned(flow);
  region.end = w_.here();
  region.counters.assign(flow.region->counters.begin(), flow.region->counters.end());
  if (region.head != kNone) region.iteration = flow.region->iteration.value_or(kNoReg);
  region.variables = std::move(flow.variables);
  region.accumulators = std::move(flow.accumulators);
  region.stacked = std::move(flow.stacked);
  for (const Value v : w_.graph.node(flow.node).out) {
    if (v && w_.needs.value(v)) w_.after_definition(v);
  }
}

void FlowLowering::enter(const OpenFlow& flow, const FlowOp& op) {
  const Block& block = w_.graph.block(op.block);
  const StepIndex glue = w_.here();
  for (std::size_t k = 0; k < block.params.size(); ++k) {
    const Value p = block.params[k];
    if (op.cells[k].kind == Cell::Kind::variable || w_.needs.value(p)) w_.set_slot(p, cells_.slot(flow, op.cells[k]));
  }
  results_.reserve(flow);
  for (Value p : block.params) {
    if (w_.needs.value(p)) w_.after_definition(p);
  }
  planned(flow).blocks.push_back({.block = op.block, .glue = glue, .begin = w_.here()});
}

void FlowLowering::slice(OpenFlow& flow, const FlowOp& op) {
  const SlotId base = cells_.slot(flow, op.a);
  const SymbolId counter = flow.region->counters[op.limit];
  w_.eval(w_.regs.group(w_.scope.symbol_dim(counter)));
  const Layout& whole = w_.layout(base);
  const std::size_t axis = from_front(op.axis, whole.shape.size());
  Dim at = w_.scope.symbol_dim(counter);
  if (op.reversed) at = w_.scope.sub(w_.scope.sub(whole.shape[axis], 1), at);
  Layout part = at_position(w_.scope, whole, axis, at);
  if (!w_.plan.slot(base).object) {
    flow.slices[op.index] = w_.view_slot(base, {}, std::move(part));
    return;
  }
  const SlotId made = w_.own_slot({}, Type::tensor(w_.plan.slot(base).elem, part.shape));
  w_.emit(step::Slice{.from = base, .to = made, .at = counter, .axis = op.axis, .reversed = op.reversed}, flow.node);
  flow.slices[op.index] = made;
}

void FlowLowering::define_output(const OpenFlow& flow, const FlowOp& op) {
  const Value out = w_.graph.node(flow.node).out[op.index];
  if (!out || !w_.needs.value(out)) return;
  if (op.a.kind == Cell::Kind::gathered) return results_.define_output(flow, out, op.a.index);
  const SlotId from = cells_.slot(flow, op.a);
  if (flow.region->output_counts[op.index] == 1 && !w_.plan.slot(from).object) return alias_output(flow, out, op, from);
  const Type& type = w_.graph.type(out);
  if (type.is_tensor()) w_.assign_extents(out, w_.plan.slot(from).dims);
  if (!w_.has_slot(out)) nodes_.result_slot(out);
  const SlotId to = w_.slot(out);
  if (w_.plan.slot(to).object || w_.plan.slot(from).object) {
    w_.emit(step::Move{.from = from, .to = to}, flow.node);
  } else if (w_.plan.slot(from).storage != w_.plan.slot(to).storage) {
    w_.copy(from, to, flow.node);
  }
}

/// Makes the output a view of the storage of its only cell. A variable covers its storage and takes the output's
/// extents; a result keeps its layout.
void FlowLowering::alias_output(const OpenFlow& flow, Value out, const FlowOp& op, SlotId from) {
  const Type& type = w_.graph.type(out);
  w_.assign_extents(out, w_.plan.slot(from).dims);
  const bool variable = op.a.kind == Cell::Kind::variable;
  const Append* append = variable ? appends_.of(flow.region->variable_params[op.a.index]) : nullptr;
  Layout layout = append != nullptr
                      ? with_capacity(w_.scope, type.shape, append->axis, w_.scope.symbol_dim(append->capacity))
                  : variable ? row_major(w_.scope, type.shape)
                             : w_.layout(from);
  layout.shape = type.shape;
  w_.set_slot(out, w_.new_slot(out, type, w_.plan.slot(from).storage, std::move(layout)));
}

}  // namespace frazil
