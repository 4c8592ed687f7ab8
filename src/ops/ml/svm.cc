#include "ops/ml/svm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/thread/poll_throttle.h"
#include "base/value/text.h"
#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/elementwise/nn.h"
#include "ops/index/index.h"
#include "ops/view/view.h"

namespace frazil::ops {

Status square_distance_space(InferCx& cx, Space& space) {
  if (cx.rank(0) != 2 || cx.rank(1) != 2) {
    return cx.error("its inputs must be matrices, got {} and {}", cx.type_str(0), cx.type_str(1));
  }
  FRAZIL_TRY(const Dim features, cx.require_equal(cx.shape(0)[1], cx.shape(1)[1], "columns of 'A' and 'B'"));
  const Ix row = space.parallel(cx.shape(0)[0]), vector = space.parallel(cx.shape(1)[0]);
  const Ix feature = space.reduced(features);
  space.reads = {{row, feature}, {vector, feature}};
  space.write = {0, 1};
  space.folds = {Fold::sum};
  return {};
}

namespace {

// ---- kernels ----

/// The attribute kernel_params: gamma, coef0 and degree.
struct KernelParams {
  float gamma = 0, coef0 = 0, degree = 0;
};

/// Returns the kernel of each row of x [N, F] with each vector [V, F].
std::optional<Expr> kernels(CompositeCx& cx, std::string_view type, const Floats& params, Expr x, Expr vectors) {
  if (!params.empty() && params.size() != 3) {
    cx.error("kernel_params must be gamma, coef0 and degree, got {} numbers", params.size());
    return std::nullopt;
  }
  const KernelParams p = params.empty() ? KernelParams{} : KernelParams{params[0], params[1], params[2]};
  const Elem e = x.type().elem;
  const auto products = [&] { return Gemm({x, vectors}, {.transB = 1}); };
  const auto scaled = [&] { return Add(Mul(products(), cx.number(e, p.gamma)), cx.number(e, p.coef0)); };
  if (type == "LINEAR") return products();
  if (type == "POLY") return Pow(scaled(), cx.number(e, p.degree));
  if (type == "SIGMOID") return Tanh(scaled());
  if (type == "RBF") return Exp(Mul(SquareDistance(x, vectors), cx.number(e, -double{p.gamma})));
  cx.error("kernel_type '{}' is not one of LINEAR, POLY, RBF, SIGMOID", printable(type));
  return std::nullopt;
}

/// The matrix of `count` support vectors, and X with as many columns.
struct Rows {
  Expr x, vectors;
};
std::optional<Rows> support(CompositeCx& cx, const Floats& vectors, std::int64_t count) {
  if (vectors.empty() || static_cast<std::int64_t>(vectors.size()) % count != 0) {
    cx.error("{} numbers cannot be split into {} support vectors", vectors.size(), count);
    return std::nullopt;
  }
  const std::int64_t features = static_cast<std::int64_t>(vectors.size()) / count;
  const Expr x = rows_of(cx, features);
  return Rows{x, numbers(cx, x.type().elem, {count, features}, vectors)};
}

/// Returns X times the coefficients of `count` scores plus rho. rho is one number, or one per score.
std::optional<Expr> linear_kernel_scores(CompositeCx& cx, const Floats& coefficients, const Floats& rho,
                                         std::int64_t count) {
  if (coefficients.empty() || static_cast<std::int64_t>(coefficients.size()) % count != 0) {
    cx.error("{} coefficients cannot be split into rows of {} scores", coefficients.size(), count);
    return std::nullopt;
  }
  if (rho.size() != 1 && static_cast<std::int64_t>(rho.size()) != count) {
    cx.error("rho has {} entries for {} scores", rho.size(), count);
    return std::nullopt;
  }
  const std::int64_t features = static_cast<std::int64_t>(coefficients.size()) / count;
  const Expr x = rows_of(cx, features);
  const Elem e = x.type().elem;
  const Expr products = Gemm({x, numbers(cx, e, {count, features}, coefficients)}, {.transB = 1});
  return Add(products, numbers(cx, e, {static_cast<std::int64_t>(rho.size())}, rho));
}

}  // namespace

// ---- SVMRegressor ----

namespace {

std::optional<Expr> regression(CompositeCx& cx, const SvmRegressorAttrs& a) {
  if (a.n_supports == 0) return linear_kernel_scores(cx, a.coefficients, a.rho, 1);
  const auto count = static_cast<std::int64_t>(a.coefficients.size());
  if (a.n_supports != count || a.rho.size() != 1) {
    cx.error("{} coefficients and {} rho for {} support vectors", count, a.rho.size(), a.n_supports);
    return std::nullopt;
  }
  const auto support_rows = support(cx, a.support_vectors, count);
  if (!support_rows) return std::nullopt;
  const auto all = kernels(cx, a.kernel_type, a.kernel_params, support_rows->x, support_rows->vectors);
  if (!all) return std::nullopt;
  const Elem e = support_rows->x.type().elem;
  return Add(MatMul(*all, numbers(cx, e, {count, 1}, a.coefficients)), cx.number(e, a.rho[0]));
}

}  // namespace

void svm_regressor_body(CompositeCx& cx) {
  const auto& a = cx.attrs<SvmRegressorAttrs>();
  const PostTransform transform = post_transform_of(cx, a.post_transform);
  const auto score = regression(cx, a);
  if (!score) return;
  const Elem e = score->type().elem;
  const Expr y = a.one_class == 0 ? transformed(cx, *score, transform)
                                  : Where(Greater(*score, cx.number(e, 0)), cx.number(e, 1), cx.number(e, -1));
  cx.out(0, as_elem(y, Elem::f32));
}

// ---- SVMClassifier ----

namespace {

bool check_duels(CompositeCx& cx, const SvmClassifierAttrs& a) {
  const std::size_t classes = a.labels().count();
  if (classes < 2 || a.vectors_per_class.size() != classes) {
    cx.error("vectors_per_class has {} entries for {} class labels", a.vectors_per_class.size(), classes);
    return false;
  }
  std::int64_t vectors = 0;
  const auto numbers_given = static_cast<std::int64_t>(a.support_vectors.size());
  for (const std::int64_t n : a.vectors_per_class) {
    if (n < 0 || n > numbers_given - vectors) {
      cx.error("vectors_per_class has {}: there are {} numbers of support vectors", n, numbers_given);
      return false;
    }
    vectors += n;
  }
  const std::size_t duels = classes * (classes - 1) / 2;
  if (a.coefficients.size() != (classes - 1) * static_cast<std::size_t>(vectors)) {
    cx.error("{} coefficients for {} support vectors of {} classes", a.coefficients.size(), vectors, classes);
    return false;
  }
  if (a.rho.size() != duels) {
    cx.error("rho has {} entries for {} pairs of classes", a.rho.size(), duels);
    return false;
  }
  if (a.prob_a.size() != a.prob_b.size() || (!a.prob_a.empty() && a.prob_a.size() != duels)) {
    cx.error("prob_a has {} entries, prob_b {}, for {} pairs of classes", a.prob_a.size(), a.prob_b.size(), duels);
    return false;
  }
  return true;
}

/// Calls f(i, j) for the pairs of classes (0, 1), (0, 2), ... (1, 2), ...
template <class F>
void each_duel(std::int64_t classes, F f) {
  for (std::int64_t i = 0; i < classes; ++i) {
    for (std::int64_t j = i + 1; j < classes; ++j) f(i, j);
  }
}

/// Returns the weighted kernel sum of each class's vectors against each other class: [N, classes * (classes - 1)].
Expr sides(CompositeCx& cx, const SvmClassifierAttrs& a, Expr all) {
  const auto classes = static_cast<std::int64_t>(a.vectors_per_class.size());
  const std::int64_t vectors = std::accumulate(a.vectors_per_class.begin(), a.vectors_per_class.end(), std::int64_t{0});
  const Elem e = all.type().elem;
  const Expr weights = numbers(cx, e, {classes - 1, vectors}, a.coefficients);
  std::vector<Expr> parts;
  std::int64_t from = 0;
  for (const std::int64_t n : a.vectors_per_class) {
    const Expr begin = int1(cx, from), end = int1(cx, from + n);
    parts.push_back(Gemm({cut(cx, all, 1, begin, end), cut(cx, weights, 1, begin, end)}, {.transB = 1}));
    from += n;
  }
  return Concat(std::span<const Expr>(parts), {.axis = 1});
}

/// Returns the score of each pair of classes, positive if the first wins.
Expr duel_scores(CompositeCx& cx, const SvmClassifierAttrs& a, Expr all) {
  const auto classes = static_cast<std::int64_t>(a.vectors_per_class.size());
  std::vector<std::int64_t> first, second;
  each_duel(classes, [&](std::int64_t i, std::int64_t j) {
    first.push_back(i * (classes - 1) + j - 1);
    second.push_back(j * (classes - 1) + i);
  });
  const Expr said = sides(cx, a, all);
  const Expr rho = numbers(cx, all.type().elem, {static_cast<std::int64_t>(a.rho.size())}, a.rho);
  const Expr both = Add(Gather({said, cx.ints(first)}, {.axis = 1}), Gather({said, cx.ints(second)}, {.axis = 1}));
  return Add(both, rho);
}

/// Returns the number of pairs that each class wins: [N, classes].
Expr wins(CompositeCx& cx, Expr scores, std::int64_t classes) {
  const auto duels = classes * (classes - 1) / 2;
  const Expr first = as_elem(Greater(scores, cx.number(scores.type().elem, 0)), Elem::f32);
  const Expr second = Sub(cx.number(Elem::f32, 1), first);
  std::vector<std::int64_t> places(static_cast<std::size_t>(classes * classes), 2 * duels);
  std::int64_t at = 0;
  each_duel(classes, [&](std::int64_t i, std::int64_t j) {
    places[static_cast<std::size_t>(i * classes + j)] = at;
    places[static_cast<std::size_t>(j * classes + i)] = duels + at++;
  });
  const Expr with_nobody = Pad({Concat({first, second}, {.axis = 1}), cx.ints({0, 0, 0, 1})});
  const Expr table = Gather({with_nobody, cx.ints(places)}, {.axis = 1});
  const Expr by_class = SplitAxis({table}, {.axis = 1, .outer = classes});
  return ReduceSum({by_class, cx.ints({2})}, {.keepdims = 0});
}

Expr probabilities(CompositeCx& cx, const SvmClassifierAttrs& a, Expr scores) {
  const auto duels = static_cast<std::int64_t>(a.rho.size());
  const Elem e = scores.type().elem;
  const Expr lines = Add(Mul(scores, numbers(cx, e, {duels}, a.prob_a)), numbers(cx, e, {duels}, a.prob_b));
  const Expr first = as_elem(Sigmoid(Neg(lines)), Elem::f32);
  const Expr held = Min2(Max2(first, cx.number(Elem::f32, 1e-7)), cx.number(Elem::f32, 1 - 1e-7));
  return CoupledProbabilities(held);
}

void give_duels(CompositeCx& cx, const SvmClassifierAttrs& a, PostTransform transform) {
  if (!check_duels(cx, a)) return;
  const std::int64_t vectors = std::accumulate(a.vectors_per_class.begin(), a.vectors_per_class.end(), std::int64_t{0});
  const auto classes = static_cast<std::int64_t>(a.vectors_per_class.size());
  const auto support_rows = support(cx, a.support_vectors, vectors);
  if (!support_rows) return;
  const auto all = kernels(cx, a.kernel_type, a.kernel_params, support_rows->x, support_rows->vectors);
  if (!all) return;
  const Expr scores = duel_scores(cx, a, *all);
  cx.out(0, best_label(cx, wins(cx, scores, classes), a.labels()));
  Expr given = a.prob_a.empty() ? scores : probabilities(cx, a, scores);
  if (a.prob_a.empty() && classes == 2) given = Concat({Neg(scores), scores}, {.axis = 1});
  cx.out(1, as_elem(transformed(cx, given, transform), Elem::f32));
}

}  // namespace

void svm_classifier_body(CompositeCx& cx) {
  const auto& a = cx.attrs<SvmClassifierAttrs>();
  const PostTransform transform = post_transform_of(cx, a.post_transform);
  const ClassLabels labels = a.labels();
  if (!labels.check(cx)) return;
  const bool has_vectors = std::ranges::any_of(a.vectors_per_class, [](std::int64_t n) { return n != 0; });
  if (has_vectors) return give_duels(cx, a, transform);
  if (const auto scores = linear_kernel_scores(cx, a.coefficients, a.rho, static_cast<std::int64_t>(labels.count()))) {
    output_labels(cx, *scores, labels, transform);
  }
}

// ---- CoupledProbabilities ----

namespace {

/// Returns the number of classes that form `duels` pairs, or 0 if no number does.
std::int64_t classes_of(std::int64_t duels) {
  const auto classes = static_cast<std::int64_t>(std::llround((1 + std::sqrt(1 + 8 * static_cast<double>(duels))) / 2));
  return classes * (classes - 1) / 2 == duels ? classes : 0;
}

/// The second method of Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise coupling".
/// p minimises the sum over pairs of (r_ji p_i - r_ij p_j)^2. The solver updates one component at a time.
class Coupling {
 public:
  Coupling(std::int64_t classes, double* memory)
      : n_(static_cast<std::size_t>(classes)), q_(memory), product_(memory + n_ * n_), p_(product_ + n_) {}
  static std::size_t memory(std::int64_t classes) { return static_cast<std::size_t>(classes * (classes + 2)); }

