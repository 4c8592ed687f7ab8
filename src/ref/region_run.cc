#include "ref/region_run.h"

#include <algorithm>

#include "ir/op/axis.h"
#include "ir/op/op.h"

namespace frazil::ref {
namespace {

using Kind = FlowOp::Kind;

/// Makes a scalar for a loop body. The body may keep it, so it counts against the memory limit.
template <class T>
Result<Datum> scalar_of(T value) {
  FRAZIL_TRY(Tensor t, Tensor::make(elem_of<T>(), {}));
  t.as_mutable<T>()[0] = value;
  return Datum(std::move(t));
}

}  // namespace

RegionProgram::RegionProgram(const Graph& graph, NodeId region) {
  std::get<Region>(graph.node(region).op->form).lower(graph.node(region), graph, flow);
  target = flow_targets(flow.ops);
  loops = std::ranges::find(flow.ops, Kind::loop, &FlowOp::kind) != flow.ops.end();
}

RegionRun::RegionRun(const Graph& graph, Environment& environment, NodeId node, const RegionProgram& program)
    : graph_(graph),
      environment_(environment),
      node_(node),
      program_(program),
      counters_(program.flow.counters),
      variables_(program.flow.variables),
      slices_(program.flow.slices),
      outputs_(graph.node(node).out.size()),
      accumulators_(program.flow.accumulators) {}

Status RegionRun::step() {
  const FlowOp& op = program_.flow.ops[pc_];
  const std::size_t target = program_.target[pc_++];
  switch (op.kind) {
    case Kind::branch:
    case Kind::leave_unless: {
      FRAZIL_TRY(const bool goes_on, read_condition(op.a));
      if (!goes_on) pc_ = target;
      return {};
    }
    case Kind::otherwise: pc_ = target; return {};
    case Kind::back_edge:
      pc_ = target;
      ++iteration_;
      return {};
    case Kind::leave_at:
      if (counters_[op.index] >= counters_[op.limit]) pc_ = target;
      return {};
    case Kind::join:
    case Kind::loop:
    case Kind::enter:
    case Kind::expect: return {};
    case Kind::count: counters_[op.index] = op.number; return {};
    case Kind::step: ++counters_[op.index]; return {};
    case Kind::count_from: {
      FRAZIL_TRY(counters_[op.index], integer(op.a));
      return {};
    }
    case Kind::count_dim: return count_dim(op);
    case Kind::set: return set(op);
    case Kind::slice: return slice(op);
    case Kind::gather: return gather(op);
    case Kind::output: {
      FRAZIL_TRY(outputs_[op.index], read(op.a));
      return {};
    }
  }
  return fail(Code::internal, "unknown flow step");
}

Status RegionRun::count_dim(const FlowOp& op) {
  const auto extent = environment_.symbols().eval(op.dim);
  if (!extent) return fail(Code::internal, "the extent {} is not known", graph_.scope().str(op.dim));
  counters_[op.index] = *extent;
  return {};
}

Status RegionRun::set(const FlowOp& op) {
  std::vector<Datum> values;
  for (const auto& [variable, cell] : op.pairs) {
    FRAZIL_TRY(Datum value, read(cell));
    values.push_back(std::move(value));
  }
  for (std::size_t k = 0; k < values.size(); ++k) variables_[op.pairs[k].first] = std::move(values[k]);
  return {};
}

Status RegionRun::slice(const FlowOp& op) {
  FRAZIL_TRY(const Datum whole, read(op.a));
  if (!whole.is_tensor()) return fail(Code::internal, "a slice of {}", describe(whole));
  FRAZIL_TRY(Tensor part, ref::slice(whole.tensor(), op.axis, counters_[op.limit], op.reversed));
  slices_[op.index] = std::move(part);
  return {};
}

Status RegionRun::gather(const FlowOp& op) {
  FRAZIL_TRY(const Datum part, read(op.a));
  if (!part.is_tensor()) return fail(Code::internal, "gathers {}", describe(part));
  return accumulators_[op.index].add(part.tensor());
}

Result<std::vector<Datum>> RegionRun::read(const std::vector<Cell>& cells) const {
  std::vector<Datum> values;
  for (const Cell& cell : cells) {
    FRAZIL_TRY(Datum value, read(cell));
    values.push_back(std::move(value));
  }
  return values;
}

Result<Datum> RegionRun::read(const Cell& cell) const {
  switch (cell.kind) {
    case Cell::Kind::input: return environment_.value(graph_.node(node_).in[cell.index]);
    case Cell::Kind::result: return environment_.value(graph_.block(cell.block).results[cell.index]);
    case Cell::Kind::variable: return variables_[cell.index];
    case Cell::Kind::slice: return slices_[cell.index];
    case Cell::Kind::counter: return scalar_of<std::int64_t>(counters_[cell.index]);
    case Cell::Kind::constant_true: return scalar_of(true);
    case Cell::Kind::gathered: {
      FRAZIL_TRY(Tensor t, gathered(cell.index));
      return Datum(std::move(t));
    }
    case Cell::Kind::none: break;
  }
  return fail(Code::internal, "a cell is read before it is written");
}

Result<Tensor> RegionRun::gathered(std::uint32_t accumulator) const {
  const auto& parts = accumulators_[accumulator];
  if (parts.empty()) return nothing_gathered(accumulator);
  const auto is_it = [&](const FlowOp& op) { return op.kind == Kind::gather && op.index == accumulator; };
  const FlowOp& op = *std::ranges::find_if(program_.flow.ops, is_it);
  return parts.stack(op.axis, op.reversed);
}

/// Returns the empty result of a loop without iterations. Extents known outside the region are kept; others are 0.
Result<Tensor> RegionRun::nothing_gathered(std::uint32_t accumulator) const {
  for (const FlowOp& op : program_.flow.ops) {
    if (op.kind != Kind::gather || op.index != accumulator) continue;
    if (op.a.kind != Cell::Kind::result) break;
    const Type& type = graph_.type(graph_.block(op.a.block).results[op.a.index]);
    if (!type.ranked) return Tensor::make(type.elem, {0});
    Sizes sizes;
    for (Dim d : type.shape) {
      sizes.push_back(lives_at(d, graph_.node(node_).parent) ? environment_.symbols().eval(d).value_or(0) : 0);
    }
    const std::size_t axis = from_front(op.axis, sizes.size() + 1);
    sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(axis), 0);
    return Tensor::make(type.elem, std::move(sizes));
  }
  return fail(Code::internal, "an accumulator without contents is read");
}

/// Returns whether all symbols of `d` belong to `block` or an enclosing block.
bool RegionRun::lives_at(Dim d, BlockId block) const {
  return std::ranges::all_of(graph_.scope().symbols_of(d), [&](SymbolId s) {
    for (BlockId b = block; b; b = graph_.block(b).parent) {
      if (b == graph_.symbol_block(s)) return true;
    }
    return false;
  });
}

Result<bool> RegionRun::read_condition(const Cell& cell) const {
  FRAZIL_TRY(const Datum d, read(cell));
  if (!d.is_tensor() || d.tensor().elem() != Elem::boolean || d.tensor().count() != 1) {
    return fail(Code::bad_input, "a condition must be one bool, got {}", describe(d));
  }
  return d.tensor().integer_at(0) != 0;
}

Result<std::int64_t> RegionRun::integer(const Cell& cell) const {
  FRAZIL_TRY(const Datum d, read(cell));
  if (!d.is_tensor() || !is_int(d.tensor().elem()) || d.tensor().count() != 1) {
    return fail(Code::bad_input, "a count must be one integer, got {}", describe(d));
  }
  return d.tensor().integer_at(0);
}

}  // namespace frazil::ref
