#include "ops/nn/norm.h"

#include "ir/op/axis.h"
#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/view/view.h"
#include "tensor/onnx_proto.h"

namespace frazil::ops {
namespace {

/// Returns x in the type in which statistics are computed.
Expr widened(Expr x) { return as_elem(x, compute_elem(x.type().elem)); }

Expr axes_from(CompositeCx& cx, std::size_t rank, std::int64_t first) {
  std::vector<std::int64_t> axes;
  for (std::int64_t a = first; a < static_cast<std::int64_t>(rank); ++a) axes.push_back(a);
  return cx.ints(axes);
}

/// Returns `axis` as a non-negative number. Reports an error if it is outside the rank.
std::optional<std::int64_t> checked_axis(CompositeCx& cx, std::int64_t axis, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis >= -r && axis < r) return static_cast<std::int64_t>(from_front(axis, rank));
  cx.error("axis {} is outside [{}, {})", axis, -r, r);
  return std::nullopt;
}

/// Two parts of Softmax: x minus its maximum, and the axes.
struct Shifted {
  Expr x, axes;
};
std::optional<Shifted> shifted(CompositeCx& cx) {
  const auto axis = checked_axis(cx, cx.attrs<SoftmaxAttrs>().axis, cx.rank(0));
  if (!axis) return std::nullopt;
  const Expr x = widened(cx.in(0)), axes = cx.ints({*axis});
  return Shifted{Sub(x, ReduceMax({x, axes}, {.keepdims = 1})), axes};
}

struct Standard {
  Expr y, mean, inverse;
};
/// Computes (x - mean) / sqrt(variance + epsilon) over `axes`.
Standard standardize(CompositeCx& cx, Expr x, Expr axes, float epsilon) {
  const Expr mean = ReduceMean({x, axes}, {.keepdims = 1});
  const Expr d = Sub(x, mean);
  const Expr variance = ReduceMean({Mul(d, d), axes}, {.keepdims = 1});
  const Expr inverse = Reciprocal(Sqrt(Add(variance, cx.number(x.type().elem, epsilon))));
  return {Mul(d, inverse), mean, inverse};
}

/// Applies scale[C] and bias[C] along axis 1 of x.
Expr scale_channels(CompositeCx& cx, Expr x, Expr scale, Expr bias) {
  const std::size_t rank = x.type().rank(), behind = rank > 2 ? rank - 2 : 0;
  const Elem elem = x.type().elem;
  const Expr channels = rank > 1 ? extent(x, 1) : int1(cx, 1);
  const Expr factor = as_elem(fit(scale, "scale", {channels}), elem),
             offset = as_elem(fit(bias, "B", {channels}), elem);
  return Add(Mul(x, append_unit_axes(cx, factor, behind)), append_unit_axes(cx, offset, behind));
}

}  // namespace

void softmax_body(CompositeCx& cx) {
  const auto s = shifted(cx);
  if (!s) return;
  const Expr e = Exp(s->x);
  cx.out(0, as_elem(Div(e, ReduceSum({e, s->axes}, {.keepdims = 1})), cx.elem(0)));
}

void log_softmax_body(CompositeCx& cx) {
  const auto s = shifted(cx);
  if (!s) return;
  const Expr total = ReduceSum({Exp(s->x), s->axes}, {.keepdims = 1});
  cx.out(0, as_elem(Sub(s->x, Log(total)), cx.elem(0)));
}

void hardmax_body(CompositeCx& cx) {
  const auto axis = checked_axis(cx, cx.attrs<SoftmaxAttrs>().axis, cx.rank(0));
  if (!axis) return;
  const Expr x = cx.in(0);
  const std::size_t behind = cx.rank(0) - 1 - static_cast<std::size_t>(*axis);
  const Expr position = append_unit_axes(cx, iota(cx, extent_scalar(x, *axis)), behind);
  const Expr best = ArgMax({x}, {.axis = *axis, .keepdims = 1});
  cx.out(0, as_elem(Equal(position, best), cx.elem(0)));
}

namespace {

bool is_float_stash(CompositeCx& cx, Elem stash_type) {
  if (is_float(stash_type)) return true;
  cx.error("stash_type {} is not a float type", name_of(stash_type));
  return false;
}

}  // namespace

void layer_norm_body(CompositeCx& cx) {
  const auto& a = cx.attrs<LayerNormAttrs>();
  const auto axis = checked_axis(cx, a.axis, cx.rank(0));
  if (!axis || !is_float_stash(cx, a.stash_type)) return;
  const Standard s = standardize(cx, widened(cx.in(0)), axes_from(cx, cx.rank(0), *axis), a.epsilon);
  Expr y = Mul(as_elem(s.y, cx.elem(0)), fit_broadcast(cx.in(1), "Scale", cx.in(0)));
  if (cx.has(2)) y = Add(y, fit_broadcast(cx.in(2), "B", cx.in(0)));
  cx.out(0, y);
  if (cx.output_count() > 1) cx.out(1, as_elem(s.mean, a.stash_type));
  if (cx.output_count() > 2) cx.out(2, as_elem(s.inverse, a.stash_type));
}

void rms_norm_body(CompositeCx& cx) {
  const auto& a = cx.attrs<LayerNormAttrs>();
  const auto axis = checked_axis(cx, a.axis, cx.rank(0));
  if (!axis || !is_float_stash(cx, a.stash_type)) return;
  const Expr x = widened(cx.in(0));
  const Expr square = ReduceMean({Mul(x, x), axes_from(cx, cx.rank(0), *axis)}, {.keepdims = 1});
  const Expr y = Mul(x, Reciprocal(Sqrt(Add(square, cx.number(x.type().elem, a.epsilon)))));
  cx.out(0, Mul(as_elem(as_elem(y, cx.elem(0)), cx.elem(1)), fit_broadcast(cx.in(1), "scale", cx.in(0))));
}

