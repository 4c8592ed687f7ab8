#pragma once

#include <cstdint>
#include <type_traits>

namespace frazil::api {

/// An element of Dtype::f16: IEEE binary16. The layout is that of the bits, for every compiler. Arithmetic is that of
/// float. Converting a float rounds to nearest even.
struct Half {
  std::uint16_t bits = 0;

  constexpr Half() = default;
  explicit Half(float value);
  operator float() const;  // NOLINT(google-explicit-constructor): exact, as between the standard's types
  static constexpr Half from_bits(std::uint16_t bits) {
    Half half;
    half.bits = bits;
    return half;
  }
};

/// An element of Dtype::bf16: the upper half of a float. Otherwise the same as Half.
struct BFloat16 {
  std::uint16_t bits = 0;

  constexpr BFloat16() = default;
  explicit BFloat16(float value);
  operator float() const;  // NOLINT(google-explicit-constructor): exact, as between the standard's types
  static constexpr BFloat16 from_bits(std::uint16_t bits) {
    BFloat16 half;
    half.bits = bits;
    return half;
  }
};

static_assert(sizeof(Half) == 2 && std::is_trivially_copyable_v<Half>);
static_assert(sizeof(BFloat16) == 2 && std::is_trivially_copyable_v<BFloat16>);

}  // namespace frazil::api
