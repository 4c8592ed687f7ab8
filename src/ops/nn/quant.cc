#include "ops/nn/quant.h"

#include <cmath>

#include "ir/op/axis.h"
#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/index/index.h"
#include "ops/view/view.h"
#include "tensor/onnx_proto.h"

namespace frazil::ops {
namespace {

bool is_scalar_like(const Type& type) { return type.rank() == 0 || (type.rank() == 1 && type.shape[0] == Dim(1)); }

/// Expands a blocked parameter along `axis`: index i takes the parameter of block i / `block`.
Expr spread_blocks(CompositeCx& cx, Expr parameter, std::int64_t axis, std::int64_t block, const char* name) {
  if (parameter.type().rank() != cx.rank(0)) {
    cx.error("input '{}' has rank {}, but with block_size it has the rank of x, {}", name, parameter.type().rank(),
             cx.rank(0));
    return parameter;
  }
  const Expr size = extent_scalar(cx.in(0), axis), width = cx.number(Elem::i64, static_cast<double>(block));
  const Expr blocks = Div(Add(size, cx.number(Elem::i64, static_cast<double>(block - 1))), width);
  std::vector<Expr> extents;
  for (std::size_t i = 0; i < cx.rank(0); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    extents.push_back(at == axis ? Unsqueeze({blocks, cx.ints({0})}) : extent(cx.in(0), at));
  }
  const Expr checked = Fit({parameter, Concat(std::span<const Expr>(extents), {.axis = 0})}, {.name = name});
  return Gather({checked, Div(iota(cx, size), width)}, {.axis = axis});
}

struct Granularity {
  std::int64_t axis, block;
};

/// Returns the parameter of a whole tensor as a scalar.
Expr whole(CompositeCx& cx, Expr parameter, const char* name) {
  if (parameter.type().rank() == 0) return parameter;
  return Squeeze({fit(parameter, name, {int1(cx, 1)}), cx.ints({0})});
}

/// Returns a scale or zero point in a shape that broadcasts to x.
Expr per_element(CompositeCx& cx, Expr parameter, Granularity by, const char* name) {
  const Type& type = parameter.type();
  const auto rank = static_cast<std::int64_t>(cx.rank(0));
  const auto axis = static_cast<std::int64_t>(from_front(by.axis, cx.rank(0)));
  const bool inside = axis >= 0 && axis < rank;
  const bool usual = by.axis == 1 && rank == 1 && type.rank() == 1 && !type.shape[0].is_const();
  if (by.block == 0 && (is_scalar_like(type) || usual)) return whole(cx, parameter, name);
  if (!inside) {
    cx.error("axis {} is outside [{}, {})", by.axis, -rank, rank);
    return parameter;
  }
  if (by.block < 0) cx.error("block_size {} is negative", by.block);
  if (by.block > 0) return spread_blocks(cx, parameter, axis, by.block, name);
  if (type.rank() != 1) {
    cx.error("input '{}' has rank {}; without block_size it is a scalar or has one axis", name, type.rank());
    return parameter;
  }
  return fit_broadcast(append_unit_axes(cx, parameter, static_cast<std::size_t>(rank - 1 - axis)), name, cx.in(0));
}

std::optional<Elem> allowed_type(CompositeCx& cx, Elem elem, ElemSet allowed, const char* name) {
  if (contains(allowed, elem)) return elem;
  cx.error("{} = {} is not a data type that this operator gives", name, name_of(elem));
  return std::nullopt;
}

/// The range of an integer type of at most 16 bits.
struct Limits {
  double low, high;
};
Limits limits_of(Elem integer) {
  const int bits = bit_width(integer);
  if (is_unsigned_int(integer)) return {0, std::ldexp(1.0, bits) - 1};
  return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
}

}  // namespace

Expr requantized(CompositeCx& cx, Expr x, Expr zero, Elem to) {
  const auto [low, high] = limits_of(to);
  const Expr whole = Round(x), moved = zero ? Add(whole, as_f32(zero)) : whole;
  return as_elem(Min2(Max2(moved, cx.number(Elem::f32, low)), cx.number(Elem::f32, high)), to);
}

Elem quantize_elem(const void* attrs, std::span<const Elem> inputs) {
  const auto& given = static_cast<const QuantizeAttrs*>(attrs)->output_dtype;
  return given.value_or(inputs.size() > 2 ? inputs[2] : Elem::u8);
}

Elem dequantize_elem(const void* attrs, std::span<const Elem> inputs) {
  const auto& given = static_cast<const DequantizeAttrs*>(attrs)->output_dtype;
  return given.value_or(inputs[1] == Elem::f8e8m0 ? Elem::f32 : inputs[1]);
}

void quantize_body(CompositeCx& cx) {
  const auto& a = cx.attrs<QuantizeAttrs>();
  const auto to =
      allowed_type(cx, a.output_dtype.value_or(cx.has(2) ? cx.elem(2) : Elem::u8), kQuantElems, "output_dtype");
  const Elem scale_elem = cx.elem(1) == Elem::i32 ? Elem::f32 : cx.elem(1);
  const auto precision =
      allowed_type(cx, a.precision.value_or(scale_elem), kHalfOrSingle | one(Elem::f64), "precision");
  if (!to || !precision) return;
  if (cx.has(2) && *to != cx.elem(2))
    return cx.error("output_dtype is {}, but y_zero_point is {}", name_of(*to), name_of(cx.elem(2)));
  const Elem divided = *precision == Elem::f8e8m0 ? Elem::f32 : *precision;
  const Granularity by{a.axis, a.block_size};
  const Expr scale = per_element(cx, as_elem(cx.in(1), divided), by, "y_scale");
  const Expr zero = cx.has(2) ? per_element(cx, as_f32(cx.in(2)), by, "y_zero_point") : Expr{};
  if (!cx.status()) return;
  const Expr x = as_f32(Div(as_elem(cx.in(0), divided), scale));
  if (is_int(*to)) return cx.out(0, requantized(cx, x, zero, *to));
  cx.out(0, Cast({zero ? Add(x, zero) : x}, {.to = *to, .saturate = a.saturate}));
}

void dequantize_body(CompositeCx& cx) {
  const auto& a = cx.attrs<DequantizeAttrs>();
  const Elem otherwise = cx.elem(1) == Elem::f8e8m0 ? Elem::f32 : cx.elem(1);
  const auto to = allowed_type(cx, a.output_dtype.value_or(otherwise), kHalfOrSingle, "output_dtype");
  if (!to) return;
  const Granularity by{a.axis, a.block_size};
  const Expr scale = per_element(cx, as_f32(cx.in(1)), by, "x_scale");
  const Expr x =
      cx.has(2) ? Sub(as_f32(cx.in(0)), per_element(cx, as_f32(cx.in(2)), by, "x_zero_point")) : as_f32(cx.in(0));
  if (cx.status()) cx.out(0, as_elem(Mul(x, scale), *to));
}

void dynamic_quantize_body(CompositeCx& cx) {
  const Expr x = cx.in(0), zero = cx.number(Elem::f32, 0), steps = cx.number(Elem::f32, 255);
  const Expr low = Min2(ReduceMin({x}, {.keepdims = 0}), zero), high = Max2(ReduceMax({x}, {.keepdims = 0}), zero);
  const Expr width = Div(Sub(high, low), steps);
  const Expr scale = Where(Equal(width, zero), cx.number(Elem::f32, 1), width);
  const Expr point = Round(Clip(Div(Sub(zero, low), scale), zero, steps));
  const Expr zero_point = as_elem(point, Elem::u8);
  cx.out(0, QuantizeLinear({x, scale, zero_point}));
  cx.out(1, scale);
  cx.out(2, zero_point);
}

}  // namespace frazil::ops
