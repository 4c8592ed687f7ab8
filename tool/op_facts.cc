#include "tool/op_facts.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/edit/builder.h"
#include "ir/op/op.h"
#include "pass/engine/expand.h"
#include "plan/lower/bind.h"

namespace frazil::tool {
namespace {

/// Numeric classes, from bitwise reproducible to dependent on summation order. `own`: code of the operator itself, the
/// same on every tier.
enum class Numerics { exact, own, ulp, reassociated };

std::string_view name_of(Numerics numerics) {
  constexpr std::string_view names[] = {"exact", "own code", "ulp", "reassociated"};
  return names[static_cast<int>(numerics)];
}

// ---- a sample call ----

constexpr std::size_t kMaxRank = 4, kMaxProbed = 5;

Elem probed_elem(const frazil::Port& port) {
  constexpr Elem preferred[] = {Elem::f32, Elem::f16, Elem::i64, Elem::i32, Elem::i8, Elem::u8, Elem::boolean};
  const auto* found = std::ranges::find_if(preferred, [&](Elem e) { return contains(port.set, e); });
  return found == std::end(preferred) ? Elem::string : *found;
}

/// Returns default attributes. Required ones get a 1 of their kind, or `text`.
Attrs probed_attrs(const OpDef& op, std::string_view text) {
  const std::shared_ptr<void> attrs = op.attrs.make();
  for (const AttrField& field : op.attrs.fields) {
    if (!field.required) continue;
    const AttrValue ones[] = {std::int64_t{1}, 1.0f, std::string(text), Ints{1}, Floats{1}, Strings{"a"}, Tensor()};
    field.set(attrs.get(), ones[static_cast<std::size_t>(field.kind)]);
  }
  return attrs;
}

std::size_t probed_inputs(const OpDef& op) {
  const auto wanted =
      std::ranges::count_if(op.inputs, [](const frazil::Port& p) { return p.use != frazil::Port::Use::optional; });
  return static_cast<std::size_t>(wanted);
}

/// Builds a call with the required inputs, with these ranks and unknown extents.
std::optional<Graph> call_of(const OpDef& op, std::span<const std::size_t> ranks, std::string_view text) {
  Graph graph;
  Builder builder(graph);
  std::vector<Expr> inputs;
  for (const frazil::Port& port : op.inputs) {
    if (port.use == frazil::Port::Use::optional) {
      inputs.push_back(builder.absent());
      continue;
    }
    const std::size_t i = inputs.size();
    Shape shape;
    const std::size_t known = static_cast<std::size_t>(
        std::ranges::count_if(inputs, [](const Expr& given) { return static_cast<bool>(given); }));
    for (std::size_t axis = 0; axis < ranks[known]; ++axis)
      shape.push_back(builder.dim(fmt::format("d{}.{}", i, axis)));
    inputs.push_back(builder.input(fmt::format("x{}", i), Type::tensor(probed_elem(port), std::move(shape))));
  }
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  if (inputs.empty()) return std::nullopt;
  const auto out = builder.add(op, inputs, probed_attrs(op, text));
  if (!builder.status() || out.empty()) return std::nullopt;
  builder.output("y", out[0]);
  return graph;
}

/// Returns the first call that the operator accepts, trying high ranks first.
std::optional<Graph> some_call(const OpDef& op) {
  const std::size_t count = probed_inputs(op);
  if (count > kMaxProbed) return std::nullopt;
  std::vector<std::size_t> ranks(count, kMaxRank);
  while (true) {
    for (const char* text : {"i,i->", "RIGHT"}) {
      if (auto graph = call_of(op, ranks, text)) return graph;
    }
    std::size_t i = count;
    while (i > 0 && ranks[i - 1] == 0) ranks[--i] = kMaxRank;
    if (i == 0) return std::nullopt;
    --ranks[i - 1];
  }
}

// ---- numerics ----

/// Returns true for operations that are correctly rounded.
bool is_exact(ScalarOp op) {
  using enum ScalarOp;
  switch (op) {
    case exp:
    case log:
    case log1p:
    case expm1:
    case sin:
    case cos:
    case tan:
    case asin:
    case acos:
    case atan:
    case sinh:
    case cosh:
    case tanh:
    case asinh:
    case acosh:
    case atanh:
    case erf:
    case logistic:
    case pow: return false;
    default: return true;
  }
}

Numerics of_tape(const ScalarTape& tape) {
  const bool exact =
      std::ranges::all_of(tape.code, [](const ScalarIns& ins) { return is_exact(ins.op) || !is_float(ins.type); });
  return exact ? Numerics::exact : Numerics::ulp;
}

Numerics of_folds(const Graph& graph, NodeId id) {
  const auto& space = graph.node(id).space;
  if (!space || !is_float(graph.type(graph.node(id).out[0]).elem)) return Numerics::exact;
  const bool sums = std::ranges::any_of(space->folds, [](Fold f) { return f == Fold::sum || f == Fold::prod; });
  return sums ? Numerics::reassociated : of_tape(tape_of(graph, id));
}

Numerics of_node(const Graph& graph, NodeId id) {
  const Form& form = graph.node(id).op->form;
  if (const auto* e = std::get_if<Elementwise>(&form)) return e->body ? of_tape(tape_of(graph, id)) : Numerics::exact;
  if (std::holds_alternative<Contraction>(form)) return of_folds(graph, id);
  return std::holds_alternative<Opaque>(form) ? Numerics::own : Numerics::exact;
}

std::string numerics_of(const OpDef& op) {
  if (std::holds_alternative<View>(op.form)) return "exact";
  if (std::holds_alternative<Region>(op.form)) return "its blocks'";
  if (std::holds_alternative<Opaque>(op.form)) return "own code";
  pass::PassOptions nothing_whole;
  nothing_whole.keep = [](const Graph&, NodeId) { return false; };
  auto call = some_call(op);
  if (!call) return "its parts'";
  std::string note;
  auto parts = pass::expand_composites(*call, nothing_whole, note);
  if (!parts) return "its parts'";
  const Graph& graph = *parts ? **parts : *call;
  Numerics worst = Numerics::exact;
  for (const NodeId n : graph.nodes()) worst = std::max(worst, of_node(graph, n));
  return std::string(name_of(worst));
}

// ---- kernels ----

/// Returns how nodes without a row in the kernel table are executed.
std::string_view otherwise(const OpDef& op) {
  if (std::holds_alternative<View>(op.form)) return "none: a view, or a copy";
  if (std::holds_alternative<Region>(op.form)) return "none: jumps";
  if (std::holds_alternative<Opaque>(op.form)) return "opaque";
  if (std::holds_alternative<Composite>(op.form)) return "its parts'";
  if (std::holds_alternative<Contraction>(op.form)) return frazil::name_of(Kernel::contraction);
  return "reference";
}

std::string kernels_of(const OpDef& op) {
  std::string text;
  const auto add = [&](std::string_view name) { text += (text.empty() ? "" : ", ") + std::string(name); };
  for (const Kernel kernel : hand_kernels(op)) add(frazil::name_of(kernel));
  if (const auto* e = std::get_if<Elementwise>(&op.form)) {
    const auto call = e->body ? some_call(op) : std::nullopt;
    const auto bound = call ? bind(*call, NodeId{0}) : std::nullopt;
    if (bound && bound->kernel() == Kernel::fused) add("tile");
    if (!text.empty()) return text;
  }
  add(otherwise(op));
  return text;
}

}  // namespace

OpFacts facts_of(const api::OperatorInfo& info) {
  const OpDef& op = *OpRegistry::global().find(info.domain, info.name);
  return {kernels_of(op), numerics_of(op)};
}

}  // namespace frazil::tool
