#include "exec/observe/inner_values.h"

#include <algorithm>
#include <cstring>

#include "code/entries.h"
#include "exec/run/operand_shapes.h"
#include "ir/op/op.h"

namespace frazil::exec {
namespace {

/// Returns output `output` of the node with this stable id.
Value output_of(const Graph& graph, std::uint32_t stable, std::uint32_t output) {
  for (const NodeId n : graph.nodes()) {
    const Node& node = graph.node(n);
    if (node.stable == stable && output < node.out.size()) return node.out[output];
  }
  return {};
}

/// Returns all values that the graph has under this name. Unrolling leaves several.
std::vector<Value> values_of(const Graph& graph, const WatchedValue& watched) {
  std::vector<Value> values;
  if (watched.name.empty()) {
    if (const Value v = output_of(graph, watched.node, watched.output)) values.push_back(v);
    return values;
  }
  const auto add = [&](Value v) {
    if (v && graph.value_name(v) == watched.name) values.push_back(v);
  };
  for (std::uint32_t b = 0; b < graph.block_count(); ++b) std::ranges::for_each(graph.block({b}).params, add);
  for (const NodeId n : graph.nodes()) std::ranges::for_each(graph.node(n).out, add);
  for (std::uint32_t v = 0; v < graph.value_count(); ++v) {
    if (graph.constant({v}) != nullptr) add({v});
  }
  return values;
}

/// Returns the result of `to` at the position at which `v` is a result of `from`; an empty Value if it is none.
Value same_result(const Graph& from, Value v, const Graph& to) {
  const auto& results = from.main().results;
  const auto at = std::ranges::find(results, v);
  return at == results.end() ? Value{} : to.main().results[static_cast<std::size_t>(at - results.begin())];
}

/// Returns true for a value in the branch of an If that the graph's types exclude.
bool is_in_other_branch(const Graph& graph, Value v) {
  const auto block = graph.block_of(v);
  for (BlockId b = block.value_or(Graph::kMain); graph.block(b).owner; b = graph.block(b).parent) {
    const Node& owner = graph.node(graph.block(b).owner);
    const auto side = assumed_branch(graph, owner);
    if (side && owner.blocks[*side ? 0 : 1] != b) return true;
  }
  return false;
}

std::string str(const WatchedValue& watched, const Graph& graph) {
  if (!watched.name.empty()) return fmt::format("value '{}'", watched.name);
  const Value v = output_of(graph, watched.node, watched.output);
  const auto node = v ? graph.producer(v) : std::nullopt;
  return fmt::format("output {} of {}", watched.output, node ? graph.describe(*node) : "a node");
}

void write_integer(std::byte* to, std::size_t width, std::int64_t value) {
  if (width == 8) std::memcpy(to, &value, 8);
  const auto narrow = static_cast<std::int32_t>(value);
  if (width == 4) std::memcpy(to, &narrow, 4);
  if (width == 1) *to = static_cast<std::byte>(value);
}

}  // namespace

WatchedValue watched_value(const Names& names, const Graph& graph, Value v) {
  const bool made = graph.producer(v).has_value();
  if (made && !names.is_unique(v)) return {{}, graph.node(*graph.producer(v)).stable, graph.def(v).index};
  return {.name = graph.value_name(v)};
}

Result<WatchedValue> find_value(const Graph& graph, std::string_view name) {
  return find_value(Names(graph), graph, name);
}

Result<WatchedValue> find_value(const Names& names, const Graph& graph, std::string_view name) {
  FRAZIL_TRY(const Value v, names.value(name));
  WatchedValue watched = watched_value(names, graph, v);
  if (!watched.name.empty() || watched.node != kNone) return watched;
  return fail(Code::unsupported, "value '{}' cannot be watched: it is a parameter without a name of its own", name);
}

// ---- while a plan runs ----

InnerValues::InnerValues(RunContext& context, const Executable& executable, const Values& values, Memory& memory)
    : context_(context), executable_(executable), values_(values), memory_(memory) {}

Status InnerValues::begin() {
  const auto wanted = context_.observer == nullptr ? std::span<const WatchedValue>() : context_.observer->watched();
  if (!std::ranges::equal(wanted, watched_)) {
    watched_.assign(wanted.begin(), wanted.end());
    FRAZIL_CHECK(find_all());
  }
  for (const auto& [index, why] : missing_) {
    if (context_.observer->without(index, why)) continue;
    return fail(Code::unsupported, "{}: {}", str(watched_[index], executable_.graph()), why);
  }
  return {};
}

Status InnerValues::find_all() {
  points_.clear();
  missing_.clear();
  has_point_.assign(values_.plan.steps.size(), false);
  if (watched_.empty()) return {};
  if (!finder_) finder_.emplace(values_.plan);
  for (std::size_t i = 0; i < watched_.size(); ++i) FRAZIL_CHECK(find(i));
  for (const auto& [at, list] : points_) has_point_[at] = true;
  return {};
}

Status InnerValues::find(std::size_t index) {
  const Graph &user = executable_.graph(), &graph = *values_.plan.graph;
  const std::vector<Value> given = values_of(user, watched_[index]);
  std::vector<Value> made = values_of(graph, watched_[index]);
  for (std::size_t k = 0; k < given.size() && made.empty(); ++k) {
    if (const Value v = same_result(user, given[k], graph)) made.push_back(v);
  }
  std::string why = "a pass removed it or replaced the node that computed it";
  bool found = std::ranges::any_of(given, [&](Value v) { return is_in_other_branch(user, v); });
  for (std::size_t k = 0; k < made.size(); ++k) {
    auto where = finder_->find(made[k]);
    if (!where) {
      why = where.error().text();
      continue;
    }
    found = true;
    Watch watch{.index = index, .where = *std::move(where), .copy = {}};
    if (made.size() > given.size()) watch.copy = static_cast<std::int64_t>(k);
    if (const auto* cut = std::get_if<InnerValue::Cut>(&watch.where.how)) {
      watch.entry = code::hand_entry(params::Fused{}, cut->kernel, static_cast<std::uint32_t>(cut->in.size()));
    }
    points_[watch.where.at].push_back(std::move(watch));
  }
  if (!found) missing_.emplace_back(index, std::move(why));
  return {};
}

Status InnerValues::show_all(StepIndex at, StepIndex before) {
  const bool begins = at == 0 && before == kNone;
  for (const Watch& watch : points_.at(at)) {
    const bool follows = before != kNone && before >= watch.where.from && before < at;
    if (follows || begins || watch.where.always) FRAZIL_CHECK(show(watch));
  }
  return {};
}

Status InnerValues::show(const Watch& watch) {
  auto value = read(watch);
  if (!value) return within(str(watched_[watch.index], executable_.graph()) + ": ", std::move(value).error());
  if (context_.execution_limits.stopping()) return context_.execution_limits.reason();
  std::vector<std::int64_t> iterations;
  if (watch.copy) iterations.push_back(*watch.copy);
  for (Reg r : watch.where.iterations) iterations.push_back(values_.regs[r]);
  context_.observer->value(watch.index, *value, iterations);
  return {};
}

Result<Datum> InnerValues::read(const Watch& watch) {
  const InnerValue& where = watch.where;
  if (const auto* cut = std::get_if<InnerValue::Cut>(&where.how)) {
    return compute(*cut, values_.plan.graph->type(where.value).elem, *watch.entry);
  }
  if (std::holds_alternative<InnerValue::Known>(where.how)) return known(where.value);
  if (const auto* counter = std::get_if<InnerValue::Counter>(&where.how)) {
    return Datum(Tensor::scalar<std::int64_t>(values_.regs[counter->number]));
  }
  if (std::holds_alternative<InnerValue::Weight>(where.how)) {
    return Datum(values_.plan.graph->constant(where.value)->tensor);
  }
  const SlotId slot = std::get<InnerValue::Stored>(where.how).slot;
  if (values_.plan.storage(slot).device == kHost) return values_.owned(slot);
  FRAZIL_TRY(Tensor copy, memory_.devices().read(slot));
  return Datum(std::move(copy));
}

Result<Datum> InnerValues::known(Value v) const {
  const Graph& graph = *values_.plan.graph;
  const Scope& scope = graph.scope();
  Sizes sizes;
  for (Dim d : graph.type(v).shape) sizes.push_back(d.value());
  FRAZIL_TRY(Tensor made, Tensor::make(graph.type(v).elem, std::move(sizes)));
  const std::size_t width = byte_size(made.elem());
  std::byte* to = made.mutable_data();
  for (Dim d : *graph.known_value(v)) {
    const auto symbols = std::span(values_.regs).first(std::min(values_.regs.size(), scope.symbol_count()));
    write_integer(to, width, eval(scope, d, symbols).value_or(0));  // x / 0 is 0, as in registers
    to += width;
  }
  return Datum(std::move(made));
}

namespace {

/// The operands and results of a kernel that runs outside the plan.
struct SideCall {
  std::vector<Sizes> memory;
  std::vector<code::OperandShape> shapes;
  std::vector<std::byte*> pointers;
  std::vector<code::WeightRef> weights;

