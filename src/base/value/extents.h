#pragma once

#include <cstdint>
#include <span>

// Arithmetic on extents.
namespace frazil {

/// Returns the product of the extents: 1 if there are none, 0 if one is 0. Otherwise it wraps at 64 bits.
constexpr std::int64_t product(std::span<const std::int64_t> extents) {
  std::uint64_t count = 1;
  for (const std::int64_t extent : extents) {
    if (extent == 0) return 0;
    count *= static_cast<std::uint64_t>(extent);
  }
  return static_cast<std::int64_t>(count);
}

/// Returns a / b, rounded up. Precondition: b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

/// Returns the smallest multiple of `unit` that is at least x. Precondition: unit > 0.
constexpr std::int64_t round_up(std::int64_t x, std::int64_t unit) { return ceil_div(x, unit) * unit; }

}  // namespace frazil