  /// Returns false if the run must stop.
  bool solve(const float* duels, float* out, PollThrottle& throttle) {
    fill(duels);
    std::fill_n(p_, n_, 1.0 / static_cast<double>(n_));
    const double settled = 0.005 / static_cast<double>(n_);
    for (std::size_t round = 0; round < std::max<std::size_t>(100, n_); ++round) {
      if (throttle.stop(static_cast<std::int64_t>(2 * n_ * n_))) return false;
      double total = 0;
      for (std::size_t i = 0; i < n_; ++i) {
        product_[i] = std::inner_product(p_, p_ + n_, q_ + i * n_, 0.0);
        total += p_[i] * product_[i];
      }
      const double worst = std::accumulate(product_, product_ + n_, 0.0,
                                           [&](double w, double v) { return std::max(w, std::abs(v - total)); });
      if (!(worst >= settled)) break;
      for (std::size_t i = 0; i < n_; ++i) total = improve(i, total);
    }
    std::ranges::transform(p_, p_ + n_, out, [](double p) { return static_cast<float>(p); });
    return true;
  }

 private:
  void fill(const float* duels) {
    std::fill_n(q_, n_ * n_, 0.0);
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = i + 1; j < n_; ++j) {
        const double wins = *duels++, loses = 1 - wins;
        q_[i * n_ + i] += loses * loses;
        q_[j * n_ + j] += wins * wins;
        q_[i * n_ + j] = q_[j * n_ + i] = -wins * loses;
      }
    }
  }

