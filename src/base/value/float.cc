#include "base/value/float.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace frazil {
namespace {

/// The bits of a one-byte float format: sign, `exponent_bits`, `mantissa_bits`. The largest finite code is `max`;
/// larger values become `overflow`. FNUZ formats have one zero, and their only NaN is the code of -0.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  std::uint32_t max;
  std::uint32_t overflow;
  std::uint32_t nan;
  bool infinity;
  bool fnuz;

  constexpr std::uint32_t sign() const { return 1u << (exponent_bits + mantissa_bits); }
};

constexpr Format kE4M3fn{4, 3, 7, 0x7e, 0x7f, 0x7f, false, false};
constexpr Format kE4M3fnuz{4, 3, 8, 0x7f, 0x80, 0x80, false, true};
constexpr Format kE5M2{5, 2, 15, 0x7b, 0x7c, 0x7e, true, false};
constexpr Format kE5M2fnuz{5, 2, 16, 0x7f, 0x80, 0x80, false, true};
constexpr Format kE2M1{2, 1, 1, 7, 7, 8, false, false};

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

constexpr float power_of_two(int exponent) {
  return exponent >= -126 ? std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23)
                          : std::bit_cast<float>(1u << (exponent + 149));
}

constexpr float decode(const Format& f, std::uint32_t code) {
  const std::uint32_t magnitude = code & (f.sign() - 1);
  const float sign = (code & f.sign()) != 0 ? -1.0f : 1.0f;
  if (f.fnuz && code == f.nan) return kNan;
  if (f.infinity && magnitude == f.overflow) return sign * std::numeric_limits<float>::infinity();
  if (magnitude > f.max) return kNan;
  const auto mantissa = static_cast<int>(magnitude & ((1u << f.mantissa_bits) - 1));
  const auto exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const int hidden = exponent == 0 ? 0 : 1 << f.mantissa_bits;
  const int scale = (exponent == 0 ? 1 : exponent) - f.bias - f.mantissa_bits;
  return sign * static_cast<float>(mantissa + hidden) * power_of_two(scale);
}

constexpr std::array<float, 256> decode_table(const Format& f) {
  std::array<float, 256> table{};
  for (std::uint32_t code = 0; code < 256; ++code) table[code] = decode(f, code & (2 * f.sign() - 1));
  return table;
}

constexpr std::array<float, 256> scale_table() {
  std::array<float, 256> table{};
  for (int code = 0; code < 255; ++code) table[static_cast<std::size_t>(code)] = power_of_two(code - 127);
  table[255] = kNan;
  return table;
}

using Table = std::array<float, 256>;
constexpr Table kE4M3fnTable = decode_table(kE4M3fn);
constexpr Table kE4M3fnuzTable = decode_table(kE4M3fnuz);
constexpr Table kE5M2Table = decode_table(kE5M2);
constexpr Table kE5M2fnuzTable = decode_table(kE5M2fnuz);
constexpr Table kE2M1Table = decode_table(kE2M1);
constexpr Table kScaleTable = scale_table();

const Table& table_of(Elem elem) {
  switch (elem) {
    case Elem::f8e4m3fn: return kE4M3fnTable;
    case Elem::f8e4m3fnuz: return kE4M3fnuzTable;
    case Elem::f8e5m2: return kE5M2Table;
    case Elem::f8e5m2fnuz: return kE5M2fnuzTable;
    case Elem::f8e8m0: return kScaleTable;
    default: return kE2M1Table;
  }
}

template <Format f>
constexpr std::uint8_t encode(float value, bool saturate) {
  constexpr int kShift = 23 - f.mantissa_bits;
  constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - f.bias) << 23;
  constexpr std::uint32_t kMinNormal = static_cast<std::uint32_t>(128 - f.bias) << 23;
  constexpr std::uint32_t kMagic = static_cast<std::uint32_t>(128 - f.bias + kShift) << 23;
  constexpr std::uint32_t kHalf = (1u << (kShift - 1)) - 1;

  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t sign = (bits >> 31) * f.sign();
  const std::uint32_t normal = (magnitude - kRebias + kHalf + ((magnitude >> kShift) & 1u)) >> kShift;
  const std::uint32_t tiny =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(kMagic)) - kMagic;
  const std::uint32_t beyond = select_bits(saturate, f.max, f.overflow);
  std::uint32_t code = select_bits(magnitude < kMinNormal, tiny, normal);
  code = select_bits(code > f.max, beyond, code);
  code = select_bits(magnitude > 0x7f800000u, f.nan, code);
  return static_cast<std::uint8_t>(code | select_bits(f.fnuz && code == 0, 0, sign));
}

