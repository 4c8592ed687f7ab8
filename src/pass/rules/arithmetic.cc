#include <algorithm>
#include <array>
#include <cmath>

#include "ops/contraction/contraction.h"
#include "ops/elementwise/math.h"
#include "ops/elementwise/nn.h"
#include "pass/engine/rules.h"

namespace frazil::pass {
namespace {

Expr input(const Site& s, Builder& to, std::size_t i) { return {&to, s.in[i]}; }

// ---- neutral operands ----

template <int Number>
bool left_is(const Site& s) {
  return s.is(0, Number) && s.same_type(1);
}
template <int Number>
bool right_is(const Site& s) {
  return s.is(1, Number) && s.same_type(0);
}

/// Returns the zero for which x + 0 gives x, even for x = -0.
double neutral_zero(const Site& s) { return is_float(s.elem(0)) ? -0.0 : 0.0; }
bool adds_zero_left(const Site& s) { return s.is(0, neutral_zero(s)) && s.same_type(1); }
bool adds_zero_right(const Site& s) { return s.is(1, neutral_zero(s)) && s.same_type(0); }

// ---- repeated operators and inverse pairs ----

bool is_twice(const Site& s) { return s.maker(0, *s.node.op) != nullptr; }
Expr without_both(const Site& s, Builder& to) { return {&to, s.maker(0, *s.node.op)->in[0]}; }

bool adds_negative(const Site& s) { return s.maker(1, ops::Neg) != nullptr; }
Expr subtract(const Site& s, Builder& to) { return ops::Sub(input(s, to, 0), Expr{&to, s.maker(1, ops::Neg)->in[0]}); }
bool adds_to_negative(const Site& s) { return s.maker(0, ops::Neg) != nullptr; }
Expr subtract_from(const Site& s, Builder& to) {
  return ops::Sub(input(s, to, 1), Expr{&to, s.maker(0, ops::Neg)->in[0]});
}
Expr add(const Site& s, Builder& to) { return ops::Add(input(s, to, 0), Expr{&to, s.maker(1, ops::Neg)->in[0]}); }

bool abs_of_neg(const Site& s) { return s.maker(0, ops::Neg) != nullptr; }
Expr abs_of_inner(const Site& s, Builder& to) { return ops::Abs(Expr{&to, s.maker(0, ops::Neg)->in[0]}); }

// ---- division by powers of two ----

/// Returns true if 1 / x is exact and neither is denormal.
bool inverts_exactly(double x, Elem elem) {
  int exponent = 0;
  const int most = elem == Elem::f16 ? 14 : elem == Elem::f64 ? 1022 : 126;
  return std::abs(std::frexp(x, &exponent)) == 0.5 && std::abs(exponent - 1) <= most;
}

constexpr ElemSet kFloats = elems::kFloat;
constexpr std::int64_t kFewElements = 4096;

bool divides_by_powers_of_two(const Site& s) {
  const Tensor* t = s.constant(1);
  if (!t || !contains(kFloats, t->elem()) || t->count() == 0 || t->count() > kFewElements) return false;
  for (std::int64_t i = 0; i < t->count(); ++i) {
    if (!inverts_exactly(t->number_at(i), t->elem())) return false;
  }
  return !s.is(1, 1);
}

template <class T>
Tensor inverses(const Tensor& t) {
  Tensor out = Tensor::make_or_throw(t.elem(), t.sizes());
  for (std::int64_t i = 0; i < t.count(); ++i) {
    out.as_mutable<T>()[static_cast<std::size_t>(i)] = T(1 / t.number_at(i));
  }
  return out;
}

Tensor inverses(const Tensor& t) {
  switch (t.elem()) {
    case Elem::f64: return inverses<double>(t);
    case Elem::f16: return inverses<Half>(t);
    case Elem::bf16: return inverses<BFloat16>(t);
    default: return inverses<float>(t);
  }
}

Expr multiply_by_inverses(const Site& s, Builder& to) {
  return ops::Mul(input(s, to, 0), to.constant(inverses(*s.constant(1))));
}

/// Finds a quotient that is the operand of a function whose relative error does not exceed that of its operand.
const Node* quotient_inside(const Site& s) {
  const Node* div = s.maker(0, ops::Div);
  const Constant* by = div && div->parent == s.block ? s.graph.constant(div->in[1]) : nullptr;
  if (!by || (by->tensor.elem() != Elem::f32 && by->tensor.elem() != Elem::f64)) return nullptr;
  if (by->tensor.count() == 0 || by->tensor.count() > kFewElements || !s.uses.only_user(s.node.in[0])) return nullptr;
  constexpr double kModerate = 1e30;
  for (std::int64_t i = 0; i < by->tensor.count(); ++i) {
    const double c = std::abs(by->tensor.number_at(i));
    if (!(c < kModerate && c > 1 / kModerate)) return nullptr;
  }
  return div;
}
Expr apply_to_product(const Site& s, const Node& div, Builder& to) {
  const Expr x{&to, div.in[0]}, product = ops::Mul(x, to.constant(inverses(s.graph.constant(div.in[1])->tensor)));
  return s.node.op == &ops::Erf ? ops::Erf(product) : ops::Tanh(product);
}

// ---- powers ----

template <int Exponent>
bool power_is(const Site& s) {
  // f16 and bf16 would round between two products; integers saturate in pow and wrap in products.
  const bool plain = s.elem(0) == Elem::f32 || s.elem(0) == Elem::f64;
  return plain && s.is(1, Exponent) && s.same_type(0);
}
bool power_is_one(const Site& s) {
  const bool rounds = s.elem(0) == Elem::i64 && is_float(s.elem(1));  // computed in f64 when the types differ
  return !rounds && s.is(1, 1) && s.same_type(0);
}
Expr square(const Site& s, Builder& to) { return ops::Mul(input(s, to, 0), input(s, to, 0)); }
Expr cube(const Site& s, Builder& to) { return ops::Mul(square(s, to), input(s, to, 0)); }
Expr reciprocal(const Site& s, Builder& to) { return ops::Reciprocal(input(s, to, 0)); }

/// Returns true if no element of v is negative or -0: pow(-0, 1/2) is 0 and pow(-inf, 1/2) is inf, unlike their square
/// roots.
bool is_positive(const Graph& graph, Value v, int depth = 4) {
  const auto id = graph.producer(v);
  if (!id || depth == 0) return false;
  const Node& n = graph.node(*id);
  const auto positive = [&](std::size_t i) { return is_positive(graph, n.in[i], depth - 1); };
  if (n.op == &ops::Abs || n.op == &ops::Exp || n.op == &ops::Sigmoid) return true;
  if (n.op == &ops::Mul) return n.in[0] == n.in[1] || (positive(0) && positive(1));
  if (n.op == &ops::ReduceMean || n.op == &ops::ReduceSum || n.op == &ops::Sqrt) return positive(0);
  if (n.op != &ops::Add) return false;
  const auto counts = [&](std::size_t i) {
    const Constant* c = graph.constant(n.in[i]);
    return c && c->tensor.count() == 1 ? c->tensor.number_at(0) > 0 : positive(i);
  };
  return counts(0) && counts(1);
}

bool is_root(const Site& s) {
  const bool plain = s.elem(0) == Elem::f32 || s.elem(0) == Elem::f64;
  return plain && s.is(1, 0.5) && s.same_type(0) && is_positive(s.graph, s.in[0]);
}
Expr root(const Site& s, Builder& to) { return ops::Sqrt(input(s, to, 0)); }

using N = Numerics;
constexpr Rule kArithmeticRules[] = {
    {"mul_one", kOps<ops::Mul>, "x * 1 -> x", N::exact, when<right_is<1>, keep<0>>},
    {"one_mul", kOps<ops::Mul>, "1 * x -> x", N::exact, when<left_is<1>, keep<1>>},
    {"div_one", kOps<ops::Div>, "x / 1 -> x", N::exact, when<right_is<1>, keep<0>>},
    {"sub_zero", kOps<ops::Sub>, "x - 0 -> x", N::exact, when<right_is<0>, keep<0>>},
    {"add_zero", kOps<ops::Add>, "x + -0 -> x; for integers x + 0", N::exact, when<adds_zero_right, keep<0>>},
    {"zero_add", kOps<ops::Add>, "-0 + x -> x; for integers 0 + x", N::exact, when<adds_zero_left, keep<1>>},
    {"twice_undone", kOps<ops::Neg, ops::BitwiseNot>, "-(-x) -> x, ~~x -> x", N::exact, when<is_twice, without_both>},
    {"twice_is_once", kOps<ops::Abs, ops::Floor, ops::Ceil, ops::Round, ops::Relu, ops::Sign>,
     "f(f(x)) -> f(x) for Abs, Floor, Ceil, Round, Relu, Sign", N::exact, when<is_twice, keep<0>>},
    {"abs_neg", kOps<ops::Abs>, "|-x| -> |x|", N::exact, when<abs_of_neg, abs_of_inner>},
    {"extreme_same", kOps<ops::Min2, ops::Max2>, "min(x, x) -> x, max(x, x) -> x", N::exact,
     when<same_operands, keep<0>>},
    {"add_neg", kOps<ops::Add>, "x + (-y) -> x - y", N::exact, when<adds_negative, subtract>},
    {"neg_add", kOps<ops::Add>, "(-x) + y -> y - x", N::exact, when<adds_to_negative, subtract_from>},
    {"sub_neg", kOps<ops::Sub>, "x - (-y) -> x + y", N::exact, when<adds_negative, add>},
    {"div_power_of_two", kOps<ops::Div>, "x / c -> x * (1 / c), where each 1 / c is exact", N::exact,
     when<divides_by_powers_of_two, multiply_by_inverses>},
    {"inverse_inside", kOps<ops::Erf, ops::Tanh>, "f(x / c) -> f(x * (1 / c))", N::ulp,
     found<quotient_inside, apply_to_product>},
    {"pow_one", kOps<ops::Pow>, "pow(x, 1) -> x", N::exact, when<power_is_one, keep<0>>},
    {"pow_two", kOps<ops::Pow>, "pow(x, 2) -> x * x", N::ulp, when<power_is<2>, square>},
    {"pow_three", kOps<ops::Pow>, "pow(x, 3) -> x * x * x", N::ulp, when<power_is<3>, cube>},
    {"pow_inverse", kOps<ops::Pow>, "pow(x, -1) -> 1 / x", N::ulp, when<power_is<-1>, reciprocal>},
    {"pow_half", kOps<ops::Pow>, "pow(x, 1/2) -> sqrt(x), where x is provably not negative", N::ulp,
     when<is_root, root>},
};

}  // namespace

std::span<const Rule> arithmetic_rules() { return kArithmeticRules; }

}  // namespace frazil::pass
