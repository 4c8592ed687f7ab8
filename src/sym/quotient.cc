#include <numeric>
#include <optional>

#include "sym/bounds.h"
#include "sym/expressions.h"
#include "sym/interval.h"
#include "sym/saturate.h"

namespace frazil::sym {
namespace {

/// Represents whole + sign * floordiv(n, k), k > 0.
struct Division {
  Poly n;
  std::int64_t k;
  std::int64_t sign = 1;
  Poly whole{};
};

/// Divides expressions in canonical form.
class Divider {
 public:
  explicit Divider(Expressions& expressions) : expressions_(expressions), nodes_(expressions.nodes()) {}

  Dim floordiv(Dim a, Dim b);

 private:
  Dim divide_by_const(Dim a, std::int64_t k);
  void reduce(Division& q) const;
  bool merge_nested(Division& q) const;
  Poly take_multiples(Poly& n, const Poly& d);
  std::optional<Poly> exact_quotient(Poly n, const Poly& d);
  void cancel_common(Poly& n, Poly& d, bool nonzero);
  Factors common_factors(const Poly& n, const Poly& d) const;
  Poly divided_by(const Poly& p, const Factors& f);
  Term leading(const Poly& p) const;
  std::optional<std::int64_t> small_quotient(const Poly& n, const Poly& d) const;
  Dim floordiv_atom(const Poly& n, const Poly& d);

