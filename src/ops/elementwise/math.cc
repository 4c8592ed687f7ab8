#include "ops/elementwise/math.h"

#include "ops/core/compose.h"
#include "ops/view/view.h"

namespace frazil::ops {

Sx pow_body(Sx base, Sx exponent) {
  const Elem b = base.type(), e = exponent.type();
  if (b == e) return pow(base, exponent);
  const bool real = is_float(b) || is_float(e);
  const bool single = real && b != Elem::f64 && e != Elem::f64 && is_float(b);
  const Elem common = single ? Elem::f32 : real ? Elem::f64 : Elem::i64;
  return cast(pow(cast(base, common), cast(exponent, common)), b);
}

Sx is_inf_body(Sx x, const IsInfAttrs& a) {
  if (a.detect_negative == 0 && a.detect_positive == 0) return x.rec->constant_int(Elem::boolean, 0);
  if (a.detect_negative == 0) return land(isinf(x), gt(x, 0.0));
  if (a.detect_positive == 0) return land(isinf(x), lt(x, 0.0));
  return isinf(x);
}

namespace {

/// Combines all inputs from left to right.
template <class A>
Expr chain(CompositeCx& cx, const Op<A>& join) {
  Expr all = cx.in(0);
  for (std::size_t i = 1; i < cx.input_count(); ++i) all = join(all, cx.in(i));
  return cx.input_count() == 1 ? Identity(all) : all;
}

/// Returns the sum of all inputs in the compute type.
Expr wide_sum(CompositeCx& cx) {
  const Elem wide = compute_elem(cx.elem(0));
  Expr sum = as_elem(cx.in(0), wide);
  for (std::size_t i = 1; i < cx.input_count(); ++i) sum = Add(sum, as_elem(cx.in(i), wide));
  return sum;
}

bool any_inputs(CompositeCx& cx) {
  for (std::size_t i = 0; i < cx.input_count(); ++i) {
    if (!cx.has(i)) cx.error("input {} is missing", i);
  }
  if (cx.input_count() == 0) cx.error("needs at least one input");
  return static_cast<bool>(cx.status());
}

}  // namespace

void min_body(CompositeCx& cx) {
  if (any_inputs(cx)) cx.out(0, chain(cx, Min2));
}

void max_body(CompositeCx& cx) {
  if (any_inputs(cx)) cx.out(0, chain(cx, Max2));
}

void sum_body(CompositeCx& cx) {
  if (any_inputs(cx)) cx.out(0, as_elem(wide_sum(cx), cx.elem(0)));
}

void mean_body(CompositeCx& cx) {
  if (!any_inputs(cx)) return;
  const Expr count = cx.number(compute_elem(cx.elem(0)), static_cast<double>(cx.input_count()));
  cx.out(0, as_elem(Div(wide_sum(cx), count), cx.elem(0)));
}

void clip_body(CompositeCx& cx) {
  Expr y = cx.in(0);
  if (cx.has(1)) y = Max2(y, cx.in(1));
  if (cx.has(2)) y = Min2(y, cx.in(2));
  cx.out(0, Identity(y));
}

Status bit_shift_check(const void* attrs) {
  const std::string& direction = static_cast<const BitShiftAttrs*>(attrs)->direction;
  if (direction == "LEFT" || direction == "RIGHT") return {};
  return fail(Code::bad_model, "direction '{}' is not one of LEFT, RIGHT", direction);
}

}  // namespace frazil::ops