  void add(Elem elem, Sizes sizes, Sizes strides, bool contiguous, std::byte* pointer) {
    memory.push_back(std::move(sizes));
    memory.push_back(std::move(strides));
    const auto& dims = memory[memory.size() - 2];
    shapes.push_back({true, elem, dims, memory.back(), contiguous});
    pointers.push_back(pointer);
  }
};

Result<Buffer> zeros(std::size_t bytes) {
  FRAZIL_TRY(Buffer memory, Buffer::allocate(std::max<std::size_t>(bytes, 64)));
  std::memset(memory.data(), 0, memory.size());
  return memory;
}

}  // namespace

/// Runs the kernel on this thread alone. Its units do not depend on the thread that runs them.
Result<Datum> InnerValues::compute(const InnerValue::Cut& cut, Elem elem, const code::KernelEntry& entry) const {
  Sizes domain, sizes;
  for (Reg r : cut.domain) domain.push_back(values_.regs[r]);
  for (Reg r : cut.dims) sizes.push_back(r == kNoReg ? 1 : values_.regs[r]);
  SideCall side;
  side.memory.reserve(2 * (cut.in.size() + 2));  // spans point into it
  for (SlotId s : cut.in) {
    side.weights.push_back(weight_of(values_.plan, s));
    if (!s) {
      side.shapes.emplace_back();
      side.pointers.push_back(nullptr);
      continue;
    }
    const Slot& slot = values_.plan.slot(s);
    Sizes dims;
    values_.sizes_of(slot, dims);
    Sizes strides = values_.strides_of(slot, dims);
    side.add(slot.elem, std::move(dims), std::move(strides), slot.strides.empty(), values_.pointer(s));
  }
  FRAZIL_TRY(Tensor made, Tensor::make(elem, sizes));
  side.add(elem, sizes, contiguous_strides(sizes), true, made.mutable_data());
  Buffer product;
  if (cut.kernel->stores.size() > 1) {
    FRAZIL_TRY(const std::size_t bytes, byte_count(Elem::f32, domain));
    FRAZIL_TRY(product, zeros(bytes));
    side.add(Elem::f32, domain, contiguous_strides(domain), true, product.data());
  }
  const std::span shapes(side.shapes);
  code::Prepare cx{.in = shapes.first(cut.in.size()),
                   .out = shapes.subspan(cut.in.size()),
                   .domain = domain,
                   .weights = side.weights,
                   .packed = executable_.packed()};
  FRAZIL_TRY(const Buffer state, zeros(entry.step.state_bytes));
  auto* const at = const_cast<std::byte*>(state.data());
  FRAZIL_CHECK(entry.step.prepare(cx, entry.step.code.get(), at));
  FRAZIL_TRY(const Buffer scratch, zeros(cx.scratch_bytes));
  if (std::ranges::any_of(cx.out, [](const code::OperandShape& o) { return !o.empty(); })) {
    code::FaultSlot fault;
    const code::Call call{side.pointers.data(), side.pointers.data() + cut.in.size(), entry.step.code.get(), at,
                          &fault};
    entry.run(call, {0, const_cast<std::byte*>(scratch.data())}, 0, cx.units);
    if (!fault.empty()) return std::unexpected(fault.take().error());
  }
  return Datum(std::move(made));
}

// ---- while the reference executor runs ----

void ReferenceValues::begin(const Graph& graph) {
  const auto wanted = observer_.watched();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    for (Value v : values_of(graph, wanted[i])) {
      watched_.emplace(v.id, i);
      if (const Constant* c = graph.constant(v)) observer_.value(i, Datum(c->tensor), {});
    }
  }
}

void ReferenceValues::defined(Value v, const Datum& value, std::span<const std::int64_t> iterations) {
  const auto [begin, end] = watched_.equal_range(v.id);
  for (auto it = begin; it != end; ++it) observer_.value(it->second, value, iterations);
}

}  // namespace frazil::exec
