#include "sym/bounds.h"

#include <algorithm>
#include <numeric>

#include "sym/interval.h"
#include "sym/saturate.h"

namespace frazil::sym {
namespace {

constexpr int kQuotientRounds = 8;
constexpr int kExtremumDepth = 2;
constexpr std::size_t kMaxExtremumOperands = 17;

/// An expression `p` that bounds `scale` times the original from one side.
struct Relaxation {
  Poly p;
  bool from_below;
  std::int64_t scale = 1;
};

/// Finds bounds of polynomials.
class BoundsFinder {
 public:
  explicit BoundsFinder(const Nodes& nodes) : nodes_(nodes) {}

  Bounds find(const Poly& p) const;

 private:
  Bounds interval(const Poly& p) const;
  Bounds without_quotients(const Poly& p) const;
  std::optional<Dim> last_quotient(const Poly& p, std::optional<Dim> before) const;
  std::optional<Poly> product_within(const Poly& within, const Poly& p, Dim atom) const;
  bool eliminate(Dim quotient, Relaxation& r) const;
  Poly extreme_remainder(Dim d, bool greatest) const;
  void tighten(Bounds& best, const Relaxation& r) const;
  Term leading_of(const Poly& p) const;
  Bounds without_extrema(const Poly& p, int depth) const;
  std::size_t extremum_operands(const Poly& p) const;
  Bounds with_operand(const Poly& p, const Term& extremum, Dim operand, int depth) const;

