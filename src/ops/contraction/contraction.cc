#include "ops/contraction/contraction.h"

#include <algorithm>

#include "ops/contraction/window.h"
#include "ops/core/compose.h"
#include "ops/core/rules.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/nn/quant.h"
#include "ops/view/view.h"

namespace frazil::ops {
namespace {

/// Returns the index of an operand's axis `dim` at `at`, an index into the extent `out` that the axis broadcasts to.
Ix broadcast_index(Scope& scope, Dim dim, Dim out, Ix at) {
  const Dim step = broadcast_step(scope, dim, out);
  if (step == Dim(0)) return {};
  at.terms[0].second = step;
  return at;
}

}  // namespace

Status matmul_space(InferCx& cx, Space& space) {
  const auto &a = cx.shape(0), &b = cx.shape(1);
  if (a.empty() || b.empty()) return cx.error("operands need at least 1 axis: {}, {}", cx.type_str(0), cx.type_str(1));
  const std::size_t batch_a = a.size() > 2 ? a.size() - 2 : 0, batch_b = b.size() > 2 ? b.size() - 2 : 0;
  const std::size_t batch = std::max(batch_a, batch_b);
  space.reads.resize(2);
  for (std::size_t i = 0; i < batch; ++i) {
    const bool in_a = i + batch_a >= batch, in_b = i + batch_b >= batch;
    const Dim da = in_a ? a[i + batch_a - batch] : Dim(1), db = in_b ? b[i + batch_b - batch] : Dim(1);
    FRAZIL_TRY(const Dim out, broadcast_dim(cx, da, db));
    const Ix at = space.parallel(out);
    if (in_a) space.reads[0].push_back(broadcast_index(cx.scope(), da, out, at));
    if (in_b) space.reads[1].push_back(broadcast_index(cx.scope(), db, out, at));
  }
  std::optional<Ix> m, n;
  if (a.size() > 1) m = space.parallel(a[a.size() - 2]);
  if (b.size() > 1) n = space.parallel(b.back());
  for (int axis = 0; axis < static_cast<int>(space.axes.size()); ++axis) space.write.push_back(axis);
  FRAZIL_TRY(const Dim inner, cx.require_equal(a.back(), b.size() > 1 ? b[b.size() - 2] : b[0], "inner extents"));
  const Ix k = space.reduced(inner);
  if (m) space.reads[0].push_back(*m);
  space.reads[0].push_back(k);
  space.reads[1].push_back(k);
  if (n) space.reads[1].push_back(*n);
  space.folds = {Fold::sum};
  return {};
}

void gemm_body(CompositeCx& cx) {
  const auto& g = cx.attrs<GemmAttrs>();
  if (cx.rank(0) != 2 || cx.rank(1) != 2)
    return cx.error("A and B must be matrices, got {} and {} axes", cx.rank(0), cx.rank(1));
  const Elem elem = cx.elem(0), wide = compute_elem(elem);
  const bool plain = g.alpha == 1 && !cx.has(2);
  Expr a = plain ? cx.in(0) : as_elem(cx.in(0), wide), b = plain ? cx.in(1) : as_elem(cx.in(1), wide);
  if (g.transA != 0) a = Transpose({a}, {.perm = {1, 0}});
  if (g.transB != 0) b = Transpose({b}, {.perm = {1, 0}});
  Expr y = MatMul(a, b);
  if (g.alpha != 1) y = Mul(y, cx.number(wide, g.alpha));
  if (cx.has(2) && g.beta != 0) {
    const Expr c = as_elem(fit_broadcast(cx.in(2), "C", y), wide);
    y = Add(y, g.beta != 1 ? Mul(c, cx.number(wide, g.beta)) : c);
  }
  cx.out(0, plain ? y : as_elem(y, elem));
}

// ---- integer products ----

namespace {

/// Returns a parameter of a matrix's rows as a column, if there is one per row.
Expr per_row(CompositeCx& cx, Expr parameter) {
  return parameter.type().rank() == 1 ? append_unit_axes(cx, parameter, 1) : parameter;
}

/// Returns input `i` minus its zero point, as i32. `shape_zero` reshapes the zero point to fit the input.
template <class F>
Expr centred(CompositeCx& cx, std::size_t i, std::size_t zero, F shape_zero) {
  const Expr x = as_elem(cx.in(i), Elem::i32);
  return cx.has(zero) ? Sub(x, as_elem(shape_zero(cx.in(zero)), Elem::i32)) : x;
}

/// Returns (a * b) / y: the scale of the integer product relative to the scale of the result.
Expr unit_ratio(Expr a, Expr b, Expr y) { return Div(Mul(as_f32(a), as_f32(b)), as_f32(y)); }

}  // namespace

void matmul_integer_body(CompositeCx& cx) {
  const Expr a = centred(cx, 0, 2, [&](Expr z) { return cx.rank(0) > 1 ? per_row(cx, z) : z; });
  const Expr b = centred(cx, 1, 3, [](Expr z) { return z; });
  cx.out(0, MatMul(a, b));
}

void qlinear_matmul_body(CompositeCx& cx) {
  const Expr sum = MatMulInteger(cx.in(0), cx.in(3), cx.in(2), cx.in(5));
  auto rows = [&](std::size_t i) { return cx.rank(0) > 1 ? per_row(cx, cx.in(i)) : cx.in(i); };
  const Expr y = Mul(as_f32(sum), unit_ratio(rows(1), cx.in(4), rows(6)));
  cx.out(0, requantized(cx, y, rows(7), cx.elem(7)));
}

void conv_integer_body(CompositeCx& cx) {
  const std::size_t behind = cx.rank(1) > 0 ? cx.rank(1) - 1 : 0;
  const Expr x = centred(cx, 0, 2, [](Expr z) { return z; });
  const Expr w = centred(cx, 1, 3, [&](Expr z) { return z.type().rank() == 1 ? append_unit_axes(cx, z, behind) : z; });
  cx.out(0, conv_products(cx, x, w, cx.attrs<ConvAttrs>()));
}

void qlinear_conv_body(CompositeCx& cx) {
  const std::size_t behind = cx.rank(0) > 2 ? cx.rank(0) - 2 : 0;
  auto per_channel = [&](Expr e) { return e.type().rank() == 1 ? append_unit_axes(cx, e, behind) : e; };
  Expr sum = ConvInteger({cx.in(0), cx.in(3), cx.in(2), cx.in(5)}, cx.attrs<ConvAttrs>());
  if (cx.has(8)) sum = Add(sum, per_channel(fit(cx.in(8), "B", {extent(sum, 1)})));
  const Expr y = Mul(as_f32(sum), unit_ratio(cx.in(1), per_channel(cx.in(4)), cx.in(6)));
  cx.out(0, requantized(cx, y, cx.in(7), cx.elem(7)));
}

}  // namespace frazil::ops
