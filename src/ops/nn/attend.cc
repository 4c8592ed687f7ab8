#include "ops/nn/attend.h"

#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/elementwise/nn.h"
#include "ops/index/index.h"
#include "ops/nn/norm.h"
#include "ops/view/view.h"

namespace frazil::ops {
namespace {

/// Returns q [b, g*r, s, d] as [b, g, r, s, d]: r query heads share each of the g heads of k.
Expr grouped_view(CompositeCx& cx, Expr q, Expr k) {
  const Dim groups = k.type().shape[1];
  if (groups.is_const()) return SplitAxis({q}, {.axis = 1, .outer = groups.value()});
  return Reshape({q, join_shape({extent(q, 0), extent(k, 1), int1(cx, -1), extent(q, 2), extent(q, 3)})});
}
Expr ungrouped_view(Expr x) { return MergeAxes({x}, {.axis = 1, .count = 2}); }

Expr both(Expr a, Expr b) { return !a ? b : And(a, b); }

}  // namespace

Expr scaled_query(CompositeCx& cx, Expr q, std::optional<float> scale) {
  const Elem elem = q.type().elem;
  if (scale) return Mul(q, cx.number(elem, *scale));
  const Expr root = Sqrt(as_elem(extent_scalar(q, 3), compute_elem(elem)));
  return Mul(q, as_elem(Reciprocal(root), elem));
}

Expr raw_scores(CompositeCx& cx, const Heads& h, Expr q) {
  const Expr kt = Transpose({h.k}, {.perm = {0, 1, 3, 2}});
  if (!h.grouped) return MatMul(q, kt);
  return ungrouped_view(MatMul(grouped_view(cx, q, h.k), Unsqueeze({kt, cx.ints({2})})));
}

Expr capped_scores(CompositeCx& cx, Expr scores, float softcap) {
  if (!(softcap > 0)) return scores;
  const Expr bound = cx.number(scores.type().elem, softcap);
  return Mul(Tanh(Div(scores, bound)), bound);
}

Expr visible_keys(CompositeCx& cx, const Heads& h, Expr keep, bool causal, Expr first, Expr lengths) {
  if (!causal && !lengths) return keep;
  const Expr key = iota(cx, extent_scalar(h.k, 2));
  if (causal) {
    Expr last = Unsqueeze({iota(cx, extent_scalar(h.q, 2)), cx.ints({1})});
    if (first) last = Add(last, append_unit_axes(cx, first, 3));
    keep = both(keep, LessOrEqual(key, last));
  }
  return lengths ? both(keep, Less(key, append_unit_axes(cx, lengths, 3))) : keep;
}

Expr defined_rows(CompositeCx& cx, Expr p, Expr scores, std::int64_t undefined) {
  const Elem elem = p.type().elem;
  if (undefined == 2) return Where(IsNaN(p), cx.number(elem, 0), p);
  if (undefined == 0) return p;
  const Expr highest = ReduceMax({scores, cx.ints({-1})}, {.keepdims = 1});
  return Where(Equal(highest, cx.number(scores.type().elem, kMinusInfinity)), cx.number(elem, 0), p);
}

Expr weighted_values(CompositeCx& cx, const Heads& h, Expr p) {
  const Expr weights = as_elem(p, h.v.type().elem);
  if (!h.grouped) return MatMul(weights, h.v);
  return ungrouped_view(MatMul(grouped_view(cx, weights, h.v), Unsqueeze({h.v, cx.ints({2})})));
}

void attend_body(CompositeCx& cx) {
  const auto& a = cx.attrs<AttendAttrs>();
  for (std::size_t i = 0; i < 3; ++i) {
    if (cx.rank(i) != 4) return cx.error("input {} must have 4 axes, got {}", i, cx.rank(i));
  }
  if (a.undefined < 0 || a.undefined > 2) return cx.error("undefined must be 0 to 2, got {}", a.undefined);
  for (std::size_t i = 5; i < 7; ++i) {
    if (cx.has(i) && cx.rank(i) != 1) return cx.error("input {} must have 1 axis, got {}", i, cx.rank(i));
  }
  const auto given = [&](std::size_t i) { return cx.has(i) ? cx.in(i) : cx.builder().absent(); };
  Heads h{cx.in(0), cx.in(1), cx.in(2)};
  const Expr batch = extent(h.q, 0), groups = extent(h.k, 1), keys = extent(h.k, 2);
  h.k = fit(h.k, "K", {batch, groups, keys, extent(h.q, 3)});
  h.v = fit(h.v, "V", {batch, groups, keys, extent(h.v, 3)});
  if (!cx.builder().status()) return;
  h.grouped = h.q.type().shape[1] != h.k.type().shape[1];
  const Elem elem = cx.elem(0);
  Expr scores = capped_scores(cx, raw_scores(cx, h, scaled_query(cx, h.q, a.scale)), a.softcap);
  const bool bias_last = cx.has(3) && a.biased_hidden != 0;
  const auto bias = [&] { return Add(scores, fit_broadcast(cx.in(3), "bias", scores)); };
  if (cx.has(3) && !bias_last) scores = bias();
  if (cx.has(4)) scores = Where(fit_broadcast(cx.in(4), "keep", scores), scores, cx.number(elem, a.hidden));
  if (bias_last) scores = bias();
  const Expr keep = visible_keys(cx, h, cx.builder().absent(), a.causal != 0, given(5), given(6));
  if (keep) scores = Where(fit_broadcast(keep, "first or lengths", scores), scores, cx.number(elem, kMinusInfinity));
  const Expr p = defined_rows(cx, Softmax({scores}, {.axis = -1}), scores, a.undefined);
  cx.out(0, Transpose({weighted_values(cx, h, p)}, {.perm = {0, 2, 1, 3}}));
}

void rotate_body(CompositeCx& cx) {
  const Expr x = cx.in(0);
  const std::int64_t rank = static_cast<std::int64_t>(cx.rank(0));
  if (rank < 1) return cx.error("input 'X' must have an axis");
  const Expr size = extent(x, -1), half = Div(size, int1(cx, 2));
  const Expr first = cut(cx, x, rank - 1, int1(cx, 0), half), second = cut(cx, x, rank - 1, half, size);
  const Expr rotated = Concat({Neg(second), first}, {.axis = -1});
  const bool twice = cx.attrs<RotateAttrs>().half_tables != 0;
  const auto table = [&](std::size_t i) { return twice ? Concat({cx.in(i), cx.in(i)}, {.axis = -1}) : cx.in(i); };
  cx.out(0, Add(Mul(x, table(1)), Mul(rotated, table(2))));
}

}  // namespace frazil::ops
