#include "ops/nn/loss.h"

#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/index/index.h"
#include "ops/nn/norm.h"
#include "ops/view/view.h"

namespace frazil::ops {
namespace {

Expr total(Expr x) { return ReduceSum({x}, {.keepdims = 0}); }

/// Returns the extents that the target must have: those of the input without the class axis.
Expr target_shape(CompositeCx& cx) {
  const Expr batch = extent(cx.in(0), 0);
  return cx.rank(0) == 2 ? batch : join_shape({batch, ShapeOf({cx.in(0)}, {.start = 2})});
}

/// Returns the weight of each target, absent if all weights are 1.
Expr target_weights(CompositeCx& cx, Expr target, Expr ignored) {
  const Elem elem = cx.elem(0);
  Expr weights = cx.builder().absent();
  if (cx.has(2)) weights = Gather({fit(cx.in(2), "weight", {extent(cx.in(0), 1)}), target}, {.axis = 0});
  if (!ignored) return weights;
  return Where(ignored, cx.number(elem, 0), weights ? weights : cx.number(elem, 1));
}

}  // namespace

void nll_loss_body(CompositeCx& cx) {
  const auto& a = cx.attrs<LossAttrs>();
  const bool mean = a.reduction == "mean";
  if (!mean && a.reduction != "sum" && a.reduction != "none")
    return cx.error("reduction '{}' is not one of none, sum, mean", a.reduction);
  if (cx.rank(0) < 2) return cx.error("input 'input' must have at least 2 axes, got {}", cx.rank(0));
  Expr target = Fit({cx.in(1), target_shape(cx)}, {.name = "target"});
  Expr ignored = cx.builder().absent();
  if (a.ignore_index) {
    ignored = Equal(target, cx.number(cx.elem(1), static_cast<double>(*a.ignore_index)));
    target = Where(ignored, cx.number(cx.elem(1), 0), target);
  }
  const Expr axis = cx.ints({1});
  const Expr picked = GatherElements({cx.in(0), Unsqueeze({target, axis})}, {.axis = 1});
  const Expr weights = target_weights(cx, target, ignored);
  Expr loss = Neg(Squeeze({picked, axis}));
  if (weights) loss = Mul(loss, weights);
  if (a.reduction == "none") return cx.out(0, loss);
  if (!mean) return cx.out(0, total(loss));
  cx.out(0, weights ? Div(total(loss), total(weights)) : ReduceMean({loss}, {.keepdims = 0}));
}

void cross_entropy_body(CompositeCx& cx) {
  if (cx.rank(0) < 2) return cx.error("input 'scores' must have at least 2 axes, got {}", cx.rank(0));
  const Expr logarithms = LogSoftmax({cx.in(0)}, {.axis = 1});
  const Expr weights = cx.has(2) ? cx.in(2) : cx.builder().absent();
  cx.out(0, NegativeLogLikelihoodLoss({logarithms, cx.in(1), weights}, cx.attrs<LossAttrs>()));
  if (cx.output_count() > 1) cx.out(1, logarithms);
}

}  // namespace frazil::ops
