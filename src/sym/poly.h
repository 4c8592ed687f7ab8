#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace frazil::sym {

/// The index of the monomial 1; other monomials are indices of nodes.
inline constexpr std::uint32_t kUnit = ~std::uint32_t{0};

struct Term {
  std::uint32_t mono;
  std::int64_t coef;
  bool operator==(const Term&) const = default;
};

/// A constant plus terms, ascending by monomial, without zero coefficients. This value type holds intermediate results.
/// Its capacity is fixed, so no operation allocates.
class Poly {
 public:
  static constexpr std::size_t kMaxTerms = 32;

  explicit Poly(std::int64_t constant = 0) : constant_(constant) {}
  Poly(std::int64_t constant, std::span<const Term> terms);
  Poly(const Poly& other);
  Poly& operator=(const Poly& other);

  std::int64_t constant() const { return constant_; }
  std::span<const Term> terms() const { return {terms_.data(), size_}; }
  std::int64_t coef(std::uint32_t mono) const;
  bool is_const() const { return size_ == 0; }
  bool is_zero() const { return size_ == 0 && constant_ == 0; }
  /// Returns true for a single term and no constant.
  bool is_monomial() const { return size_ == 1 && constant_ == 0; }
  bool has_positive_coef() const;

  /// Returns true if a result needed more than kMaxTerms terms. The value is then invalid.
  bool too_large() const { return too_large_; }
  void set_too_large() { too_large_ = true; }
  /// Returns true if a coefficient was clamped or the result is too large.
  bool inexact() const { return inexact_ || too_large_; }

  void add_term(std::uint32_t mono, std::int64_t coef);  ///< `mono` may be kUnit
  void add(const Poly& p, std::int64_t scale = 1);
  void scale(std::int64_t k);
  /// Returns the greatest common divisor of the terms' coefficients; 0 without terms.
  std::int64_t content() const;
  /// Divides by k > 0, which must divide all coefficients of terms. Rounds the constant down.
  void divide(std::int64_t k);

 private:
  void push(Term t);
  std::int64_t noted(std::int64_t v);

  std::int64_t constant_ = 0;
  std::uint32_t size_ = 0;
  bool too_large_ = false;
  bool inexact_ = false;
  std::array<Term, kMaxTerms> terms_;
};

}  // namespace frazil::sym
