#include <algorithm>

#include "ir/op/axis.h"
#include "ir/op/op.h"
#include "ref/machine_state.h"
#include "ref/moves.h"

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

Tensor scalar_of(const Tensor& t) { return t.rank() == 0 ? t : reshaped(t, {}); }

}  // namespace

const Machine::Program& Machine::program_of(NodeId id) {
  std::unique_ptr<Program>& program = programs_[id.id];
  if (!program) {
    program = std::make_unique<Program>();
    std::get<Region>(graph_.node(id).op->form).lower(graph_.node(id), graph_, program->flow);
    program->target = flow_targets(program->flow.ops);
    program->loops = std::ranges::find(program->flow.ops, Kind::loop, &FlowOp::kind) != program->flow.ops.end();
  }
  return *program;
}

Status Machine::begin_region(NodeId id) {
  FRAZIL_CHECK(check_constraints(id));
  auto run = std::make_unique<RegionRun>();
  run->node = id;
  run->program = &program_of(id);
  const Flow& flow = run->program->flow;
  run->counters.resize(flow.counters);
  run->variables.resize(flow.variables);
  run->slices.resize(flow.slices);
  run->accumulators.resize(flow.accumulators);
  run->outputs.resize(graph_.node(id).out.size());
  frames_.push_back({{}, 0, std::move(run)});
  return {};
}

Status Machine::check_constraints(NodeId id) {
  for (const Constraint& c : graph_.node(id).constraints) {
    const auto a = symbols_.eval(c.a, SymbolTable::ByZero::zero), b = symbols_.eval(c.b, SymbolTable::ByZero::zero);
    if (a && b && *a != *b) return fail(Code::bad_input, "{}: {}: {} is not {}", graph_.describe(id), c.what, *a, *b);
  }
  return {};
}

Status Machine::step_region(RegionRun& run) {
  if (run.pc == run.program->flow.ops.size()) return end_region(run);
  if (Status s = step_flow(run, run.program->flow.ops[run.pc]); !s) {
    const std::string context = graph_.describe(run.node) + ": ";
    if (s.error().message.starts_with(context)) return s;
    return within(context, std::move(s).error());
  }
  return {};
}

Status Machine::end_region(RegionRun& run) {
  const NodeId id = run.node;
  const Node& node = graph_.node(id);
  for (std::size_t k = 0; k < node.out.size(); ++k) {
    if (node.out[k]) FRAZIL_CHECK(define(node.out[k], std::move(run.outputs[k]), graph_.describe(id)));
  }
  frames_.pop_back();
  release(id);
  return {};
}

Status Machine::step_flow(RegionRun& run, const FlowOp& op) {
  const std::size_t target = run.program->target[run.pc++];
  switch (op.kind) {
    case Kind::branch:
    case Kind::leave_unless: {
      FRAZIL_TRY(const bool goes_on, truth(run, op.a));
      if (!goes_on) run.pc = target;
      return {};
    }
    case Kind::otherwise: run.pc = target; return {};
    case Kind::again:
      run.pc = target;
      ++run.iteration;
      return execution_limits_.spend();
    case Kind::leave_at:
      if (run.counters[op.index] >= run.counters[op.limit]) run.pc = target;
      return {};
    case Kind::join:
    case Kind::loop: return {};
    case Kind::count: run.counters[op.index] = op.number; return {};
    case Kind::step: ++run.counters[op.index]; return {};
    case Kind::count_from: {
      FRAZIL_TRY(run.counters[op.index], integer(run, op.a));
      return {};
    }
    case Kind::count_dim: {
      const auto extent = symbols_.eval(op.dim);
      if (!extent) return fail(Code::internal, "the extent {} is not known", graph_.scope().str(op.dim));
      run.counters[op.index] = *extent;
      return {};
    }
    case Kind::set: {
      std::vector<Datum> values;
      for (const auto& [variable, cell] : op.pairs) {
        FRAZIL_TRY(Datum value, read(run, cell));
        values.push_back(std::move(value));
      }
      for (std::size_t k = 0; k < values.size(); ++k) run.variables[op.pairs[k].first] = std::move(values[k]);
      return {};
    }
    case Kind::enter: return enter(run, op);
    case Kind::slice: {
      FRAZIL_TRY(const Datum whole, read(run, op.a));
      if (!whole.is_tensor()) return fail(Code::internal, "a slice of {}", describe(whole));
      FRAZIL_TRY(Tensor part, slice(whole.tensor(), op.axis, run.counters[op.limit], op.reversed));
      run.slices[op.index] = std::move(part);
      return {};
    }
    case Kind::gather: return gather(run, op);
    case Kind::expect: {
      FRAZIL_TRY(const bool holds, truth(run, op.a));
      if (holds == (op.number != 0)) return {};
      missed_ = {.key = {graph_.node(run.node).stable, 0}, .value = holds ? 1 : 0};
      return fail(Code::internal, "the types of the graph assume the other branch");
    }
    case Kind::give: {
      FRAZIL_TRY(run.outputs[op.index], read(run, op.a));
      return {};
    }
  }
  return fail(Code::internal, "unknown flow step");
}

