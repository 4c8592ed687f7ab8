#include "ops/nn/training.h"

#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"

namespace frazil::ops {
namespace {

/// The tensors of an optimiser step and its shared inputs R and T. There are `kinds` kinds of tensors, such as X, G and
/// H.
class Step {
 public:
  Step(CompositeCx& cx, std::size_t kinds) : cx_(cx), kinds_(kinds) {
    const std::size_t given = cx.input_count() - 2;
    if (given == 0 || given % kinds != 0) cx.error("{} tensors are not a multiple of {}", given, kinds);
    if (cx.output_count() > given / kinds * (kinds - 1))
      cx.error("{} outputs for {} tensors", cx.output_count(), given);
    for (std::size_t i = 0; i < 2; ++i) {
      if (cx.rank(i) > 1) cx.error("input '{}' must have one element", i == 0 ? "R" : "T");
    }
    for (std::size_t i = 0; i < cx.input_count(); ++i) {
      if (!cx.has(i)) cx.error("input {} is missing", i);
    }
  }
  bool ok() const { return cx_.status().has_value() && cx_.builder().status().has_value(); }
  std::size_t count() const { return (cx_.input_count() - 2) / kinds_; }
  Elem elem() const { return cx_.elem(2); }
  Expr number(double x) const { return cx_.number(elem(), x); }
  /// Returns tensor `i` of kind `kind`, which has the extents of X.
  Expr in(std::size_t kind, std::size_t i) const {
    const Expr x = cx_.in(2 + i), v = cx_.in(2 + kind * count() + i);
    return kind == 0 ? v : fit_broadcast(v, "inputs", x);
  }
  void out(std::size_t kind, std::size_t i, Expr v) const {
    if (kind * count() + i < cx_.output_count()) cx_.out(kind * count() + i, v);
  }
  Expr rate() const { return as_elem(cx_.in(0), elem()); }
  Expr steps() const { return as_elem(cx_.in(1), elem()); }
  /// Returns the gradient including that of the penalty coefficient / 2 * X * X.
  Expr gradient(std::size_t i, float coefficient) const { return Add(Mul(number(coefficient), in(0, i)), in(1, i)); }
  /// Returns weight * old + (1 - weight) * now.
  Expr running(Expr old, Expr now, double weight) const {
    return Add(Mul(number(weight), old), Mul(number(1 - weight), now));
  }

 private:
  CompositeCx& cx_;
  std::size_t kinds_;
};

Expr pick_after_first(CompositeCx& cx, Expr later, Expr first) {
  return Where(Greater(cx.in(1), cx.number(Elem::i64, 0)), later, first);
}

}  // namespace

void adagrad_body(CompositeCx& cx) {
  const auto& a = cx.attrs<AdagradAttrs>();
  const Step s(cx, 3);
  if (!s.ok()) return;
  const Expr rate = Div(s.rate(), Add(s.number(1), Mul(s.steps(), s.number(a.decay_factor))));
  for (std::size_t i = 0; i < s.count(); ++i) {
    const Expr g = s.gradient(i, a.norm_coefficient);
    const Expr h = Add(s.in(2, i), Mul(g, g));
    s.out(0, i, Sub(s.in(0, i), Div(Mul(rate, g), Add(Sqrt(h), s.number(a.epsilon)))));
    s.out(1, i, h);
  }
}

void adam_body(CompositeCx& cx) {
  const auto& a = cx.attrs<AdamAttrs>();
  const Step s(cx, 4);
  if (!s.ok()) return;
  const Expr t = s.steps(), one = s.number(1);
  const Expr corrected =
      Div(Mul(s.rate(), Sqrt(Sub(one, Pow(s.number(a.beta), t)))), Sub(one, Pow(s.number(a.alpha), t)));
  const Expr rate = pick_after_first(cx, corrected, s.rate());
  for (std::size_t i = 0; i < s.count(); ++i) {
    const Expr g = s.gradient(i, a.norm_coefficient);
    const Expr v = s.running(s.in(2, i), g, a.alpha), h = s.running(s.in(3, i), Mul(g, g), a.beta);
    const Expr x = Sub(s.in(0, i), Div(Mul(rate, v), Add(Sqrt(h), s.number(a.epsilon))));
    s.out(0, i, Mul(s.number(1 - static_cast<double>(a.norm_coefficient_post)), x));
    s.out(1, i, v);
    s.out(2, i, h);
  }
}

void momentum_body(CompositeCx& cx) {
  const auto& a = cx.attrs<MomentumAttrs>();
  if (a.mode != "standard" && a.mode != "nesterov")
    return cx.error("mode '{}' is neither standard nor nesterov", a.mode);
  const Step s(cx, 3);
  if (!s.ok()) return;
  const Expr beta = pick_after_first(cx, s.number(a.beta), s.number(1)), alpha = s.number(a.alpha);
  for (std::size_t i = 0; i < s.count(); ++i) {
    const Expr g = s.gradient(i, a.norm_coefficient);
    const Expr v = Add(Mul(alpha, s.in(2, i)), Mul(beta, g));
    const Expr direction = a.mode == "nesterov" ? Add(g, Mul(alpha, v)) : v;
    s.out(0, i, Sub(s.in(0, i), Mul(s.rate(), direction)));
    s.out(1, i, v);
  }
}

}  // namespace frazil::ops