  Expressions& expressions_;
  const Nodes& nodes_;
};

Dim Divider::divide_by_const(Dim a, std::int64_t k) {
  if (k == 0) return 0;
  if (k < 0) return divide_by_const(expressions_.mul(a, -1), -k);
  if (a.is_const()) return floor_div(a.value(), k);
  Division q{poly_of(nodes_, a), k};
  do reduce(q);
  while (merge_nested(q));
  if (q.n.is_const()) return expressions_.intern(q.whole);
  const Bounds b = sym::floordiv(bounds_of(nodes_, q.n), {q.k, q.k});
  if (b.min == b.max && !is_limit(b.min)) {
    q.whole.add_term(kUnit, q.sign * b.min);
    return expressions_.intern(q.whole);
  }
  const Dim rest = floordiv_atom(q.n, Poly(q.k));
  return expressions_.add(expressions_.intern(q.whole), expressions_.mul(rest, q.sign));
}

// Extracts multiples of k. The rest has coefficients below k and 0 <= constant < k. It has no common divisor, and not
// all of its coefficients are negative.
void Divider::reduce(Division& q) const {
  Poly multiple(floor_div(q.n.constant(), q.k));
  for (const Term& t : q.n.terms()) multiple.add_term(t.mono, t.coef / q.k);
  q.n.add(multiple, -q.k);
  q.whole.add(multiple, q.sign);
  if (q.n.is_const()) return;
  const std::int64_t g = std::gcd(q.n.content(), q.k);
  q.n.divide(g);
  q.k /= g;
  if (q.n.has_positive_coef()) return;
  q.n.scale(-1);
  q.n.add_term(kUnit, q.k - 1);
  q.sign = -q.sign;
}

// floordiv(floordiv(x, j) + y, k) is floordiv(x + j*y, j*k).
bool Divider::merge_nested(Division& q) const {
  const Node* inner = nullptr;
  Term inner_term{};
  for (const Term& t : q.n.terms()) {
    const Node& n = nodes_[t.mono];
    if (t.coef != 1 || n.kind != Kind::floordiv || !nodes_.operands(n)[1].is_const()) continue;
    if (inner) return false;
    inner = &n;
    inner_term = t;
  }
  if (!inner) return false;
  const std::int64_t j = nodes_.operands(*inner)[1].value();
  Poly merged = q.n;
  merged.add_term(inner_term.mono, -1);
  merged.scale(j);
  merged.add(poly_of(nodes_, nodes_.operands(*inner)[0]));
  const std::int64_t k = sat_mul(q.k, j);
  if (merged.inexact() || is_limit(k)) return false;
  q.n = merged;
  q.k = k;
  return true;
}

Dim Divider::floordiv(Dim a, Dim b) {
  if (b.is_const()) return divide_by_const(a, b.value());
  if (a == 0) return 0;
  Poly n = poly_of(nodes_, a);
  Poly d = poly_of(nodes_, b);
  if (d.constant() <= 0 && !d.has_positive_coef()) {
    n.scale(-1);
    d.scale(-1);
  }
  const bool nonzero = !contains(bounds_of(nodes_, b), 0);
  if (nonzero) {
    if (const auto q = exact_quotient(n, d)) return expressions_.intern(*q);
  }
  const Poly before = n;
  Dim whole = expressions_.intern(take_multiples(n, d));
  if (n.is_zero()) {  // a division by 0 must be kept
    n = before;
    whole = 0;
  }
  cancel_common(n, d, nonzero);
  if (d.is_const()) return expressions_.add(whole, divide_by_const(expressions_.intern(n), d.constant()));
  if (nonzero) {
    if (const auto q = small_quotient(n, d)) return expressions_.add(whole, *q);
  }
  return expressions_.add(whole, floordiv_atom(n, d));
}

Dim Divider::floordiv_atom(const Poly& n, const Poly& d) {
  const Dim operands[] = {expressions_.intern(n), expressions_.intern(d)};
  return expressions_.intern(Draft{.kind = Kind::floordiv, .operands = operands});
}

/// Returns the greatest term in graded lexicographic order.
Term Divider::leading(const Poly& p) const {
  Term best{kUnit, p.constant()};
  Factors best_factors;
  for (const Term& t : p.terms()) {
    const Factors f = nodes_.factors(t.mono);
    if (f <= best_factors) continue;
    best = {t.mono, t.coef};
    best_factors = f;
  }
  return best;
}

std::optional<Poly> Divider::exact_quotient(Poly n, const Poly& d) {
  constexpr std::size_t kMaxSteps = 2 * Poly::kMaxTerms;
  const auto [d_mono, d_coef] = leading(d);
  Poly q;
  for (std::size_t step = 0; step < kMaxSteps; ++step) {
    if (n.is_zero()) return q;
    const auto [mono, coef] = leading(n);
    const auto f = divide(nodes_.factors(mono), nodes_.factors(d_mono));
    if (!f || coef % d_coef != 0) return std::nullopt;
    const std::uint32_t q_mono = expressions_.monomial(*f);
    q.add_term(q_mono, coef / d_coef);
    expressions_.add_product(n, d, q_mono, -(coef / d_coef));
    if (n.inexact() || q.inexact()) return std::nullopt;
  }
  return std::nullopt;
}

/// Moves multiples of the monomial d from n into the result.
Poly Divider::take_multiples(Poly& n, const Poly& d) {
  Poly multiples;
  if (!d.is_monomial()) return multiples;
  const Poly from = n;
  const Factors by = nodes_.factors(d.terms()[0].mono);
  const std::int64_t d_coef = d.terms()[0].coef;
  for (const Term& t : from.terms()) {
    const auto f = divide(nodes_.factors(t.mono), by);
    if (!f || t.coef / d_coef == 0) continue;
    multiples.add_term(expressions_.monomial(*f), t.coef / d_coef);
    n.add_term(t.mono, -(t.coef / d_coef) * d_coef);
  }
  return multiples;
}

void Divider::cancel_common(Poly& n, Poly& d, bool nonzero) {
  const std::int64_t g = std::gcd(std::gcd(n.content(), n.constant()), std::gcd(d.content(), d.constant()));
  n.divide(g);
  d.divide(g);
  if (!nonzero) return;
  const Factors f = common_factors(n, d);
  if (f.count == 0) return;
  n = divided_by(n, f);
  d = divided_by(d, f);
}

Factors Divider::common_factors(const Poly& n, const Poly& d) const {
  if (n.constant() != 0 || d.constant() != 0) return {};
  Factors f = nodes_.factors(d.terms()[0].mono);
  for (const Poly* p : {&n, &d})
    for (const Term& t : p->terms()) f = common(f, nodes_.factors(t.mono));
  return f;
}

Poly Divider::divided_by(const Poly& p, const Factors& f) {
  Poly r;
  for (const Term& t : p.terms()) r.add_term(expressions_.monomial(*divide(nodes_.factors(t.mono), f)), t.coef);
  return r;
}

/// Returns the quotient if bounds determine it. Requires that d is never 0.
std::optional<std::int64_t> Divider::small_quotient(const Poly& n, const Poly& d) const {
  const Bounds bn = bounds_of(nodes_, n);
  const Bounds bd = bounds_of(nodes_, d);
  const Bounds b = sym::floordiv(bn, bd);
  if (b.min == b.max && !is_limit(b.min)) return b.min;
  if (bd.min <= 0 || (bn.min < 0 && bn.max >= 0)) return std::nullopt;
  const std::int64_t quotient = bn.min >= 0 ? 0 : -1;
  Poly gap = d;  // d - n or d + n
  gap.add(n, quotient == 0 ? -1 : 1);
  if (gap.inexact() || bounds_of(nodes_, gap).min < (quotient == 0 ? 1 : 0)) return std::nullopt;
  return quotient;
}

}  // namespace

Dim Expressions::floordiv(Dim a, Dim b) { return Divider(*this).floordiv(a, b); }

}  // namespace frazil::sym
