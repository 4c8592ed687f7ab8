// Sums of convolutions of bytes with few channels per group, which are not computed as products.

#include "kernel/window/conv_i8.simd.h"

#include <cstring>

#include "kernel/simd/byte_lanes.h"

namespace frazil::kernel::FRAZIL_ISA_NS {

using std::int32_t;
using std::int64_t;

namespace {

/// Interleaves elements of two lines, from the lower or the upper half of each 16 bytes.
FRAZIL_INLINE I32v in_turns(I16v a, I16v b, bool upper) {
#if defined(__AVX512F__)
  return (I32v)(upper ? _mm512_unpackhi_epi16((__m512i)a, (__m512i)b) : _mm512_unpacklo_epi16((__m512i)a, (__m512i)b));
#elif defined(__AVX2__)
  return (I32v)(upper ? _mm256_unpackhi_epi16((__m256i)a, (__m256i)b) : _mm256_unpacklo_epi16((__m256i)a, (__m256i)b));
#else
  return (I32v)(upper ? __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
                      : __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11));
#endif
}

/// Computes 2 * kW sums.
FRAZIL_INLINE void sum_taps(int32_t* sums, const ByteTaps& taps, int64_t at) {
  I32v half[2] = {};
  for (int64_t q = 0; q < taps.pairs; ++q) {
    const auto a = load<I16v>(taps.at[2 * q] + at), b = load<I16v>(taps.at[2 * q + 1] + at);
    for (int h = 0; h < 2; ++h) add_pairs(half[h], in_turns(a, b, h == 1), taps.factors[q] - I32v{});
  }
  int32_t in_order[2 * kW];
  for (int h = 0; h < 2; ++h) {
    int32_t four[kW];
    store(four, half[h]);
    for (int i = 0; i < kW; i += 4) __builtin_memcpy(in_order + 2 * i + 4 * h, four + i, 4 * sizeof *four);
  }
  for (int i = 0; i < 2 * kW; ++i) sums[i] = in_order[i] + (taps.accumulate ? sums[i] : 0);
}

using U8h = std::uint8_t __attribute__((vector_size(kVectorBytes / 2)));
using I8h = std::int8_t __attribute__((vector_size(kVectorBytes / 2)));
constexpr int64_t kLanes16 = 2 * kW;
constexpr int64_t kParts = kByteChannels / kLanes16;  ///< vectors of a group of channels

FRAZIL_INLINE I16v widened(const std::uint8_t* from, bool is_signed) {
  const auto x = load<U8h>(from);
  return is_signed ? __builtin_convertvector((I8h)x, I16v) : __builtin_convertvector(x, I16v);
}

/// Computes the sums of `some` channels of a group: all of them unless Tail.
template <bool Tail>
FRAZIL_INLINE void sum_channels(int32_t* sums, const ByteChannels& c, int64_t first, int64_t some) {
  I32v half[kParts][2] = {};
  const std::int16_t* w = c.weights + first * 2 * c.pairs;
  for (int64_t q = 0; q < c.pairs; ++q, w += 2 * kByteChannels) {
    const std::uint8_t *a = c.at[2 * q] + first, *b = c.at[2 * q + 1] + first;
    std::uint8_t rest[2][kByteChannels];
    if constexpr (Tail) {
      std::memcpy(rest[0], a, static_cast<std::size_t>(some));
      std::memcpy(rest[1], b, static_cast<std::size_t>(some));
      a = rest[0], b = rest[1];
    }
#pragma GCC unroll 4
    for (int64_t i = 0; i < kParts; ++i) {
      const I16v x = widened(a + i * kLanes16, c.is_signed) - c.zero,
                 y = widened(b + i * kLanes16, c.is_signed) - c.zero;
#pragma GCC unroll 2
      for (int h = 0; h < 2; ++h) add_pairs(half[i][h], in_turns(x, y, h == 1), load<I32v>(w + (2 * i + h) * kLanes16));
    }
  }
  int32_t in_order[kByteChannels];
  int32_t* const to = Tail ? in_order : sums + first;
#pragma GCC unroll 4
  for (int64_t part = 0; part < kParts; ++part) {
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      int32_t four[kW];
      store(four, half[part][h]);
      for (int i = 0; i < kW; i += 4)
        __builtin_memcpy(to + part * kLanes16 + 2 * i + 4 * h, four + i, 4 * sizeof *four);
    }
  }
  if constexpr (Tail) std::memcpy(sums + first, in_order, static_cast<std::size_t>(some) * sizeof *sums);
}

}  // namespace

void pair_byte_channels(const std::int16_t* a, const std::int16_t* b, std::int16_t* to) noexcept {
  for (int64_t i = 0; i < kParts; ++i) {
    const auto x = load<I16v>(a + i * kLanes16), y = load<I16v>(b + i * kLanes16);
    for (int h = 0; h < 2; ++h) store(to + (2 * i + h) * kLanes16, in_turns(x, y, h == 1));
  }
}

void byte_channels(int32_t* sums, const ByteChannels& c) noexcept {
  int64_t first = 0;
  for (; first + kByteChannels <= c.channels; first += kByteChannels)
    sum_channels<false>(sums, c, first, kByteChannels);
  if (first < c.channels) sum_channels<true>(sums, c, first, c.channels - first);
}

void byte_taps(int32_t* sums, const ByteTaps& taps, int64_t n) noexcept {
  int64_t i = 0;
  for (; i + 2 * kW <= n; i += 2 * kW) sum_taps(sums + i, taps, i);
  if (i == n) return;
  int32_t rest[2 * kW] = {};
  const auto bytes = static_cast<std::size_t>(n - i) * sizeof *sums;
  std::memcpy(rest, sums + i, bytes);
  sum_taps(rest, taps, i);
  std::memcpy(sums + i, rest, bytes);
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
