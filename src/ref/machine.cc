#include "ref/machine.h"

#include <algorithm>

#include "ir/op/op.h"
#include "ref/node.h"

namespace frazil::ref {
namespace {

bool is_inside(const Graph& graph, BlockId block, NodeId region) {
  for (; graph.block(block).owner; block = graph.block(block).parent) {
    if (graph.block(block).owner == region) return true;
  }
  return false;
}

Tensor as_scalar(const Tensor& t) { return t.rank() == 0 ? t : reshaped(t, {}); }

}  // namespace

Machine::Machine(const Graph& graph, ExecutionLimits& execution_limits, ValueListener* listener)
    : graph_(graph), execution_limits_(execution_limits), listener_(listener), environment_(graph) {}

Status Machine::define(Value v, Datum datum, std::string_view who) {
  FRAZIL_CHECK(environment_.define(v, std::move(datum), who));
  if (listener_ != nullptr) notify(v);
  return {};
}

void Machine::notify(Value v) const {
  const BlockId block = graph_.block_of(v).value_or(Graph::kMain);
  std::vector<std::int64_t> iterations;
  for (const Frame& frame : frames_) {
    if (!frame.region || !frame.region->loops()) continue;
    if (is_inside(graph_, block, frame.region->node())) iterations.push_back(frame.region->iteration());
  }
  listener_->defined(v, environment_.value(v), iterations);
}

Result<std::vector<Datum>> Machine::run(std::span<const Datum> params) {
  const Block& main = graph_.main();
  for (std::size_t i = 0; i < main.params.size(); ++i) {
    if (params[i].is_tensor()) environment_.bind_extents(main.params[i], params[i].tensor());
    FRAZIL_CHECK(define(main.params[i], params[i], "graph input"));
  }
  frames_.push_back({Graph::kMain, 0, nullptr});
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    FRAZIL_CHECK(frame.region ? step_region(*frame.region) : step_block(frame));
  }
  std::vector<Datum> results;
  for (Value v : main.results) results.push_back(environment_.value(v));
  return results;
}

Status Machine::step_block(Frame& frame) {
  const Block& block = graph_.block(frame.block);
  if (frame.next == block.nodes.size()) {
    frames_.pop_back();
    return {};
  }
  const NodeId id = block.nodes[frame.next++];
  FRAZIL_CHECK(execution_limits_.consume_step());
  return std::holds_alternative<Region>(graph_.node(id).op->form) ? begin_region(id) : run_single(id);
}

/// Returns the result of a view of an empty value, which has the extents of its type; nullopt for other nodes.
/// run_one() sees numbers only. In the shape of a Reshape, the number 0 copies an extent, but the type has a symbol
/// that is 0 in this run.
Result<std::optional<Datum>> Machine::nothing_viewed(NodeId id) {
  const Node& node = graph_.node(id);
  if (!std::holds_alternative<View>(node.op->form) || node.out.size() != 1) return std::nullopt;
  const Datum of = environment_.value(node.in[0]);
  const Type& type = graph_.type(node.out[0]);
  if (!of.is_tensor() || of.tensor().count() != 0 || !type.is_tensor() || !type.ranked) return std::nullopt;
  Sizes sizes;
  for (Dim d : type.shape) {
    const auto extent = environment_.symbols().eval(d, SymbolTable::ByZero::zero);
    if (!extent || *extent < 0) return std::nullopt;
    sizes.push_back(*extent);
  }
  if (std::ranges::find(sizes, 0) == sizes.end()) return std::nullopt;
  FRAZIL_TRY(Tensor t, Tensor::make(type.elem, std::move(sizes)));
  return Datum(std::move(t));
}

Status Machine::check_assumptions(NodeId id) {
  for (const Assumption& a : assumptions_at(graph_, id)) {
    const auto value = environment_.symbols().eval(a.predicate);
    if (!value || *value == a.value) continue;
    missed_ = {.key = a.key, .value = *value};
    return fail(Code::internal, "the types of the graph assume {}, not {}", a.value, *value);
  }
  return {};
}

