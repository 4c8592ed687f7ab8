#include "lazy/batch/graph_run.h"

#include <algorithm>

#include "ir/op/op.h"
#include "lazy/program/run.h"
#include "lazy/record/record.h"

namespace frazil::lazy {
namespace {

using Kind = FlowOp::Kind;

template <class T>
Handle scalar_of(T value) {
  return of_datum(Tensor::scalar(value));
}

Result<Datum> read_value(const Handle& handle) {
  FRAZIL_CHECK(lazy::run(handle.ref()));
  return datum_of(handle.output());
}

/// Returns the only element of a condition or a count.
Result<std::int64_t> single(const Handle& handle, std::string_view what) {
  FRAZIL_TRY(const Datum datum, read_value(handle));
  if (!datum.is_tensor() || datum.tensor().count() != 1) {
    return fail(Code::bad_input, "a {} must have one element, got {}", what,
                datum.is_tensor() ? datum.tensor().type_str() : "no tensor");
  }
  return datum.tensor().integer_at(0);
}

}  // namespace

GraphRun::GraphRun(const GraphWalk& walk) : walk_(walk), graph_(walk.graph()), values_(walk.graph().value_count()) {}

Result<std::vector<Handle>> GraphRun::run(std::span<const Handle> inputs) {
  const Block& main = graph_.main();
  for (std::size_t i = 0; i < inputs.size(); ++i) define(main.params[i], inputs[i]);
  FRAZIL_CHECK(run_block(Graph::kMain));
  std::vector<Handle> results;
  for (const Value v : main.results) results.push_back(value_of(v));
  return results;
}

Status GraphRun::run_block(BlockId block) {
  for (const GraphWalk::Piece& piece : walk_.pieces_[block.id]) {
    FRAZIL_CHECK(piece.region ? run_region(piece.region) : call(piece));
  }
  return {};
}

Status GraphRun::call(const GraphWalk::Piece& piece) {
  std::vector<Ref> arguments;
  for (const Value v : piece.inputs) arguments.push_back(value_of(v).ref());
  FRAZIL_TRY(const Function* const function, piece.function->graph_for(arguments));
  FRAZIL_TRY(const Handle made, record(function->operation(), arguments, {}));
  for (std::uint32_t k = 0; k < piece.outputs.size(); ++k) define(piece.outputs[k], Handle(Ref{made.node(), k}));
  return {};
}

Status GraphRun::run_region(NodeId id) {
  const GraphWalk::Program& program = *walk_.flows_[id.id];
  Frame frame{.node = id,
              .flow = &program.flow,
              .counters = std::vector<std::int64_t>(program.flow.counters),
              .variables = std::vector<Handle>(program.flow.variables),
              .slices = std::vector<Handle>(program.flow.slices),
              .outputs = std::vector<Handle>(graph_.node(id).out.size()),
              .accumulators = std::vector<std::vector<Handle>>(program.flow.accumulators)};
  for (std::size_t pc = 0; pc < program.flow.ops.size();) {
    const std::size_t at = pc++;
    if (Status s = step(frame, program.flow.ops[at], program.target[at], pc); !s) {
      return at_node(graph_.describe(id), std::move(s).error());
    }
  }
  for (std::size_t k = 0; k < frame.outputs.size(); ++k) {
    if (graph_.node(id).out[k]) define(graph_.node(id).out[k], std::move(frame.outputs[k]));
  }
  return {};
}

Status GraphRun::step(Frame& frame, const FlowOp& op, std::size_t target, std::size_t& pc) {
  switch (op.kind) {
    case Kind::branch:
    case Kind::leave_unless: {
      FRAZIL_TRY(const bool goes_on, read_condition(frame, op.a));
      if (!goes_on) pc = target;
      return {};
    }
    case Kind::otherwise:
    case Kind::back_edge: pc = target; return {};
    case Kind::leave_at:
      if (frame.counters[op.index] >= frame.counters[op.limit]) pc = target;
      return {};
    case Kind::join:
    case Kind::loop:
    case Kind::expect: return {};  // nothing here depends on assumed branches
    case Kind::count: frame.counters[op.index] = op.number; return {};
    case Kind::step: ++frame.counters[op.index]; return {};
    case Kind::count_from: {
      FRAZIL_TRY(frame.counters[op.index], integer(frame, op.a));
      return {};
    }
    case Kind::count_dim: {
      FRAZIL_TRY(frame.counters[op.index], extent(op.dim));
      return {};
    }
    case Kind::set: return set(frame, op);
    case Kind::enter: return enter(frame, op);
    case Kind::slice: {
      FRAZIL_TRY(const Handle whole, read(frame, op.a));
      FRAZIL_TRY(const Datum datum, read_value(whole));
      FRAZIL_TRY(Tensor part, ref::slice(datum.tensor(), op.axis, frame.counters[op.limit], op.reversed));
      frame.slices[op.index] = of_datum(std::move(part));
      return {};
    }
    case Kind::gather: {
      FRAZIL_TRY(frame.accumulators[op.index].emplace_back(), read(frame, op.a));
      return {};
    }
    case Kind::output: {
      FRAZIL_TRY(frame.outputs[op.index], read(frame, op.a));
      return {};
    }
  }
  return fail(Code::internal, "unknown flow step");
}

Status GraphRun::set(Frame& frame, const FlowOp& op) {
  std::vector<Handle> values;
  for (const auto& [variable, cell] : op.pairs) {
    FRAZIL_TRY(values.emplace_back(), read(frame, cell));
  }
  for (std::size_t k = 0; k < values.size(); ++k) frame.variables[op.pairs[k].first] = std::move(values[k]);
  return {};
}

Status GraphRun::enter(Frame& frame, const FlowOp& op) {
  const Block& block = graph_.block(op.block);
  std::vector<Handle> values;
  for (const Cell& cell : op.cells) {
    FRAZIL_TRY(values.emplace_back(), read(frame, cell));
  }
  for (std::size_t k = 0; k < values.size(); ++k) define(block.params[k], std::move(values[k]));
  return run_block(op.block);
}

Result<Handle> GraphRun::read(Frame& frame, const Cell& cell) {
  switch (cell.kind) {
    case Cell::Kind::input: return value_of(graph_.node(frame.node).in[cell.index]);
    case Cell::Kind::result: return value_of(graph_.block(cell.block).results[cell.index]);
    case Cell::Kind::variable: return frame.variables[cell.index];
    case Cell::Kind::slice: return frame.slices[cell.index];
    case Cell::Kind::counter: return scalar_of<std::int64_t>(frame.counters[cell.index]);
    case Cell::Kind::constant_true: return scalar_of(true);
    case Cell::Kind::gathered: return stacked(frame, cell.index);
    case Cell::Kind::none: break;
  }
  return fail(Code::internal, "a cell is read before it is written");
}

Result<Handle> GraphRun::stacked(Frame& frame, std::uint32_t accumulator) {
  const std::vector<Handle>& parts = frame.accumulators[accumulator];
  const auto& ops = frame.flow->ops;
  const FlowOp& op =
      *std::ranges::find_if(ops, [&](const FlowOp& o) { return o.kind == Kind::gather && o.index == accumulator; });
  if (parts.empty())
    return fail(Code::unsupported, "a loop without iterations gathers a result; run the request alone");
  std::vector<Ref> wanted;
  for (const Handle& part : parts) wanted.push_back(part.ref());
  FRAZIL_CHECK(lazy::run(wanted));
  ref::Gathered gathered;
  for (const Handle& part : parts) {
    const Datum datum = datum_of(part.output());
    if (!datum.is_tensor()) return fail(Code::unsupported, "a loop gathers values that are not tensors");
    FRAZIL_CHECK(gathered.add(datum.tensor()));
  }
  FRAZIL_TRY(Tensor all, gathered.stack(op.axis, op.reversed));
  return of_datum(std::move(all));
}

Result<bool> GraphRun::read_condition(Frame& frame, const Cell& cell) {
  FRAZIL_TRY(const Handle handle, read(frame, cell));
  FRAZIL_TRY(const std::int64_t value, single(handle, "condition"));
  return value != 0;
}

Result<std::int64_t> GraphRun::integer(Frame& frame, const Cell& cell) {
  FRAZIL_TRY(const Handle handle, read(frame, cell));
  return single(handle, "count");
}

/// Evaluates an extent from the extents of the values computed so far.
Result<std::int64_t> GraphRun::extent(Dim dim) {
  if (dim.is_const()) return dim.value();
  std::vector<std::int64_t> symbols(graph_.scope().symbol_count(), 0);
  for (std::uint32_t v = 0; v < values_.size(); ++v) {
    const Handle& handle = values_[v];
    if (!handle || !graph_.type(Value{v}).is_tensor()) continue;
    const Shape& shape = graph_.type(Value{v}).shape;
    if (shape.empty()) continue;
    if (handle.output().type == nullptr) FRAZIL_CHECK(lazy::run(handle.ref()));
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto symbol = graph_.scope().as_symbol(shape[axis]);
      if (symbol) symbols[*symbol] = handle.output().type->sizes[axis];
    }
  }
  const auto value = eval(graph_.scope(), dim, symbols);
  if (!value) return fail(Code::internal, "the extent {} is not known", graph_.scope().str(dim));
  return *value;
}

}  // namespace frazil::lazy
