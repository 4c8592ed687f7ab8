#include "sym/interval.h"

#include <algorithm>

#include "sym/saturate.h"

namespace frazil::sym {
namespace {

std::int64_t add_min(std::int64_t a, std::int64_t b) {
  return a <= Dim::kMin || b <= Dim::kMin ? Dim::kMin : sat_add(a, b);
}

std::int64_t add_max(std::int64_t a, std::int64_t b) {
  return a >= Dim::kMax || b >= Dim::kMax ? Dim::kMax : sat_add(a, b);
}

// Ensures that kMax occurs only as an open maximum and kMin only as an open minimum.
Bounds open_ended(Bounds a) { return {std::min(a.min, Dim::kMax - 1), std::max(a.max, Dim::kMin + 1)}; }

std::int64_t corner_div(std::int64_t a, std::int64_t b) {
  if (is_limit(a)) return (a > 0) == (b > 0) ? Dim::kMax : Dim::kMin;
  return floor_div(a, b);
}

// Requires that b is all positive or all negative.
Bounds div_one_sign(Bounds a, Bounds b) {
  const auto [lo, hi] = std::minmax(
      {corner_div(a.min, b.min), corner_div(a.min, b.max), corner_div(a.max, b.min), corner_div(a.max, b.max)});
  return {lo, hi};
}

}  // namespace

Bounds add(Bounds a, Bounds b) { return {add_min(a.min, b.min), add_max(a.max, b.max)}; }

Bounds scale(Bounds a, std::int64_t k) {
  const Bounds r{sat_mul(a.min, k), sat_mul(a.max, k)};
  return k < 0 ? Bounds{r.max, r.min} : r;
}

Bounds mul(Bounds a, Bounds b) {
  const auto [lo, hi] =
      std::minmax({sat_mul(a.min, b.min), sat_mul(a.min, b.max), sat_mul(a.max, b.min), sat_mul(a.max, b.max)});
  return {lo, hi};
}

Bounds power(Bounds a, std::uint32_t exponent) {
  Bounds r{1, 1};
  for (std::uint32_t i = 0; i < exponent; ++i) r = mul(r, a);
  if (exponent % 2 == 0) r.min = std::max<std::int64_t>(r.min, 0);
  return r;
}

Bounds floordiv(Bounds a, Bounds b) {
  a = open_ended(a);
  b = open_ended(b);
  const Bounds positive{std::max<std::int64_t>(b.min, 1), b.max};
  const Bounds negative{b.min, std::min<std::int64_t>(b.max, -1)};
  if (empty(positive) && empty(negative)) return {0, 0};
  if (empty(positive)) return div_one_sign(a, negative);
  if (empty(negative)) return div_one_sign(a, positive);
  return hull(div_one_sign(a, negative), div_one_sign(a, positive));
}

Bounds remainder(Bounds b) {
  return {std::min<std::int64_t>(b.min <= Dim::kMin ? b.min : b.min + 1, 0),
          std::max<std::int64_t>(b.max >= Dim::kMax ? b.max : b.max - 1, 0)};
}

Bounds min(Bounds a, Bounds b) { return {std::min(a.min, b.min), std::min(a.max, b.max)}; }

Bounds max(Bounds a, Bounds b) { return {std::max(a.min, b.min), std::max(a.max, b.max)}; }

Bounds divide_inward(Bounds a, std::int64_t k) {
  return {a.min <= Dim::kMin ? a.min : -floor_div(-a.min, k), a.max >= Dim::kMax ? a.max : floor_div(a.max, k)};
}

Bounds intersect(Bounds a, Bounds b) { return {std::max(a.min, b.min), std::min(a.max, b.max)}; }

Bounds hull(Bounds a, Bounds b) { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }

}  // namespace frazil::sym
