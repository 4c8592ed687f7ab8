// Shapes as values, values made from shapes, and composites of views.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/view/view.h"
#include "tensor/onnx_proto.h"

namespace frazil::ops {

// ---- DepthToSpace, SpaceToDepth ----

namespace {

bool is_block_image(CompositeCx& cx, std::int64_t block) {
  if (cx.rank(0) != 4) cx.error("the input must have 4 axes, got {}", cx.rank(0));
  if (block < 1 || block > (1 << 15)) cx.error("blocksize {} is not valid", block);
  return static_cast<bool>(cx.status());
}

/// Reshapes [n, c, h, b, w, b] to [n, c, h * b, w * b].
Expr join_pixels(Expr x) { return MergeAxes({MergeAxes({x}, {.axis = 4})}, {.axis = 2}); }

}  // namespace

void depth_to_space_body(CompositeCx& cx) {
  const auto& a = cx.attrs<DepthToSpaceAttrs>();
  const std::int64_t b = a.blocksize;
  if (!is_block_image(cx, b)) return;
  if (a.mode != "DCR" && a.mode != "CRD") return cx.error("mode '{}' is not one of DCR, CRD", a.mode);
  const bool slow = a.mode == "DCR";
  const SplitAxisAttrs square =
      slow ? SplitAxisAttrs{.axis = 1, .outer = b * b} : SplitAxisAttrs{.axis = 1, .inner = b * b};
  const Expr blocks = SplitAxis({SplitAxis({cx.in(0)}, square)}, {.axis = slow ? 1 : 2, .outer = b});
  const Ints perm = slow ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3};
  cx.out(0, join_pixels(Transpose({blocks}, {.perm = perm})));
}

void space_to_depth_body(CompositeCx& cx) {
  const std::int64_t b = cx.attrs<SpaceToDepthAttrs>().blocksize;
  if (!is_block_image(cx, b)) return;
  const Expr columns = SplitAxis({cx.in(0)}, {.axis = 3, .inner = b});
  const Expr blocks = SplitAxis({columns}, {.axis = 2, .inner = b});
  cx.out(0, MergeAxes({Transpose({blocks}, {.perm = {0, 3, 5, 1, 2, 4}})}, {.axis = 1, .count = 3}));
}

// ---- Shape, Size, ConstantOfShape ----

namespace {

/// Returns the range [first, last) of axes that the attributes of Shape select.
std::pair<std::size_t, std::size_t> shape_range(const ShapeAttrs& a, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  auto held = [&](std::int64_t i) {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(i < 0 ? i + r : i, 0, r));
  };
  const std::size_t first = held(a.start), last = held(a.end.value_or(r));
  return {first, std::max(first, last)};
}

Status put_i64(OpaqueCall& call, std::span<const std::int64_t> sizes, std::span<const std::int64_t> values) {
  FRAZIL_TRY(std::byte* const out, call.out(0, sizes));
  if (!values.empty()) std::memcpy(out, values.data(), values.size_bytes());
  return {};
}

}  // namespace

Status shape_types(InferCx& cx) {
  if (!cx.type(0).ranked) {
    cx.out(0, Type::tensor(Elem::i64, {cx.data_extent(0, 0)}));
    return {};
  }
  const auto [first, last] = shape_range(cx.attrs<ShapeAttrs>(), cx.rank(0));
  const std::span<const Dim> dims = std::span(cx.shape(0)).subspan(first, last - first);
  cx.out(0, Type::tensor(Elem::i64, {Dim(static_cast<std::int64_t>(dims.size()))}));
  cx.out_known_value(0, {dims.begin(), dims.end()});
  return {};
}

Status shape_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  const auto [first, last] = shape_range(call.attrs<ShapeAttrs>(), x.rank());
  const std::array count{static_cast<std::int64_t>(last - first)};
  return put_i64(call, count, x.sizes.subspan(first, last - first));
}

Status size_types(InferCx& cx) {
  cx.out(0, Type::tensor(Elem::i64));
  if (!cx.type(0).ranked) return {};
  const Dim count = product(cx.scope(), cx.shape(0));
  cx.out_known_value(0, {count});
  return {};
}

