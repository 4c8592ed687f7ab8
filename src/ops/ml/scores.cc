#include "ops/ml/scores.h"

#include <array>

#include "base/value/text.h"
#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/elementwise/nn.h"
#include "ops/index/index.h"
#include "ops/nn/norm.h"
#include "ops/view/view.h"

namespace frazil::ops {

Sx probit(Sx p) {
  const Sx x = p * 2.0 - 1.0;
  const Sx log_term = log((1.0 - x) * (1.0 + x));
  const Sx v = log_term * 0.5 + 2.0 / (3.141592653589793 * 0.147);
  const Sx root = sqrt(sqrt(v * v - log_term * (1 / 0.147)) - v);
  return select(lt(x, 0.0), -root, root) * 1.4142135623730951;
}

PostTransform post_transform_of(CompositeCx& cx, std::string_view name) {
  constexpr std::array<std::string_view, 5> names{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (name == names[i]) return static_cast<PostTransform>(i);
  }
  cx.error("post_transform '{}' is not one of NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT", printable(name));
  return PostTransform::none;
}

namespace {

/// Computes a softmax that keeps zero scores at 0. A row of zeros becomes 1/2.
Expr softmax_zero(CompositeCx& cx, Expr x) {
  const Elem e = x.type().elem;
  const Expr axes = cx.ints({-1});
  const Expr top = ReduceMax({x, axes}, {.keepdims = 1});
  const Expr counts = Greater(Abs(x), cx.number(e, 1e-7));
  const Expr weights = Where(counts, Exp(Sub(x, top)), Mul(x, Exp(Neg(top))));
  const Expr total = ReduceSum({weights, axes}, {.keepdims = 1});
  return Where(Equal(total, cx.number(e, 0)), cx.number(e, 0.5), Div(weights, total));
}

}  // namespace

Expr transformed(CompositeCx& cx, Expr scores, PostTransform transform) {
  switch (transform) {
    case PostTransform::none: return scores;
    case PostTransform::softmax: return Softmax({scores}, {.axis = -1});
    case PostTransform::logistic: return Sigmoid(scores);
    case PostTransform::softmax_zero: return softmax_zero(cx, scores);
    case PostTransform::probit: return Probit(scores);
  }
  return scores;
}

Expr numbers(CompositeCx& cx, Elem elem, Sizes sizes, std::span<const float> values) {
  return as_elem(cx.builder().constant(Tensor::of<float>(std::move(sizes), values)), elem);
}

Expr as_real(Expr x) { return x.type().elem == Elem::f64 ? x : as_elem(x, Elem::f32); }

Expr rows(CompositeCx& cx) {
  const Expr x = as_real(cx.in(0));
  if (cx.rank(0) == 1) return Unsqueeze({x, cx.ints({0})});
  if (cx.rank(0) != 2) cx.error("input 'X' must be [C] or [N, C], it has {} axes", cx.rank(0));
  return x;
}

Expr rows_of(CompositeCx& cx, std::int64_t features) {
  const Expr x = rows(cx);
  return cx.status() ? fit(x, "X", {extent(x, 0), int1(cx, features)}) : x;
}

Expr ClassLabels::tensor(CompositeCx& cx, bool other) const {
  const Sizes sizes{static_cast<std::int64_t>(count() + (other ? 1 : 0))};
  if (are_text()) {
    Strings all = strings;
    if (other) all.emplace_back();
    return cx.builder().constant(Tensor::of<std::string>(sizes, std::span<const std::string>(all)));
  }
  Ints all = integers;
  if (other) all.push_back(0);
  return cx.builder().constant(Tensor::of<std::int64_t>(sizes, std::span<const std::int64_t>(all)));
}

bool ClassLabels::check(CompositeCx& cx) const {
  if (integers.empty() != strings.empty()) return true;
  cx.error("class labels must be given as integers or as strings{}", integers.empty() ? "" : ", not as both");
  return false;
}

Expr best_label(CompositeCx& cx, Expr scores, const ClassLabels& labels) {
  return Gather({labels.tensor(cx), ArgMax({scores}, {.axis = 1, .keepdims = 0})}, {.axis = 0});
}

namespace {

/// Returns the only label if the transformed score selects it, else the label of no class.
Expr only_label(CompositeCx& cx, Expr scores, const ClassLabels& labels, PostTransform transform) {
  const bool is_margin = transform == PostTransform::none || transform == PostTransform::probit;
  const Expr low = cx.number(scores.type().elem, is_margin ? 0 : 0.5);
  const Expr place = as_elem(Less(Squeeze({scores, cx.ints({1})}), low), Elem::i64);
  return Gather({labels.tensor(cx, true), place}, {.axis = 0});
}

}  // namespace

void output_labels(CompositeCx& cx, Expr scores, const ClassLabels& labels, PostTransform transform) {
  if (!scores) return;
  const bool single = scores.type().shape[1] == Dim(1);
  if (single && labels.count() == 2) scores = Concat({Neg(scores), scores}, {.axis = 1});
  const Expr final_scores = transformed(cx, scores, transform);
  cx.out(0, labels.count() == 1 ? only_label(cx, final_scores, labels, transform) : best_label(cx, scores, labels));
  cx.out(1, as_elem(final_scores, Elem::f32));
}

}  // namespace frazil::ops