namespace {

/// Returns the new running statistic: momentum * old + (1 - momentum) * current.
Expr running(CompositeCx& cx, Expr old, Expr current, float momentum) {
  const Elem elem = current.type().elem;
  const Expr kept = Mul(as_elem(old, elem), cx.number(elem, momentum));
  return as_elem(Add(kept, Mul(current, cx.number(elem, 1.0 - momentum))), old.type().elem);
}

}  // namespace

void batch_norm_body(CompositeCx& cx) {
  const auto& a = cx.attrs<BatchNormAttrs>();
  const Expr x = widened(cx.in(0));
  const std::size_t rank = cx.rank(0), behind = rank > 2 ? rank - 2 : 0;
  const Expr channels = rank > 1 ? extent(x, 1) : int1(cx, 1);
  // Each check takes its extent from the previous one, so that all checks run whatever outputs are requested.
  const Expr given_mean = fit(cx.in(3), "input_mean", {channels});
  const Expr given_variance = fit(cx.in(4), "input_var", {extent(given_mean, 0)});
  const Expr scale = fit(cx.in(1), "scale", {extent(given_variance, 0)});
  Expr mean = as_elem(given_mean, x.type().elem), variance = as_elem(given_variance, x.type().elem);
  if (a.training_mode != 0) {
    std::vector<std::int64_t> axes{0};
    for (std::size_t i = 2; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
    mean = ReduceMean({x, cx.ints(axes)}, {.keepdims = 0});
    const Expr d = Sub(x, append_unit_axes(cx, mean, behind));
    variance = ReduceMean({Mul(d, d), cx.ints(axes)}, {.keepdims = 0});
    if (cx.output_count() > 1) cx.out(1, running(cx, given_mean, mean, a.momentum));
    if (cx.output_count() > 2) cx.out(2, running(cx, given_variance, variance, a.momentum));
  } else if (cx.output_count() > 1) {
    return cx.error("running statistics are outputs of training mode only");
  }
  const Expr inverse = Reciprocal(Sqrt(Add(variance, cx.number(x.type().elem, a.epsilon))));
  const Expr centred = Sub(x, append_unit_axes(cx, mean, behind));
  const Expr y = Mul(centred, append_unit_axes(cx, inverse, behind));
  cx.out(0, as_elem(scale_channels(cx, y, scale, cx.in(2)), cx.elem(0)));
}

void instance_norm_body(CompositeCx& cx) {
  if (cx.rank(0) < 3) return cx.error("input 'input' needs at least 3 axes, got {}", cx.rank(0));
  const float epsilon = cx.attrs<InstanceNormAttrs>().epsilon;
  const Standard s = standardize(cx, widened(cx.in(0)), axes_from(cx, cx.rank(0), 2), epsilon);
  cx.out(0, as_elem(scale_channels(cx, s.y, cx.in(1), cx.in(2)), cx.elem(0)));
}

void group_norm_body(CompositeCx& cx) {
  const auto& a = cx.attrs<GroupNormAttrs>();
  if (cx.rank(0) < 2) return cx.error("input 'X' needs at least 2 axes, got {}", cx.rank(0));
  if (a.num_groups < 1) return cx.error("num_groups {} is not positive", a.num_groups);
  if (!is_float_stash(cx, a.stash_type)) return;
  const Expr x = widened(cx.in(0));
  const Expr grouped = SplitAxis({x}, {.axis = 1, .outer = a.num_groups});
  const Standard s = standardize(cx, grouped, axes_from(cx, cx.rank(0) + 1, 2), a.epsilon);
  const Expr y = as_elem(MergeAxes({s.y}, {.axis = 1, .count = 2}), cx.elem(0));
  cx.out(0, scale_channels(cx, y, cx.in(1), cx.in(2)));
}

void lp_norm_body(CompositeCx& cx) {
  const auto& a = cx.attrs<LpNormAttrs>();
  const auto axis = checked_axis(cx, a.axis, cx.rank(0));
  if (!axis) return;
  if (a.p != 1 && a.p != 2) return cx.error("p must be 1 or 2, got {}", a.p);
  const Expr x = widened(cx.in(0));
  const Expr total = ReduceSum({a.p == 1 ? Abs(x) : Mul(x, x), cx.ints({*axis})}, {.keepdims = 1});
  const Expr norm = a.p == 1 ? total : Sqrt(total);
  const Elem elem = x.type().elem;
  const Expr divisor = Where(Equal(norm, cx.number(elem, 0)), cx.number(elem, 1), norm);
  cx.out(0, as_elem(Div(x, divisor), cx.elem(0)));
}

void mean_variance_body(CompositeCx& cx) {
  const Expr x = widened(cx.in(0)), axes = cx.ints(cx.attrs<MeanVarianceAttrs>().axes);
  const Expr d = Sub(x, ReduceMean({x, axes}, {.keepdims = 1}));
  const Expr deviation = Sqrt(ReduceMean({Mul(d, d), axes}, {.keepdims = 1}));
  cx.out(0, as_elem(Div(d, Add(deviation, cx.number(x.type().elem, 1e-9))), cx.elem(0)));
}

}  // namespace frazil::ops