Status size_run(OpaqueCall& call) {
  const std::array count{call.in(0).count()};
  return put_i64(call, {}, count);
}

void constant_of_shape_body(CompositeCx& cx) {
  const auto& value = cx.attrs<ConstantOfShapeAttrs>().value;
  if (value && value->count() != 1) return cx.error("value must have one element, got {}", value->type_str());
  const Expr element = value ? cx.builder().constant(reshaped(*value, {})) : cx.number(Elem::f32, 0);
  cx.out(0, Expand(element, cx.in(0)));
}

// ---- Range ----

namespace {

/// Returns the number of steps of a range before its limit.
std::int64_t range_count(double start, double limit, double delta) {
  const double steps = std::ceil((limit - start) / delta);
  return steps > 0 ? static_cast<std::int64_t>(std::min(steps, 0x1p60)) : 0;
}

/// Returns whether sums and differences of the number are exact as extents.
bool is_exact(std::int64_t v) { return v > Dim::kMin && v < Dim::kMax; }
constexpr std::string_view kInexact = "start, limit and delta must lie between -2^61 and 2^61";

/// Requires d to be exact. If d depends on data, the node checks it at run time: the extent may not contain d, as in a
/// range from x to x.
Status require_exact(InferCx& cx, Dim d) {
  Scope& s = cx.scope();
  const auto told = [&](SymbolId symbol) { return cx.graph().origin(symbol).has_value(); };
  if (!d.is_const() && std::ranges::none_of(s.symbols_of(d), told)) return {};
  const Dim held = s.max(Dim::kMin + 1, s.min(d, Dim::kMax - 1));
  FRAZIL_CHECK(cx.require_equal(d, held, kInexact));
  return {};
}

/// Returns the extent of a range of i32 or i64 whose step is known, or nullopt if the step is unknown.
Result<std::optional<Dim>> index_range_extent(InferCx& cx) {
  const auto* step = cx.known_value(2);
  if (step == nullptr || step->size() != 1 || !(*step)[0].is_const()) return std::nullopt;
  const Dim delta = (*step)[0];
  if (delta == Dim(0)) return cx.error("delta is 0");
  FRAZIL_TRY(const Dim start, cx.int_scalar(0));
  FRAZIL_TRY(const Dim limit, cx.int_scalar(1));
  for (Dim d : {start, limit, delta}) FRAZIL_CHECK(require_exact(cx, d));
  Scope& s = cx.scope();
  const bool up = delta.value() > 0;
  return s.max(0, ceildiv(s, up ? s.sub(limit, start) : s.sub(start, limit), up ? delta : Dim(-delta.value())));
}

Status index_range_types(InferCx& cx) {
  FRAZIL_TRY(const auto known, index_range_extent(cx));
  const Dim extent = known ? *known : cx.data_extent(0, 0);
  cx.out(0, Type::tensor(cx.elem(0), {extent}));
  if (!known || !extent.is_const() || extent.value() > 1024) return {};
  FRAZIL_TRY(const Dim start, cx.int_scalar(0));
  std::vector<Dim> elements;
  for (std::int64_t i = 0; i < extent.value(); ++i) {
    elements.push_back(cx.scope().add(start, cx.scope().mul((*cx.known_value(2))[0], i)));
  }
  cx.out_known_value(0, std::move(elements));
  return {};
}

template <class T>
double number(const TensorView& x) {
  return static_cast<double>(
      static_cast<std::conditional_t<(sizeof(T) < 4 && !std::is_integral_v<T>), float, T>>(x.as<T>()[0]));
}

Status check_real(double start, double limit, double delta) {
  if (delta != 0 && std::isfinite(limit - start) && !std::isnan(delta)) return {};
  return fail(Code::bad_input, "no range from {} to {} by {}", start, limit, delta);
}

template <class T>
Status real_range(OpaqueCall& call) {
  using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const double start = number<T>(call.in(0)), limit = number<T>(call.in(1)), delta = number<T>(call.in(2));
  FRAZIL_CHECK(check_real(start, limit, delta));
  const std::array count{range_count(start, limit, delta)};
  FRAZIL_TRY(std::byte* const out, call.out(0, count));
  T* y = reinterpret_cast<T*>(out);
  PollThrottle throttle;
  for (std::int64_t i = 0; i < count[0] && !throttle.stop(1); ++i) {
    y[i] = T(static_cast<Real>(start + static_cast<double>(i) * delta));
  }
  return {};
}

template <class T>
Status integer_range(OpaqueCall& call) {
  const std::int64_t start = call.in(0).as<T>()[0], limit = call.in(1).as<T>()[0], delta = call.in(2).as<T>()[0];
  if (delta == 0) return fail(Code::bad_input, "delta is 0");
  if (!is_exact(start) || !is_exact(limit) || !is_exact(delta)) return fail(Code::bad_input, "{}", kInexact);
  const std::int64_t span = delta > 0 ? limit - start : start - limit, step = delta > 0 ? delta : -delta;
  const std::array count{span <= 0 ? 0 : (span - 1) / step + 1};
  FRAZIL_TRY(std::byte* const out, call.out(0, count));
  T* y = reinterpret_cast<T*>(out);
  PollThrottle throttle;
  for (std::int64_t i = 0; i < count[0] && !throttle.stop(1); ++i) y[i] = static_cast<T>(start + i * delta);
  return {};
}

}  // namespace

