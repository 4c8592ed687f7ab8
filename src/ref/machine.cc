#include "ref/machine.h"

#include <algorithm>

#include "ir/op/op.h"
#include "ref/machine_state.h"

namespace frazil::ref {
namespace {

bool is_inside(const Graph& graph, BlockId block, NodeId region) {
  for (; graph.block(block).owner; block = graph.block(block).parent) {
    if (graph.block(block).owner == region) return true;
  }
  return false;
}

}  // namespace

Machine::Machine(const Graph& graph, ExecutionLimits& execution_limits, ValueListener* listener)
    : graph_(graph),
      execution_limits_(execution_limits),
      listener_(listener),
      symbols_(graph),
      env_(graph.value_count()),
      dead_after_(graph.node_count()) {
  find_last_uses();
}

Machine::~Machine() = default;

/// Finds the last use of each value. Only values that are read in their own block alone are released, because values
/// used in nested blocks may be read again.
void Machine::find_last_uses() {
  constexpr std::uint32_t kNever = ~0u, kAlways = ~0u - 1;
  std::vector<std::uint32_t> last(graph_.value_count(), kNever);
  for (std::uint32_t b = 0; b < graph_.block_count(); ++b) {
    const Block& block = graph_.block(BlockId{b});
    for (const NodeId id : block.nodes) {
      for (Value v : graph_.node(id).out) {
        if (v && last[v.id] == kNever) last[v.id] = id.id;
      }
      for (Value v : graph_.node(id).in) {
        if (!v || last[v.id] == kAlways) continue;
        last[v.id] = graph_.block_of(v) == BlockId{b} ? id.id : kAlways;
      }
    }
    for (Value v : block.results) last[v.id] = kAlways;
  }
  for (std::uint32_t v = 0; v < last.size(); ++v) {
    if (last[v] < kAlways) dead_after_[last[v]].push_back(Value{v});
  }
}

void Machine::release(NodeId id) {
  for (Value v : dead_after_[id.id]) env_[v.id] = Datum();
}

Datum Machine::value(Value v) const {
  if (!v) return Datum();
  const Constant* c = graph_.constant(v);
  return c ? Datum(c->tensor) : env_[v.id];
}

Status Machine::define(Value v, Datum datum, std::string_view who) {
  symbols_.learn(v, datum);
  if (const auto wrong = misfit(graph_, symbols_, v, datum)) {
    const std::string& name = graph_.value_name(v);
    return fail(Code::internal, "{}{} {}", who, name.empty() ? "" : fmt::format(", value '{}'", name), *wrong);
  }
  env_[v.id] = std::move(datum);
  if (listener_ != nullptr) tell(v);
  return {};
}

void Machine::tell(Value v) const {
  const BlockId block = graph_.block_of(v).value_or(Graph::kMain);
  std::vector<std::int64_t> iterations;
  for (const Frame& frame : frames_) {
    if (!frame.region || !frame.region->program->loops) continue;
    if (is_inside(graph_, block, frame.region->node)) iterations.push_back(frame.region->iteration);
  }
  listener_->defined(v, env_[v.id], iterations);
}

Result<std::vector<Datum>> Machine::run(std::span<const Datum> params) {
  const Block& main = graph_.main();
  for (std::size_t i = 0; i < main.params.size(); ++i) {
    if (params[i].is_tensor()) {
      const Shape& shape = graph_.type(main.params[i]).shape;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        if (const auto s = graph_.scope().as_symbol(shape[d])) symbols_.set(*s, params[i].tensor().sizes()[d]);
      }
    }
    FRAZIL_CHECK(define(main.params[i], params[i], "graph input"));
  }
  frames_.push_back({Graph::kMain, 0, nullptr});
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    FRAZIL_CHECK(frame.region ? step_region(*frame.region) : step_block(frame));
  }
  std::vector<Datum> results;
  for (Value v : main.results) results.push_back(value(v));
  return results;
}

Status Machine::step_block(Frame& frame) {
  const Block& block = graph_.block(frame.block);
  if (frame.next == block.nodes.size()) {
    frames_.pop_back();
    return {};
  }
  const NodeId id = block.nodes[frame.next++];
  FRAZIL_CHECK(execution_limits_.spend());
  return std::holds_alternative<Region>(graph_.node(id).op->form) ? begin_region(id) : run_single(id);
}

/// Returns the result of a view of an empty value, which has the extents of its type; nullopt for other nodes.
/// run_one() sees numbers only. In the shape of a Reshape, the number 0 copies an extent, but the type has a symbol
/// that is 0 in this run.
Result<std::optional<Datum>> Machine::nothing_viewed(NodeId id) {
  const Node& node = graph_.node(id);
  if (!std::holds_alternative<View>(node.op->form) || node.out.size() != 1) return std::nullopt;
  const Datum of = value(node.in[0]);
  const Type& type = graph_.type(node.out[0]);
  if (!of.is_tensor() || of.tensor().count() != 0 || !type.is_tensor() || !type.ranked) return std::nullopt;
  Sizes sizes;
  for (Dim d : type.shape) {
    const auto extent = symbols_.eval(d, SymbolTable::ByZero::zero);
    if (!extent || *extent < 0) return std::nullopt;
    sizes.push_back(*extent);
  }
  if (std::ranges::find(sizes, 0) == sizes.end()) return std::nullopt;
  FRAZIL_TRY(Tensor t, Tensor::make(type.elem, std::move(sizes)));
  return Datum(std::move(t));
}

Status Machine::check_assumptions(NodeId id) {
  for (const Assumption& a : assumptions_at(graph_, id)) {
    const auto value = symbols_.eval(a.predicate);
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
  for (Value v : node.in) inputs.push_back(v ? std::optional(value(v)) : std::nullopt);
  std::vector<Datum> outputs;
  FRAZIL_TRY(auto nothing, nothing_viewed(id));
  if (nothing) {
    outputs.push_back(std::move(*nothing));
  } else {
    FRAZIL_TRY(outputs, run_one(graph_, id, inputs, execution_limits_));
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (node.out[k]) symbols_.learn(node.out[k], outputs[k]);
  }
  FRAZIL_CHECK(check_constraints(id));
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (node.out[k]) FRAZIL_CHECK(define(node.out[k], std::move(outputs[k]), graph_.describe(id)));
  }
  release(id);
  return {};
}

}  // namespace frazil::ref
