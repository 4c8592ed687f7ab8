#include "ops/microsoft/activation.h"

#include "ops/core/compose.h"
#include "ops/elementwise/math.h"
#include "ops/view/view.h"

namespace frazil::ops::microsoft {
namespace {

/// Returns x + bias along the last axis, both in compute type.
Expr biased(Expr x, Expr bias, std::string name) {
  return Add(widened(x), widened(fit(bias, std::move(name), {extent(x, -1)})));
}

bool has_axes(CompositeCx& cx) {
  if (cx.rank(0) > 0) return true;
  cx.error("input 0 must have at least 1 axis");
  return false;
}

}  // namespace

void fast_gelu_body(CompositeCx& cx) {
  if (cx.has(1) && !has_axes(cx)) return;
  const Expr x = cx.has(1) ? biased(cx.in(0), cx.in(1), "bias") : cx.in(0);
  cx.out(0, as_elem(ops::Gelu({x}, {.approximate = "tanh"}), cx.elem(0)));
}

void bias_gelu_body(CompositeCx& cx) {
  if (has_axes(cx)) cx.out(0, as_elem(ops::Gelu(biased(cx.in(0), cx.in(1), "B")), cx.elem(0)));
}

void bias_split_gelu_body(CompositeCx& cx) {
  if (!has_axes(cx)) return;
  const Expr x = biased(cx.in(0), cx.in(1), "bias");
  const auto axis = static_cast<std::int64_t>(cx.rank(0)) - 1;
  const Expr halves = SplitAxis({x}, {.axis = axis, .outer = 2});
  cx.out(0, as_elem(Mul(pick(cx, halves, axis, 0), ops::Gelu(pick(cx, halves, axis, 1))), cx.elem(0)));
}

void bias_add_body(CompositeCx& cx) {
  if (!has_axes(cx)) return;
  const Expr skip = widened(fit_broadcast(cx.in(2), "skip", cx.in(0)));
  cx.out(0, as_elem(Add(biased(cx.in(0), cx.in(1), "bias"), skip), cx.elem(0)));
}

}  // namespace frazil::ops::microsoft