Status range_types(InferCx& cx) {
  for (std::size_t i = 0; i < 3; ++i) {
    FRAZIL_CHECK(cx.require_equal(product(cx.scope(), cx.shape(i)), 1, "a range's operands have one element"));
  }
  if (contains(elems::kIndex, cx.elem(0))) return index_range_types(cx);
  const Tensor *start = cx.constant(0), *limit = cx.constant(1), *delta = cx.constant(2);
  Dim extent;
  if (start != nullptr && limit != nullptr && delta != nullptr && delta->number_at(0) != 0) {
    const Status s = check_real(start->number_at(0), limit->number_at(0), delta->number_at(0));
    if (!s) return cx.error("{}", s.error().text());
    extent = range_count(start->number_at(0), limit->number_at(0), delta->number_at(0));
  } else {
    extent = cx.data_extent(0, 0);
  }
  cx.out(0, Type::tensor(cx.elem(0), {extent}));
  return {};
}

Status range_run(OpaqueCall& call) {
  switch (call.out_elem(0)) {
    case Elem::i16: return integer_range<std::int16_t>(call);
    case Elem::i32: return integer_range<std::int32_t>(call);
    case Elem::i64: return integer_range<std::int64_t>(call);
    case Elem::f64: return real_range<double>(call);
    case Elem::f16: return real_range<Half>(call);
    case Elem::bf16: return real_range<BFloat16>(call);
    default: return real_range<float>(call);
  }
}

// ---- Trilu, EyeLike ----

namespace {

/// Returns the row numbers, as a column, and the column numbers of the last two axes of x.
std::pair<Expr, Expr> positions(CompositeCx& cx, Expr x) {
  return {Unsqueeze({iota(cx, extent_scalar(x, -2)), cx.ints({1})}), iota(cx, extent_scalar(x, -1))};
}

}  // namespace

void trilu_body(CompositeCx& cx) {
  if (cx.rank(0) < 2) return cx.error("the input must have at least 2 axes, got {}", cx.rank(0));
  const Expr x = cx.in(0);
  const auto [row, column] = positions(cx, x);
  const Expr diagonal = Sub(column, row);  // adding k could overflow
  const Expr k = cx.has(1) ? Reshape({cx.in(1), cx.ints({})}) : cx.number(Elem::i64, 0);
  const bool upper = cx.attrs<TriluAttrs>().upper != 0;
  const Expr kept = upper ? GreaterOrEqual(diagonal, k) : LessOrEqual(diagonal, k);
  cx.out(0, Where(kept, x, cx.number(cx.elem(0), 0)));
}

void eye_like_body(CompositeCx& cx) {
  const auto& a = cx.attrs<EyeLikeAttrs>();
  if (cx.rank(0) != 2) return cx.error("the input must have 2 axes, got {}", cx.rank(0));
  const auto [row, column] = positions(cx, cx.in(0));
  cx.out(0, as_elem(Equal(Sub(column, row), cx.builder().scalar(a.k)), a.dtype.value_or(cx.elem(0))));
}

}  // namespace frazil::ops
