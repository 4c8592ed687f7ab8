#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/value/elem.h"

namespace frazil {

/// Returns `condition ? a : b` without a branch, so that loops over the conversions below vectorise.
constexpr std::uint32_t select_bits(bool condition, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t mask = 0u - static_cast<std::uint32_t>(condition);
  return (a & mask) | (b & ~mask);
}

/// Converts IEEE binary16 to binary32 exactly. A signalling NaN becomes quiet, as in hardware.
constexpr float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  const std::uint32_t normal = (magnitude << 13) + (112u << 23);
  const std::uint32_t tiny =
      std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f);
  const std::uint32_t special = (magnitude << 13) | 0x7f800000u | select_bits(magnitude > 0x7c00u, 0x400000u, 0);
  const std::uint32_t finite = select_bits(magnitude < 0x400u, tiny, normal);
  return std::bit_cast<float>(sign | select_bits(magnitude >= 0x7c00u, special, finite));
}

/// Rounds to nearest even. NaN becomes a quiet NaN with the upper bits of its payload.
constexpr std::uint16_t float_to_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const std::uint32_t tiny = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  const std::uint32_t special = select_bits(magnitude > 0x7f800000u, 0x7e00u | ((magnitude >> 13) & 0x3ffu), 0x7c00u);
  const std::uint32_t finite = select_bits(magnitude < 0x38800000u, tiny, normal);
  return static_cast<std::uint16_t>(sign | select_bits(magnitude >= 0x47800000u, special, finite));
}

constexpr float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Rounds to nearest even. NaN becomes a quiet NaN with the upper bits of its payload.
constexpr std::uint16_t float_to_bfloat16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t nan = (bits >> 16) | 0x40u;
  return static_cast<std::uint16_t>(select_bits((bits & 0x7fffffffu) > 0x7f800000u, nan, rounded));
}

/// Storage of one f16 element.
struct Half {
  std::uint16_t bits = 0;

  constexpr Half() = default;
  constexpr explicit Half(float value) : bits(float_to_half(value)) {}
  constexpr explicit operator float() const { return half_to_float(bits); }
  static constexpr Half from_bits(std::uint16_t bits) {
    Half h;
    h.bits = bits;
    return h;
  }
};

/// Storage of one bf16 element.
struct BFloat16 {
  std::uint16_t bits = 0;

  constexpr BFloat16() = default;
  constexpr explicit BFloat16(float value) : bits(float_to_bfloat16(value)) {}
  constexpr explicit operator float() const { return bfloat16_to_float(bits); }
  static constexpr BFloat16 from_bits(std::uint16_t bits) {
    BFloat16 b;
    b.bits = bits;
    return b;
  }
};

static_assert(sizeof(Half) == 2 && sizeof(BFloat16) == 2);

/// Converts double to float by rounding to odd. Narrowing the result to a small float then rounds only once.
float narrow_to_odd(double value);

/// The rounding of a value between two powers of two to f8e8m0 (ONNX Cast's round_mode).
enum class ScaleRound : std::uint8_t { up, down, nearest };

/// Converts a one-byte float: f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f8e8m0 or f4e2m1 (its code in the low 4 bits).
/// Precondition: `elem` is one of them.
float small_to_float(Elem elem, std::uint8_t bits);

/// Converts as ONNX Cast does, rounding to nearest even. With `saturate`, finite values and infinities beyond the
/// largest magnitude become that magnitude. Otherwise they become infinity if the format has one, else NaN. f4e2m1 has
/// neither and always saturates. f8e8m0 has no sign; `scale_round` applies to it.
std::uint8_t float_to_small(Elem elem, float value, bool saturate = true, ScaleRound scale_round = ScaleRound::up);

/// Convert arrays. Precondition: is_small_float(elem). No alignment is needed.
void to_f32(Elem elem, const void* src, float* dst, std::size_t count);
void from_f32(Elem elem, const float* src, void* dst, std::size_t count, bool saturate = true,
              ScaleRound scale_round = ScaleRound::up);

}  // namespace frazil
