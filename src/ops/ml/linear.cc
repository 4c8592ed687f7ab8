#include "ops/ml/linear.h"

#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"

namespace frazil::ops {
namespace {

/// Returns X times the coefficients of `count` scores, plus the intercepts: [N, count].
std::optional<Expr> linear_scores(CompositeCx& cx, const Floats& coefficients, const Floats& intercepts,
                                  std::size_t count) {
  if (count == 0 || coefficients.empty() || coefficients.size() % count != 0) {
    cx.error("{} coefficients cannot be split into rows of {} scores", coefficients.size(), count);
    return std::nullopt;
  }
  if (!intercepts.empty() && intercepts.size() != count) {
    cx.error("{} intercepts for {} scores", intercepts.size(), count);
    return std::nullopt;
  }
  const auto scores = static_cast<std::int64_t>(count);
  const auto features = static_cast<std::int64_t>(coefficients.size() / count);
  const Expr x = rows_of(cx, features);
  const Elem elem = x.type().elem;
  const Expr weights = numbers(cx, elem, {scores, features}, coefficients);
  if (intercepts.empty()) return Gemm({x, weights}, {.transB = 1});
  return Gemm({x, weights, numbers(cx, elem, {scores}, intercepts)}, {.transB = 1});
}

/// Returns the number of scores that a classifier's coefficients produce. Two classes may share one score.
std::size_t score_count(CompositeCx& cx, const LinearClassifierAttrs& a) {
  if (!a.intercepts.empty()) return a.intercepts.size();
  const Shape& shape = cx.type(0).shape;
  const bool single = a.labels().count() == 2 && !shape.empty() &&
                      shape.back() == Dim(static_cast<std::int64_t>(a.coefficients.size()));
  return single ? 1 : a.labels().count();
}

}  // namespace

void linear_classifier_body(CompositeCx& cx) {
  const auto& a = cx.attrs<LinearClassifierAttrs>();
  const ClassLabels labels = a.labels();
  const PostTransform transform = post_transform_of(cx, a.post_transform);
  if (!labels.check(cx)) return;
  const std::size_t count = score_count(cx, a);
  if (count != labels.count() && (count != 1 || labels.count() != 2)) {
    return cx.error("{} class labels for {} scores", labels.count(), count);
  }
  if (const auto scores = linear_scores(cx, a.coefficients, a.intercepts, count)) {
    output_labels(cx, *scores, labels, transform);
  }
}

void linear_regressor_body(CompositeCx& cx) {
  const auto& a = cx.attrs<LinearRegressorAttrs>();
  const PostTransform transform = post_transform_of(cx, a.post_transform);
  if (a.targets < 1) return cx.error("targets {} is not positive", a.targets);
  if (const auto scores = linear_scores(cx, a.coefficients, a.intercepts, static_cast<std::size_t>(a.targets))) {
    cx.out(0, as_elem(transformed(cx, *scores, transform), Elem::f32));
  }
}

}  // namespace frazil::ops