Status Machine::enter(RegionRun& run, const FlowOp& op) {
  const Block& block = graph_.block(op.block);
  if (op.cells.size() != block.params.size()) {
    return fail(Code::internal, "{} params for a block with {}", op.cells.size(), block.params.size());
  }
  std::vector<Datum> values;
  for (const Cell& cell : op.cells) {
    FRAZIL_TRY(Datum value, read(run, cell));
    values.push_back(std::move(value));
  }
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Type& type = graph_.type(block.params[k]);
    const bool scalar = type.is_tensor() && type.ranked && type.rank() == 0;
    if (scalar && values[k].is_tensor() && values[k].tensor().count() == 1) {
      FRAZIL_TRY(const Tensor packed, values[k].tensor().packed());
      values[k] = scalar_of(packed);
    }
    FRAZIL_CHECK(
        define(block.params[k], std::move(values[k]), fmt::format("{}: block param {}", graph_.describe(run.node), k)));
  }
  frames_.push_back({op.block, 0, nullptr});
  return {};
}

Status Machine::gather(RegionRun& run, const FlowOp& op) {
  FRAZIL_TRY(const Datum part, read(run, op.a));
  if (!part.is_tensor()) return fail(Code::internal, "gathers {}", describe(part));
  return run.accumulators[op.index].add(part.tensor());
}

Result<Datum> Machine::read(const RegionRun& run, const Cell& cell) {
  switch (cell.kind) {
    case Cell::Kind::input: return value(graph_.node(run.node).in[cell.index]);
    case Cell::Kind::result: return value(graph_.block(cell.block).results[cell.index]);
    case Cell::Kind::variable: return run.variables[cell.index];
    case Cell::Kind::slice: return run.slices[cell.index];
    case Cell::Kind::counter: return scalar_of<std::int64_t>(run.counters[cell.index]);
    case Cell::Kind::truth: return scalar_of(true);
    case Cell::Kind::gathered: {
      FRAZIL_TRY(Tensor t, gathered(run, cell.index));
      return Datum(std::move(t));
    }
    case Cell::Kind::none: break;
  }
  return fail(Code::internal, "a cell is read before it is written");
}

Result<Tensor> Machine::gathered(const RegionRun& run, std::uint32_t accumulator) {
  const auto& parts = run.accumulators[accumulator];
  if (parts.empty()) return nothing_gathered(run, accumulator);
  const auto is_it = [&](const FlowOp& op) { return op.kind == Kind::gather && op.index == accumulator; };
  const FlowOp& op = *std::ranges::find_if(run.program->flow.ops, is_it);
  return parts.stack(op.axis, op.reversed);
}

/// Returns the empty result of a loop without iterations. Extents known outside the region are kept; others are 0.
Result<Tensor> Machine::nothing_gathered(const RegionRun& run, std::uint32_t accumulator) {
  for (const FlowOp& op : run.program->flow.ops) {
    if (op.kind != Kind::gather || op.index != accumulator) continue;
    if (op.a.kind != Cell::Kind::result) break;
    const Type& type = graph_.type(graph_.block(op.a.block).results[op.a.index]);
    if (!type.ranked) return Tensor::make(type.elem, {0});
    Sizes sizes;
    for (Dim d : type.shape) {
      sizes.push_back(lives_at(d, graph_.node(run.node).parent) ? symbols_.eval(d).value_or(0) : 0);
    }
    const std::size_t axis = from_front(op.axis, sizes.size() + 1);
    sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(axis), 0);
    return Tensor::make(type.elem, std::move(sizes));
  }
  return fail(Code::internal, "an accumulator without contents is read");
}

/// Returns whether all symbols of `d` belong to `block` or an enclosing block.
bool Machine::lives_at(Dim d, BlockId block) const {
  return std::ranges::all_of(graph_.scope().symbols_of(d), [&](SymbolId s) {
    for (BlockId b = block; b; b = graph_.block(b).parent) {
      if (b == graph_.symbol_block(s)) return true;
    }
    return false;
  });
}

Result<bool> Machine::truth(const RegionRun& run, const Cell& cell) {
  FRAZIL_TRY(const Datum d, read(run, cell));
  if (!d.is_tensor() || d.tensor().elem() != Elem::boolean || d.tensor().count() != 1) {
    return fail(Code::bad_input, "a condition must be one bool, got {}", describe(d));
  }
  return d.tensor().integer_at(0) != 0;
}

Result<std::int64_t> Machine::integer(const RegionRun& run, const Cell& cell) {
  FRAZIL_TRY(const Datum d, read(run, cell));
  if (!d.is_tensor() || !is_int(d.tensor().elem()) || d.tensor().count() != 1) {
    return fail(Code::bad_input, "a count must be one integer, got {}", describe(d));
  }
  return d.tensor().integer_at(0);
}

}  // namespace frazil::ref
