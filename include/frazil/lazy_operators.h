#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <frazil/lazy.h>

// Operators of lazy arrays under the names of NumPy, and control flow.
namespace frazil::api {

#define FRAZIL_UNARY(name, op)                    \
  inline LazyArray name(Operand x) {              \
    static const Operator operation(op);          \
    return operation({x});                        \
  }
#define FRAZIL_BINARY(name, op)                   \
  inline LazyArray name(Operand x, Operand y) {   \
    static const Operator operation(op);          \
    return operation({x, y});                     \
  }
FRAZIL_UNARY(operator-, "Neg")
FRAZIL_UNARY(abs, "Abs")
FRAZIL_UNARY(exp, "Exp")
FRAZIL_UNARY(log, "Log")
FRAZIL_UNARY(sqrt, "Sqrt")
FRAZIL_UNARY(sin, "Sin")
FRAZIL_UNARY(cos, "Cos")
FRAZIL_UNARY(tanh, "Tanh")
FRAZIL_UNARY(erf, "Erf")
FRAZIL_UNARY(floor, "Floor")
FRAZIL_UNARY(ceil, "Ceil")
FRAZIL_UNARY(sign, "Sign")
FRAZIL_UNARY(sigmoid, "Sigmoid")
FRAZIL_UNARY(relu, "Relu")
FRAZIL_UNARY(gelu, "Gelu")
FRAZIL_UNARY(silu, "Swish")
FRAZIL_UNARY(softplus, "Softplus")
FRAZIL_UNARY(logical_not, "Not")
FRAZIL_BINARY(operator+, "Add")
FRAZIL_BINARY(operator-, "Sub")
FRAZIL_BINARY(operator*, "Mul")
FRAZIL_BINARY(operator/, "Div")
FRAZIL_BINARY(power, "Pow")
FRAZIL_BINARY(matmul, "MatMul")
FRAZIL_BINARY(maximum, "Max")
FRAZIL_BINARY(minimum, "Min")
FRAZIL_BINARY(equal, "Equal")
FRAZIL_BINARY(operator<, "Less")
FRAZIL_BINARY(operator<=, "LessOrEqual")
FRAZIL_BINARY(operator>, "Greater")
FRAZIL_BINARY(operator>=, "GreaterOrEqual")
FRAZIL_BINARY(logical_and, "And")
FRAZIL_BINARY(logical_or, "Or")
#undef FRAZIL_UNARY
#undef FRAZIL_BINARY

inline LazyArray where(Operand condition, Operand x, Operand y) {
  static const Operator operation("Where");
  return operation({condition, x, y});
}
namespace detail {

inline LazyArray ints(const std::vector<std::int64_t>& values) {
  return Array::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, std::span(values));
}

/// Returns an operator with these integer attributes, made once.
template <class... Names>
const Operator& with(std::string_view op, std::size_t outputs, const std::vector<std::int64_t>& values,
                     Names... names) {
  thread_local std::map<std::tuple<std::string_view, std::size_t, std::vector<std::int64_t>>, Operator> known;
  const auto at = known.find(std::tuple(op, outputs, values));
  if (at != known.end()) return at->second;
  Attributes attributes;
  std::size_t next = 0;
  (attributes.emplace_back(names, values[next++]), ...);
  return known.emplace(std::tuple(op, outputs, values), Operator(op, attributes, outputs)).first->second;
}

inline LazyArray reduced(std::string_view op, const Operand& x, const std::vector<std::int64_t>& axes, bool keepdims) {
  const Operator& reduce = with(op, 1, {keepdims ? 1 : 0}, "keepdims");
  if (axes.empty()) return reduce({x});
  const LazyArray over = ints(axes);
  return reduce({x, over});
}

}  // namespace detail

inline LazyArray LazyArray::operator[](std::int64_t index) const {
  if (is_parameter()) return row(*this, index);
  const LazyArray at = detail::literal(index, Dtype::i64);
  return detail::with("Gather", 1, {0}, "axis")({Operand(*this, Line(nullptr, 0)), at});
}

