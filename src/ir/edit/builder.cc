#include "ir/edit/builder.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "base/limits/load_scope.h"
#include "ir/infer/inference.h"
#include "ir/infer/known_value.h"

namespace frazil {

const Type& Expr::type() const {
  static const Type none = Type::tensor(Elem::f32);
  return value ? builder->graph_.type(value) : none;
}

Expr Builder::poison(Fault fault) {
  if (status_) status_ = std::unexpected(std::move(fault));
  return absent();
}

Expr Builder::input(std::string_view name, Type type, Tensor default_value) {
  return {this, GraphWriter(graph_).add_input(name, std::move(type), std::move(default_value))};
}

Expr Builder::constant(Tensor tensor, std::string_view name) {
  return {this, GraphWriter(graph_).add_constant(std::move(tensor), name)};
}

Expr Builder::ints(std::span<const std::int64_t> values) {
  return constant(Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

void Builder::output(std::string_view name, Expr value) {
  if (!value) return;
  const GraphWriter write(graph_);
  write.block(Graph::kMain).results.push_back(value.value);
  write->output_names.emplace_back(name);
}

std::vector<Expr> Builder::add(const OpDef& op, std::span<const Expr> inputs, Attrs attrs, std::size_t outputs,
                               std::string_view name) {
  std::vector<Expr> nothing(outputs, absent());
  if (!status_) return nothing;
  std::vector<Value> in;
  for (const Expr& e : inputs) in.push_back(e.value);
  auto node = append(op, std::move(in), std::move(attrs), std::vector<bool>(outputs, true), std::string(name));
  if (!node) {
    poison(std::move(node).error());
    return nothing;
  }
  std::vector<Expr> results;
  for (Value v : graph_.node(*node).out) results.push_back({this, v});
  return results;
}

Dim Builder::dim(std::string_view name, Bounds bounds) { return GraphWriter(graph_)->scope.symbol(name, bounds); }

void Builder::choose(Choices choices) { GraphWriter(graph_)->choices = std::move(choices); }

void Builder::name_value(Value v, std::string_view name) { GraphWriter(graph_).value(v).name = name; }

Builder::Mark Builder::mark() const { return GraphWriter(graph_).mark(block_); }

void Builder::rollback(const Mark& mark) { GraphWriter(graph_).rollback(block_, mark); }

Result<NodeId> Builder::append(const OpDef& op, std::vector<Value> inputs, Attrs attrs, const std::vector<bool>& wanted,
                               std::string name) {
  const GraphWriter write(graph_);
  const Mark before = mark();
  if (std::ranges::find(wanted, true) == wanted.end()) {
    return fail(Code::bad_model, "node '{}' ({}) has no output", name, op.name);
  }
  const NodeId id = write.add_node(op, std::move(inputs), std::move(attrs), block_, std::move(name));
  write.add_results(id, wanted);
  if (Status s = infer_node(graph_, id); !s) {
    rollback(before);
    return std::unexpected(std::move(s).error());
  }
  write.place(id);
  return id;
}

Result<NodeId> Builder::open(const OpDef& op, std::vector<Value> inputs, Attrs attrs,
                             const std::vector<std::size_t>& params, std::string name) {
  FRAZIL_CHECK(check_load());
  const GraphWriter write(graph_);
  const Mark before = mark();
  const NodeId id = write.add_node(op, std::move(inputs), std::move(attrs), block_, std::move(name));
  for (const std::size_t count : params) write.add_body(id, count);
  Status status = check_inputs(graph_, id);
  for (std::size_t k = 0; k < params.size() && status; ++k) status = type_params(graph_, id, k);
  if (!status) {
    rollback(before);
    return std::unexpected(std::move(status).error());
  }
  return id;
}

void Builder::yield(NodeId region, std::size_t index, std::vector<Value> results) {
  GraphWriter(graph_).block(graph_.node(region).blocks[index]).results = std::move(results);
}

Status Builder::close(NodeId region, const std::vector<bool>& wanted) {
  const GraphWriter write(graph_);
  write.add_results(region, wanted);
  FRAZIL_CHECK(infer_region(graph_, region));
  write.place(region);
  return {};
}

namespace {

/// Stores a number. Integers saturate; NaN gives 0.
template <class T>
void store(Tensor& t, double value) {
  if constexpr (std::is_integral_v<T>) {
    constexpr T kMinimum = std::numeric_limits<T>::min(), kMaximum = std::numeric_limits<T>::max();
    const bool low = value <= static_cast<double>(kMinimum), high = value >= static_cast<double>(kMaximum);
    *t.as_mutable<T>().data() = std::isnan(value) ? T{0} : low ? kMinimum : high ? kMaximum : static_cast<T>(value);
  } else {
    *t.as_mutable<T>().data() = T(value);
  }
}

void store_number(Tensor& t, double value) {
  switch (t.elem()) {
    case Elem::f64: return store<double>(t, value);
    case Elem::f32: return store<float>(t, value);
    case Elem::boolean: return store<std::uint8_t>(t, value != 0);
    case Elem::i16: return store<std::int16_t>(t, value);
    case Elem::i32: return store<std::int32_t>(t, value);
    case Elem::i64: return store<std::int64_t>(t, value);
    case Elem::u16: return store<std::uint16_t>(t, value);
    case Elem::u32: return store<std::uint32_t>(t, value);
    case Elem::u64: return store<std::uint64_t>(t, value);
    case Elem::c64: return store<std::complex<float>>(t, value);
    case Elem::c128: return store<std::complex<double>>(t, value);
    case Elem::string: return;
    default: break;
  }
  if (is_unsigned_int(t.elem())) return store<std::uint8_t>(t, value);
  if (is_int(t.elem())) return store<std::int8_t>(t, value);
  const auto f = static_cast<float>(value);
  from_f32(t.elem(), &f, t.mutable_data(), 1);
}

}  // namespace

Expr CompositeCx::number(Elem elem, double value) {
  Tensor t = Tensor::make_or_throw(elem, {});
  store_number(t, value);
  return builder_.constant(std::move(t));
}

void CompositeCx::out(std::size_t i, Expr value) {
  if (results_.size() <= i) results_.resize(i + 1, builder_.absent());
  results_[i] = value;
}

Result<std::vector<Value>> expand(Builder& builder, const OpDef& op, std::span<const Value> inputs, const void* attrs,
                                  std::size_t outputs) {
  std::vector<Expr> in;
  for (Value v : inputs) in.push_back({&builder, v});
  CompositeCx cx(builder, std::move(in), attrs, outputs);
  std::get<Composite>(op.form).body(cx);
  FRAZIL_CHECK(cx.status());
  FRAZIL_CHECK(builder.status());
  std::vector<Value> results;
  for (std::size_t i = 0; i < outputs; ++i) {
    results.push_back(i < cx.results().size() ? cx.results()[i].value : Value{});
  }
  return results;
}

}  // namespace frazil