  double improve(std::size_t i, double total) {
    const double* row = q_ + i * n_;
    const double step = (total - product_[i]) / row[i];
    p_[i] += step;
    total = (total + step * (step * row[i] + 2 * product_[i])) / ((1 + step) * (1 + step));
    for (std::size_t j = 0; j < n_; ++j) {
      product_[j] = (product_[j] + step * row[j]) / (1 + step);
      p_[j] /= 1 + step;
    }
    return total;
  }

  std::size_t n_;
  double *q_, *product_, *p_;
};

}  // namespace

Status coupled_types(InferCx& cx) {
  if (cx.rank(0) != 2) return cx.error("input 'X' must be [N, pairs], got {}", cx.type_str(0));
  const Dim duels = cx.shape(0)[1];
  if (!duels.is_const()) return cx.unsupported("the number of pairs must be known");
  constexpr std::int64_t kMaximum = std::int64_t{1} << 31;
  if (duels.value() < 1 || duels.value() > kMaximum || classes_of(duels.value()) == 0) {
    return cx.error("{} is not the number of pairs of some classes", duels.value());
  }
  cx.out(0, Type::tensor(Elem::f32, {cx.shape(0)[0], Dim(classes_of(duels.value()))}));
  return {};
}

Status coupled_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  const std::int64_t classes = classes_of(x.sizes[1]);
  FRAZIL_TRY(std::byte * out, call.out(0, std::array{x.sizes[0], classes}));
  FRAZIL_TRY(std::byte * scratch, call.scratch(Coupling::memory(classes) * sizeof(double)));
  Coupling coupling(classes, reinterpret_cast<double*>(scratch));
  PollThrottle throttle;
  for (std::int64_t r = 0; r < x.sizes[0]; ++r) {
    const float* duels = x.as<float>().data() + r * x.sizes[1];
    if (!coupling.solve(duels, reinterpret_cast<float*>(out) + r * classes, throttle)) return {};
  }
  return {};
}

}  // namespace frazil::ops
