#pragma once

#include <cstdint>

#include "sym/dim.h"

namespace frazil::sym {

/// Interval arithmetic over the exact integers. A min of kMin and a max of kMax mean "no bound", and remain so whatever
/// is added. An interval that holds an exact value therefore also holds that value saturated.

inline constexpr Bounds kUnbounded{Dim::kMin, Dim::kMax};

Bounds add(Bounds a, Bounds b);
Bounds scale(Bounds a, std::int64_t k);
Bounds mul(Bounds a, Bounds b);
Bounds power(Bounds a, std::uint32_t exponent);
/// Excludes the values for a divisor of 0.
Bounds floordiv(Bounds a, Bounds b);
/// Returns the range of a - b * floordiv(a, b) for any a.
Bounds remainder(Bounds b);
Bounds min(Bounds a, Bounds b);
Bounds max(Bounds a, Bounds b);
/// Returns the integers x with k * x in a; k > 0.
Bounds divide_inward(Bounds a, std::int64_t k);
Bounds intersect(Bounds a, Bounds b);
Bounds hull(Bounds a, Bounds b);
constexpr bool contains(Bounds a, std::int64_t v) { return a.min <= v && v <= a.max; }
constexpr bool empty(Bounds a) { return a.min > a.max; }

}  // namespace frazil::sym