  const Nodes& nodes_;
};

Bounds BoundsFinder::interval(const Poly& p) const {
  Bounds b{p.constant(), p.constant()};
  for (const Term& t : p.terms()) b = sym::add(b, scale(nodes_[t.mono].bounds, t.coef));
  return b;
}

Bounds BoundsFinder::find(const Poly& p) const {
  if (p.is_const() || (p.terms().size() == 1 && nodes_.degree(p.terms()[0].mono) == 1)) return interval(p);
  return without_extrema(p, kExtremumDepth);
}

// A quotient x = floordiv(n, d) satisfies d*x = n - r with r in a known range. Substituting n and the worst r finds
// bounds that interval arithmetic misses, as in n - 8*floordiv(n, 8) or floordiv(2*n + 1, 2) - n.
Bounds BoundsFinder::without_quotients(const Poly& p) const {
  Bounds best = interval(p);
  if (!last_quotient(p, std::nullopt)) return best;
  for (bool from_below : {true, false}) {
    Relaxation r{p, from_below};
    auto quotient = last_quotient(p, std::nullopt);
    for (int round = 0; quotient && round < kQuotientRounds; ++round) {
      if (eliminate(*quotient, r)) tighten(best, r);
      if (r.p.inexact() || is_limit(r.scale)) break;
      quotient = last_quotient(r.p, quotient);
    }
  }
  return best;
}

void BoundsFinder::tighten(Bounds& best, const Relaxation& r) const {
  if (r.p.inexact() || is_limit(r.scale)) return;
  const Bounds b = divide_inward(interval(r.p), r.scale);
  if (r.from_below)
    best.min = std::max(best.min, b.min);
  else
    best.max = std::min(best.max, b.max);
}

std::optional<Dim> BoundsFinder::last_quotient(const Poly& p, std::optional<Dim> before) const {
  std::optional<Dim> last;
  for (const Term& t : p.terms()) {
    const Factors f = nodes_.factors(t.mono);
    for (Dim atom : f.view()) {
      if (!is_kind(nodes_, atom, Kind::floordiv) || (before && !nodes_.before(atom, *before))) continue;
      if (!last || nodes_.before(*last, atom)) last = atom;
    }
  }
  return last;
}

// Returns p * atom if all its terms occur in `within`; nullopt otherwise.
std::optional<Poly> BoundsFinder::product_within(const Poly& within, const Poly& p, Dim atom) const {
  Poly r;
  r.add_term(index_of(atom), p.constant());
  for (const Term& t : p.terms()) {
    const auto f = multiply(nodes_.factors(t.mono), nodes_.factors(index_of(atom)));
    const auto mono = f ? nodes_.find_monomial(*f) : std::nullopt;
    if (!mono) return std::nullopt;
    r.add_term(*mono, t.coef);
  }
  for (const Term& t : r.terms())
    if (within.coef(t.mono) == 0) return std::nullopt;
  return r;
}

// Returns the smallest or greatest value of n - d*floordiv(n, d).
Poly BoundsFinder::extreme_remainder(Dim d, bool greatest) const {
  const Bounds b = bounds_of(nodes_, d);
  if (b.min <= 0 && b.max >= 0) return Poly(greatest ? remainder(b).max : remainder(b).min);
  if ((b.min > 0) != greatest) return Poly(0);
  Poly r = poly_of(nodes_, d);
  r.add_term(kUnit, greatest ? -1 : 1);
  return r;
}

Term BoundsFinder::leading_of(const Poly& p) const {
  return *std::ranges::min_element(
      p.terms(), [&](const Term& a, const Term& b) { return nodes_.before(nodes_.dim(a.mono), nodes_.dim(b.mono)); });
}

bool BoundsFinder::eliminate(Dim quotient, Relaxation& r) const {
  const auto operands = nodes_.operands(nodes_[quotient]);
  const auto multiple = product_within(r.p, poly_of(nodes_, operands[1]), quotient);
  if (!multiple) return false;
  const Term lead = leading_of(*multiple);
  const std::int64_t coef = r.p.coef(lead.mono);
  const std::int64_t up = std::abs(lead.coef) / std::gcd(lead.coef, coef);
  const std::int64_t times = sat_mul(coef, up) / lead.coef;
  r.scale = sat_mul(r.scale, up);
  r.p.scale(up);
  r.p.add(*multiple, -times);
  r.p.add(poly_of(nodes_, operands[0]), times);
  r.p.add(extreme_remainder(operands[1], (times > 0) == r.from_below), -times);
  return true;
}

std::size_t BoundsFinder::extremum_operands(const Poly& p) const {
  std::size_t count = 0;
  for (const Term& t : p.terms())
    if (nodes_[t.mono].kind == Kind::min || nodes_[t.mono].kind == Kind::max) count += nodes_[t.mono].count;
  return count;
}

// A max equals one of its operands and is bounded below by each of them; likewise for min.
Bounds BoundsFinder::without_extrema(const Poly& p, int depth) const {
  Bounds best = without_quotients(p);
  if (depth == 0 || extremum_operands(p) > kMaxExtremumOperands) return best;
  for (const Term& t : p.terms()) {
    const Node& n = nodes_[t.mono];
    if (n.kind != Kind::min && n.kind != Kind::max) continue;
    Bounds any{Dim::kMax, Dim::kMin};
    for (Dim o : nodes_.operands(n)) {
      const Bounds b = with_operand(p, t, o, depth - 1);
      any = hull(any, b);
      if ((n.kind == Kind::max) == (t.coef > 0))
        best.min = std::max(best.min, b.min);
      else
        best.max = std::min(best.max, b.max);
    }
    best = intersect(best, any);
  }
  return best;
}

Bounds BoundsFinder::with_operand(const Poly& p, const Term& extremum, Dim operand, int depth) const {
  Poly replaced = p;
  replaced.add_term(extremum.mono, -extremum.coef);
  replaced.add(poly_of(nodes_, operand), extremum.coef);
  return replaced.inexact() ? kUnbounded : without_extrema(replaced, depth);
}

Bounds product_bounds(const Nodes& nodes, std::span<const Dim> atoms) {
  Bounds b{1, 1};
  while (!atoms.empty()) {
    const auto end = std::ranges::find_if(atoms, [&](Dim a) { return a != atoms[0]; });
    const auto count = static_cast<std::size_t>(end - atoms.begin());
    b = sym::mul(b, power(bounds_of(nodes, atoms[0]), static_cast<std::uint32_t>(count)));
    atoms = atoms.subspan(count);
  }
  return b;
}

}  // namespace

Bounds bounds_of(const Nodes& nodes, Dim d) { return d.is_const() ? Bounds{d.value(), d.value()} : nodes[d].bounds; }

Bounds difference(const Nodes& nodes, Dim a, Dim b) {
  if (a == b) return {0, 0};
  Poly p = poly_of(nodes, a);
  p.add(poly_of(nodes, b), -1);
  const Bounds apart = add(bounds_of(nodes, a), scale(bounds_of(nodes, b), -1));
  return p.inexact() ? apart : intersect(apart, bounds_of(nodes, p));
}

bool never_equal(const Nodes& nodes, Dim a, Dim b) {
  Poly p = poly_of(nodes, a);
  p.add(poly_of(nodes, b), -1);
  const std::int64_t g = p.content();
  return !p.inexact() && g > 1 && p.constant() % g != 0;
}

Bounds bounds_of(const Nodes& nodes, const Node& n) {
  if (n.kind == Kind::sum) return bounds_of(nodes, Poly(n.constant, nodes.terms(n)));
  const auto operands = nodes.operands(n);
  if (n.kind == Kind::product) return product_bounds(nodes, operands);
  Bounds b = bounds_of(nodes, operands[0]);
  for (Dim o : operands.subspan(1)) {
    switch (n.kind) {
      case Kind::floordiv: b = floordiv(b, bounds_of(nodes, o)); break;
      case Kind::min: b = min(b, bounds_of(nodes, o)); break;
      case Kind::max: b = max(b, bounds_of(nodes, o)); break;
      case Kind::big_add: b = add(b, bounds_of(nodes, o)); break;
      default: b = mul(b, bounds_of(nodes, o)); break;
    }
  }
  return b;
}

Bounds bounds_of(const Nodes& nodes, const Poly& p) { return BoundsFinder(nodes).find(p); }

}  // namespace frazil::sym
