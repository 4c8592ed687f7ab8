#include "sym/poly.h"

#include <algorithm>
#include <numeric>

#include "sym/saturate.h"

namespace frazil::sym {

Poly::Poly(std::int64_t constant, std::span<const Term> terms)
    : constant_(constant), size_(static_cast<std::uint32_t>(terms.size())) {
  std::ranges::copy(terms, terms_.begin());
}

Poly::Poly(const Poly& other) { *this = other; }

Poly& Poly::operator=(const Poly& other) {
  constant_ = other.constant_;
  size_ = other.size_;
  too_large_ = other.too_large_;
  inexact_ = other.inexact_;
  std::ranges::copy(other.terms(), terms_.begin());
  return *this;
}

std::int64_t Poly::coef(std::uint32_t mono) const {
  if (mono == kUnit) return constant_;
  const auto it = std::ranges::lower_bound(terms(), mono, {}, &Term::mono);
  return it != terms().end() && it->mono == mono ? it->coef : 0;
}

bool Poly::has_positive_coef() const {
  return std::ranges::any_of(terms(), [](const Term& t) { return t.coef > 0; });
}

std::int64_t Poly::noted(std::int64_t v) {
  inexact_ |= is_limit(v);
  return v;
}

void Poly::push(Term t) {
  if (t.coef == 0) return;
  if (size_ == kMaxTerms) {
    too_large_ = true;
    return;
  }
  terms_[size_++] = t;
}

void Poly::add_term(std::uint32_t mono, std::int64_t coef) {
  if (mono == kUnit) {
    constant_ = noted(sat_add(constant_, coef));
    return;
  }
  const Term term{mono, coef};
  add(Poly(0, {&term, 1}));
}

void Poly::add(const Poly& p, std::int64_t scale) {
  const Poly self = *this;
  constant_ = noted(sat_add(constant_, noted(sat_mul(p.constant_, scale))));
  too_large_ |= p.too_large_;
  inexact_ |= p.inexact_;
  size_ = 0;
  auto a = self.terms().begin();
  auto b = p.terms().begin();
  const auto a_end = self.terms().end();
  const auto b_end = p.terms().end();
  while (a != a_end || b != b_end) {
    if (b == b_end || (a != a_end && a->mono < b->mono)) {
      push(*a++);
    } else if (a == a_end || b->mono < a->mono) {
      push({b->mono, noted(sat_mul(b->coef, scale))});
      ++b;
    } else {
      push({a->mono, noted(sat_add(a->coef, noted(sat_mul(b->coef, scale))))});
      ++a, ++b;
    }
  }
}

void Poly::scale(std::int64_t k) {
  constant_ = noted(sat_mul(constant_, k));
  if (k == 0) size_ = 0;
  for (Term& t : std::span(terms_.data(), size_)) t.coef = noted(sat_mul(t.coef, k));
}

std::int64_t Poly::content() const {
  std::int64_t g = 0;
  for (const Term& t : terms()) g = std::gcd(g, t.coef);
  return g;
}

void Poly::divide(std::int64_t k) {
  constant_ = floor_div(constant_, k);
  for (Term& t : std::span(terms_.data(), size_)) t.coef /= k;
}

}  // namespace frazil::sym