/// Reduces over these axes, or over all axes if there are none.
inline LazyArray sum(Operand x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false) {
  return detail::reduced("ReduceSum", x, axes, keepdims);
}
inline LazyArray mean(Operand x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false) {
  return detail::reduced("ReduceMean", x, axes, keepdims);
}
inline LazyArray max(Operand x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false) {
  return detail::reduced("ReduceMax", x, axes, keepdims);
}
inline LazyArray min(Operand x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false) {
  return detail::reduced("ReduceMin", x, axes, keepdims);
}
inline LazyArray argmax(Operand x, std::int64_t axis = -1) {
  return detail::with("ArgMax", 1, {axis, 0}, "axis", "keepdims")({x});
}
inline LazyArray softmax(Operand x, std::int64_t axis = -1) { return detail::with("Softmax", 1, {axis}, "axis")({x}); }
inline LazyArray concatenate(std::initializer_list<Operand> arrays, std::int64_t axis = 0) {
  return detail::with("Concat", 1, {axis}, "axis")(arrays);
}
inline LazyArray concatenate(std::span<const LazyArray> arrays, std::int64_t axis = 0,
                             Line line = std::source_location::current()) {
  std::vector<Operand> operands;
  for (const LazyArray& array : arrays) operands.emplace_back(array, line);
  return detail::with("Concat", 1, {axis}, "axis")(operands);
}
/// Joins arrays along a new axis.
inline LazyArray stack(std::span<const LazyArray> arrays, std::int64_t axis = 0,
                       Line line = std::source_location::current()) {
  static const Operator unsqueeze("Unsqueeze");
  const LazyArray at = detail::ints({axis});
  std::vector<LazyArray> wider;
  for (const LazyArray& array : arrays) wider.push_back(unsqueeze({Operand(array, line), at}));
  return concatenate(wider, axis, line);
}
/// Splits x into equal parts; the last one is shorter if they are uneven. Throws Code::bad_input for less than one
/// part.
inline std::vector<LazyArray> split(Operand x, std::int64_t parts, std::int64_t axis = 0) {
  if (parts < 1) throw Error(Code::bad_input, "split: expected at least one part, got " + std::to_string(parts));
  const auto count = static_cast<std::size_t>(parts);
  return detail::with("Split", count, {axis, parts}, "axis", "num_outputs").all(std::span(&x, 1));
}
/// Changes the extents. One of `sizes` may be -1.
inline LazyArray reshape(Operand x, const Sizes& sizes) {
  static const Operator operation("Reshape");
  const LazyArray to = detail::ints(sizes);
  return operation({x, to});
}
/// Permutes the axes. An empty list reverses all axes.
inline LazyArray transpose(Operand x, const std::vector<std::int64_t>& axes = {}) {
  thread_local std::map<std::vector<std::int64_t>, Operator> known;
  const Attributes attributes = axes.empty() ? Attributes{} : Attributes{{"perm", axes}};
  return known.try_emplace(axes, "Transpose", attributes).first->second({x});
}
inline LazyArray take(Operand x, Operand indices, std::int64_t axis = 0) {
  return detail::with("Gather", 1, {axis}, "axis")({x, indices});
}
/// Returns elements [begin, end) along an axis.
inline LazyArray slice(Operand x, std::int64_t begin, std::int64_t end, std::int64_t axis = 0) {
  static const Operator operation("Slice");
  const LazyArray from = detail::ints({begin}), to = detail::ints({end}), along = detail::ints({axis});
  return operation({x, from, to, along});
}
inline LazyArray astype(Operand x, Dtype dtype) { return detail::with("Cast", 1, {onnx_number(dtype)}, "to")({x}); }

// ---- control flow ----

using Branch = std::function<Arrays()>;
/// Computes one of two branches. While a function is traced, adds an If with both branches to its graph. Otherwise
/// reads the predicate and calls one branch. Both branches return the same number of arrays.
inline Arrays cond(const LazyArray& predicate, const Branch& then, const Branch& otherwise) {
  if (!then || !otherwise) throw Error(Code::bad_input, "cond: a branch has no code");
  const std::array<detail::Region, 2> sides{[&](const Arrays&) { return then(); },
                                            [&](const Arrays&) { return otherwise(); }};
  if (auto results = detail::region("If", {predicate}, 0, sides, std::nullopt)) return std::move(*results);
  return predicate.item<bool>() ? then() : otherwise();
}

/// Calls `body` on the carried arrays while `condition` holds for them. Returns the last ones. While a function is
/// traced, adds a Loop to its graph.
inline Arrays loop(const std::function<LazyArray(const Arrays&)>& condition,
                   const std::function<Arrays(const Arrays&)>& body, Arrays carried) {
  if (!condition || !body) throw Error(Code::bad_input, "loop: the condition or the body has no code");
  const LazyArray goes_on = condition(carried);
  const std::array<detail::Region, 1> iteration{[&](const Arrays& params) {
    Arrays next = body(Arrays(params.begin() + 2, params.end()));
    next.insert(next.begin(), condition(next));
    return next;
  }};
  Arrays inputs{LazyArray(), goes_on};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  if (auto results = detail::region("Loop", inputs, inputs.size(), iteration, carried.size())) {
    return std::move(*results);
  }
  for (LazyArray again = goes_on; again.item<bool>(); again = condition(carried)) carried = body(carried);
  return carried;
}

}  // namespace frazil::api
