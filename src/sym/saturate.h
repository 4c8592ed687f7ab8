#pragma once

#include <cstdint>

#include "sym/dim.h"

namespace frazil::sym {

/// Integer arithmetic clamped to [Dim::kMin, Dim::kMax]. Operands may be any int64.

constexpr std::int64_t saturate(std::int64_t v) { return v > Dim::kMax ? Dim::kMax : v < Dim::kMin ? Dim::kMin : v; }

inline std::int64_t sat_add(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_add_overflow(a, b, &r)) return b > 0 ? Dim::kMax : Dim::kMin;
  return saturate(r);
}

inline std::int64_t sat_sub(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_sub_overflow(a, b, &r)) return b < 0 ? Dim::kMax : Dim::kMin;
  return saturate(r);
}

inline std::int64_t sat_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return (a < 0) == (b < 0) ? Dim::kMax : Dim::kMin;
  return saturate(r);
}

/// Requires b != 0.
inline std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == -1) return sat_sub(0, a);
  const std::int64_t r = a % b;
  return saturate(a / b - (r != 0 && (r < 0) != (b < 0)));
}

/// Requires b != 0.
inline std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t r = a % b;
  return saturate(r != 0 && (r < 0) != (b < 0) ? r + b : r);
}

constexpr bool is_limit(std::int64_t v) { return v >= Dim::kMax || v <= Dim::kMin; }

}  // namespace frazil::sym
