#include "ops/microsoft/alias.h"

#include "ops/core/bound.h"
#include "ops/core/compose.h"
#include "ops/elementwise/math.h"
#include "ops/ml/svm.h"

namespace frazil::ops::microsoft {
namespace {

/// Returns input i, which has one element, as a scalar.
Expr scalar_input(CompositeCx& cx, std::size_t i) {
  const std::vector<std::int64_t> none;
  return cx.rank(i) == 0 ? cx.in(i) : Reshape({cx.in(i), cx.ints(none)});
}

}  // namespace

void gather_nd_body(CompositeCx& cx) { cx.out(0, ops::GatherND({cx.in(0), as_elem(cx.in(1), Elem::i64)})); }

void pad_body(CompositeCx& cx) {
  const Expr pads = cx.rank(1) == 1 ? cx.in(1) : Reshape({cx.in(1), cx.ints({-1})});
  const Expr value = cx.has(2) ? scalar_input(cx, 2) : cx.builder().absent();
  cx.out(0, ops::Pad({cx.in(0), pads, value}, cx.attrs<PadAttrs>()));
}

void range_body(CompositeCx& cx) {
  const Expr delta = cx.has(2) ? scalar_input(cx, 2) : cx.number(cx.elem(0), 1);
  cx.out(0, ops::Range(scalar_input(cx, 0), scalar_input(cx, 1), delta));
}

void unique_body(CompositeCx& cx) {
  if (!has_rank(cx, 0, 1)) return;
  UniqueAttrs as_they_come;
  as_they_come.sorted = 0;
  const auto y = ops::Unique.call({cx.in(0)}, as_they_come, 4);
  cx.out(0, y[0]);
  if (cx.output_count() > 1) cx.out(1, y[2]);
  if (cx.output_count() > 2) cx.out(2, y[3]);
}

void legacy_grid_body(CompositeCx& cx) {
  const auto& a = cx.attrs<LegacyGridAttrs>();
  if (!has_rank(cx, 0, 4) || !has_rank(cx, 1, 4)) return;
  if (a.mode != "bilinear" && a.mode != "nearest" && a.mode != "bicubic") {
    return cx.error("mode '{}' is not one of bilinear, nearest, bicubic", a.mode);
  }
  GridSampleAttrs grid{a.align_corners, "nearest", a.padding_mode};
  if (a.mode != "nearest") grid.mode = a.mode == "bilinear" ? "linear" : "cubic";
  cx.out(0, ops::GridSample({cx.in(0), cx.in(1)}, grid));
}

namespace {

/// Passes the inputs and requested outputs on to an operator with the same ports.
template <class Op, class A>
void forward_to(CompositeCx& cx, const Op& op, const A& attrs) {
  std::vector<Expr> in;
  for (std::size_t i = 0; i < cx.input_count(); ++i) in.push_back(cx.has(i) ? cx.in(i) : cx.builder().absent());
  const auto out = op.call(in, attrs, cx.output_count());
  for (std::size_t i = 0; i < out.size(); ++i) cx.out(i, out[i]);
}

}  // namespace

void stateful_conv_body(CompositeCx& cx) {
  const auto& a = cx.attrs<StatefulConvAttrs>();
  if (left_out(cx, "channels_last", a.channels_last == 0) && left_out(cx, "dilation", a.dilation == 1) &&
      left_out(cx, "ndim", a.ndim == 1) && left_out(cx, "state_window", a.state_window == 0)) {
    forward_to(cx, ops::CausalConvWithState, static_cast<const CausalConvAttrs&>(a));
  }
}

void fused_linear_body(CompositeCx& cx) {
  const auto& a = cx.attrs<FusedLinearAttrs>();
  if (!left_out(cx, "state_window", a.state_window == 0)) return;
  forward_to(cx, ops::LinearAttention, static_cast<const LinearAttentionAttrs&>(a));
}

void expand_dims_body(CompositeCx& cx) {
  cx.out(0, Unsqueeze({cx.in(0), Reshape({as_elem(cx.in(1), Elem::i64), cx.ints({1})})}));
}

void unfold_tensor_body(CompositeCx& cx) {
  const auto& a = cx.attrs<UnfoldTensorAttrs>();
  const auto rank = static_cast<std::int64_t>(cx.rank(0));
  if (a.dim < -rank || a.dim >= rank) return cx.error("dim {} is outside [{}, {})", a.dim, -rank, rank);
  if (a.size < 1 || a.size >= Dim::kMax) return cx.error("size must be a positive extent, got {}", a.size);
  if (a.step < 1 || a.step >= Dim::kMax) return cx.error("step must be a positive extent, got {}", a.step);
  const auto whole = [&](std::int64_t x) { return cx.number(Elem::i64, static_cast<double>(x)); };
  const std::int64_t axis = a.dim < 0 ? a.dim + rank : a.dim;
  const Expr positions = AtLeast({extent_scalar(cx.in(0), axis)}, {.low = a.size, .name = "the extent of axis dim"});
  const Expr count = Add(Div(Sub(positions, whole(a.size)), whole(a.step)), whole(1));
  const Expr starts = Unsqueeze({Mul(iota(cx, count), whole(a.step)), cx.ints({1})});
  const Expr windows = Gather({cx.in(0), Add(starts, iota(cx, whole(a.size)))}, {.axis = axis});
  Ints perm;
  for (std::int64_t i = 0; i <= rank; ++i) {
    if (i != axis + 1) perm.push_back(i);
  }
  perm.push_back(axis + 1);
  cx.out(0, Transpose({windows}, {.perm = std::move(perm)}));
}

void distance_body(CompositeCx& cx) {
  const std::string& metric = cx.attrs<DistanceAttrs>().metric;
  if (metric != "euclidean" && metric != "sqeuclidean") return cx.unsupported("metric '{}' is not supported", metric);
  if (!has_rank(cx, 0, 2) || !has_rank(cx, 1, 2)) return;
  const Expr square = SquareDistance(cx.in(0), cx.in(1));
  cx.out(0, metric == "euclidean" ? Sqrt(square) : square);
}

}  // namespace frazil::ops::microsoft