Status Machine::run_single(NodeId id) {
  FRAZIL_CHECK(check_assumptions(id));
  const Node& node = graph_.node(id);
  std::vector<std::optional<Datum>> inputs;
  for (Value v : node.in) inputs.push_back(v ? std::optional(environment_.value(v)) : std::nullopt);
  std::vector<Datum> outputs;
  FRAZIL_TRY(auto nothing, nothing_viewed(id));
  if (nothing) {
    outputs.push_back(std::move(*nothing));
  } else {
    FRAZIL_TRY(outputs, run_one(graph_, id, inputs, execution_limits_));
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (node.out[k]) environment_.bind_from(node.out[k], outputs[k]);
  }
  FRAZIL_CHECK(environment_.check_constraints(id));
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (node.out[k]) FRAZIL_CHECK(define(node.out[k], std::move(outputs[k]), graph_.describe(id)));
  }
  environment_.release(id);
  return {};
}

// ---- regions ----

const RegionProgram& Machine::program_of(NodeId id) {
  std::unique_ptr<RegionProgram>& program = programs_[id.id];
  if (!program) program = std::make_unique<RegionProgram>(graph_, id);
  return *program;
}

Status Machine::begin_region(NodeId id) {
  FRAZIL_CHECK(environment_.check_constraints(id));
  frames_.push_back({{}, 0, std::make_unique<RegionRun>(graph_, environment_, id, program_of(id))});
  return {};
}

Status Machine::step_region(RegionRun& run) {
  const FlowOp* const op = run.next();
  if (op == nullptr) return end_region(run);
  if (Status s = step_flow(run, *op); !s) return at_node(graph_.describe(run.node()), std::move(s).error());
  return {};
}

Status Machine::step_flow(RegionRun& run, const FlowOp& op) {
  FRAZIL_CHECK(run.step());
  switch (op.kind) {
    case FlowOp::Kind::back_edge: return execution_limits_.consume_step();
    case FlowOp::Kind::enter: return enter(run, op);
    case FlowOp::Kind::expect: return expect(run, op);
    default: return {};
  }
}

Status Machine::end_region(RegionRun& run) {
  const NodeId id = run.node();
  const Node& node = graph_.node(id);
  std::vector<Datum> outputs = run.take_outputs();
  for (std::size_t k = 0; k < node.out.size(); ++k) {
    if (node.out[k]) FRAZIL_CHECK(define(node.out[k], std::move(outputs[k]), graph_.describe(id)));
  }
  frames_.pop_back();
  environment_.release(id);
  return {};
}

Status Machine::enter(const RegionRun& run, const FlowOp& op) {
  const Block& block = graph_.block(op.block);
  if (op.cells.size() != block.params.size()) {
    return fail(Code::internal, "{} params for a block with {}", op.cells.size(), block.params.size());
  }
  FRAZIL_TRY(std::vector<Datum> values, run.read(op.cells));
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Type& type = graph_.type(block.params[k]);
    const bool scalar = type.is_tensor() && type.ranked && type.rank() == 0;
    if (scalar && values[k].is_tensor() && values[k].tensor().count() == 1) {
      FRAZIL_TRY(const Tensor packed, values[k].tensor().packed());
      values[k] = as_scalar(packed);
    }
    FRAZIL_CHECK(define(block.params[k], std::move(values[k]),
                        fmt::format("{}: block param {}", graph_.describe(run.node()), k)));
  }
  frames_.push_back({op.block, 0, nullptr});
  return {};
}

Status Machine::expect(const RegionRun& run, const FlowOp& op) {
  FRAZIL_TRY(const bool holds, run.read_condition(op.a));
  if (holds == (op.number != 0)) return {};
  missed_ = {.key = {graph_.node(run.node()).stable, 0}, .value = holds ? 1 : 0};
  return fail(Code::internal, "the types of the graph assume the other branch");
}

}  // namespace frazil::ref