constexpr std::uint8_t encode_scale(float value, bool saturate, ScaleRound round) {
  constexpr std::uint32_t kMin = 0x00400000u;  // 2^-127
  const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(value) & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0xff;
  if (magnitude < kMin) return saturate ? 0 : 0xff;
  const bool subnormal = magnitude < 0x00800000u;
  const std::uint32_t base = magnitude >> 23;
  const std::uint32_t fraction = subnormal ? (magnitude - kMin) << 1 : magnitude & 0x7fffffu;
  const bool next = round == ScaleRound::up ? fraction != 0 : round == ScaleRound::nearest && fraction >= 0x400000u;
  const std::uint32_t code = base + (next ? 1u : 0u);
  if (code > 0xfe) return saturate ? 0xfe : 0xff;
  return static_cast<std::uint8_t>(code);
}

/// T at any alignment. Wrapped in a struct because template arguments drop alignment attributes.
template <class T>
struct Unaligned {
  using Type [[gnu::aligned(1), gnu::may_alias]] = T;
};

/// Elements converted per block. Loops of constant length are vectorised at -O2.
constexpr std::size_t kBlock = 64;

/// Sets dst[i] = convert(src[i]). The arrays must not overlap.
template <class From, class To, class Convert>
void convert_all(const void* from, void* to, std::size_t count, Convert convert) {
  const auto* __restrict src = static_cast<const typename Unaligned<From>::Type*>(from);
  auto* __restrict dst = static_cast<typename Unaligned<To>::Type*>(to);
  for (; count >= kBlock; count -= kBlock, src += kBlock, dst += kBlock) {
    for (std::size_t i = 0; i < kBlock; ++i) dst[i] = convert(src[i]);
  }
  for (std::size_t i = 0; i < count; ++i) dst[i] = convert(src[i]);
}

template <class Convert>
void to_bytes(const float* src, void* dst, std::size_t count, Convert convert) {
  convert_all<float, std::uint8_t>(src, dst, count, convert);
}

}  // namespace

float narrow_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  if (back == value || value != value) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(back) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1u);
}

float small_to_float(Elem elem, std::uint8_t bits) { return table_of(elem)[bits]; }

std::uint8_t float_to_small(Elem elem, float value, bool saturate, ScaleRound scale_round) {
  switch (elem) {
    case Elem::f8e4m3fn: return encode<kE4M3fn>(value, saturate);
    case Elem::f8e4m3fnuz: return encode<kE4M3fnuz>(value, saturate);
    case Elem::f8e5m2: return encode<kE5M2>(value, saturate);
    case Elem::f8e5m2fnuz: return encode<kE5M2fnuz>(value, saturate);
    case Elem::f8e8m0: return encode_scale(value, saturate, scale_round);
    default: return encode<kE2M1>(value, true);
  }
}

void to_f32(Elem elem, const void* src, float* dst, std::size_t count) {
  if (elem == Elem::f16)
    return convert_all<std::uint16_t, float>(src, dst, count, [](std::uint16_t b) { return half_to_float(b); });
  if (elem == Elem::bf16)
    return convert_all<std::uint16_t, float>(src, dst, count, [](std::uint16_t b) { return bfloat16_to_float(b); });
  const Table& table = table_of(elem);
  const auto* in = static_cast<const std::uint8_t*>(src);
  for (std::size_t i = 0; i < count; ++i) dst[i] = table[in[i]];
}

void from_f32(Elem elem, const float* src, void* dst, std::size_t count, bool saturate, ScaleRound scale_round) {
  switch (elem) {
    case Elem::f16: return convert_all<float, std::uint16_t>(src, dst, count, [](float v) { return float_to_half(v); });
    case Elem::bf16:
      return convert_all<float, std::uint16_t>(src, dst, count, [](float v) { return float_to_bfloat16(v); });
    case Elem::f8e4m3fn: return to_bytes(src, dst, count, [=](float v) { return encode<kE4M3fn>(v, saturate); });
    case Elem::f8e4m3fnuz: return to_bytes(src, dst, count, [=](float v) { return encode<kE4M3fnuz>(v, saturate); });
    case Elem::f8e5m2: return to_bytes(src, dst, count, [=](float v) { return encode<kE5M2>(v, saturate); });
    case Elem::f8e5m2fnuz: return to_bytes(src, dst, count, [=](float v) { return encode<kE5M2fnuz>(v, saturate); });
    case Elem::f8e8m0:
      return to_bytes(src, dst, count, [=](float v) { return encode_scale(v, saturate, scale_round); });
    default: return to_bytes(src, dst, count, [](float v) { return encode<kE2M1>(v, true); });
  }
}

}  // namespace frazil
