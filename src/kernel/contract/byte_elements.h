#pragma once

// The policies of sums.h for bytes, and the packing of rows of A as words. Private to translation units of one
// instruction set, like math_lanes.h.

#include <cstring>
#include <type_traits>

#include "kernel/contract/gemm_i8.simd.h"
#include "kernel/contract/sums.h"
#include "kernel/simd/byte_lanes.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

using std::int32_t;

// A step multiplies four elements of each row with four of each column. VNNI and SDOT sum them in one instruction.
// Other sets widen bytes to 16-bit integers, whose products are summed in pairs: elements 0 and 2, then 1 and 3,
// because that is how bytes of B are widened in place. vpmaddubsw would sum in 16 bits, which is too few.
#if defined(__AVX512VNNI__)
constexpr int kHalves = 1;
constexpr int32_t kMoved = 0;
using Wide = std::int8_t;  ///< an element of packed A
FRAZIL_INLINE void add_products(I32v& sum, I32v b, I32v a) {
  sum = (I32v)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)b, (__m512i)a);
}
FRAZIL_INLINE I32v widened(I32v b, int) { return b; }
#elif defined(__ARM_FEATURE_DOTPROD)
constexpr int kHalves = 1;
constexpr int32_t kMoved = 128;  ///< subtracted from elements of B
using Wide = std::int8_t;
FRAZIL_INLINE void add_products(I32v& sum, I32v b, I32v a) {
  sum = (I32v)vdotq_s32((int32x4_t)sum, (int8x16_t)b, (int8x16_t)a);
}
FRAZIL_INLINE I32v widened(I32v b, int) { return (I32v)((U32v)b ^ 0x80808080u); }
#else
constexpr int kHalves = 2;
constexpr int32_t kMoved = 0;
using Wide = std::int16_t;
using U16v = std::uint16_t __attribute__((vector_size(kVectorBytes)));
#if defined(FRAZIL_NEON)
/// The sums of first and of second elements of pairs, side by side, of the lower and of the upper columns. They are
/// added at the end, because no instruction adds products in pairs.
struct PairSums {
  I32v low = {}, high = {};
};
FRAZIL_INLINE void add_products(PairSums& sum, I32v b, I32v a) {
  const auto x = (int16x8_t)b, y = (int16x8_t)a;
  sum.low = (I32v)vmlal_s16((int32x4_t)sum.low, vget_low_s16(x), vget_low_s16(y));
  sum.high = (I32v)vmlal_high_s16((int32x4_t)sum.high, x, y);
}
#else
FRAZIL_INLINE void add_products(I32v& sum, I32v b, I32v a) { add_pairs(sum, b, a); }
#endif
/// Returns elements 0 and 2, or 1 and 3, of each column's four, as 16-bit integers.
FRAZIL_INLINE I32v widened(I32v b, int half) { return (I32v)(half == 0 ? (U16v)b & 0xff : (U16v)b >> 8); }
#endif
#if defined(FRAZIL_NEON) && !defined(__ARM_FEATURE_DOTPROD)
using Sum = PairSums;
FRAZIL_INLINE I32v total(const Sum& sum) { return (I32v)vpaddq_s32((int32x4_t)sum.low, (int32x4_t)sum.high); }
#else
using Sum = I32v;  ///< sums of a vector of columns
FRAZIL_INLINE I32v total(Sum sum) { return sum; }
#endif
static_assert(kHalves * kWord <= kByteQuadSize);

/// Keeps GCC from starting the products of other rows, for which there are no registers.
FRAZIL_INLINE void stay_in_register(I32v& sum) {
#if defined(__AVX512F__)
  asm volatile("" : "+v"(sum));
#elif defined(__x86_64__)
  asm volatile("" : "+x"(sum));
#elif defined(FRAZIL_NEON)
  asm volatile("" : "+w"(sum));
#else
  (void)sum;
#endif
}
#if defined(FRAZIL_NEON) && !defined(__ARM_FEATURE_DOTPROD)
FRAZIL_INLINE void stay_in_register(PairSums& sum) {
  stay_in_register(sum.low);
  stay_in_register(sum.high);
}
#endif

/// The policy for packed A: words of four elements, or of two widened ones.
struct PackedBytes {
  static constexpr int kParts = kHalves;
  using Raw = I32v;
  using Part = I32v;
  using Sum = FRAZIL_ISA_NS::Sum;
  FRAZIL_INLINE static I32v get(const std::byte* b, int v) { return load<I32v>(b + v * 4 * kW); }
  FRAZIL_INLINE static I32v part(I32v raw, int i) { return widened(raw, i); }
  FRAZIL_INLINE static I32v word(const std::byte* a) { return load<int32_t>(a) - I32v{}; }
  FRAZIL_INLINE static void add(Sum& sum, I32v b, I32v word) {
    add_products(sum, b, word);
    stay_in_register(sum);
  }

#if defined(__ARM_FEATURE_DOTPROD)
  template <int R, bool>
  struct Words {
    static constexpr int kVectors = R / 4;  ///< vectors of four rows, whose lanes are factors
    I32v rows[kVectors + 1];
    const std::byte* at;
    FRAZIL_INLINE Words(const std::byte* a, int64_t) : at(a) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) rows[v] = load<I32v>(a + v * 4 * kWord);
    }
    FRAZIL_INLINE I32v word(int r) const { return r < 4 * kVectors ? I32v{} : PackedBytes::word(at + r * kWord); }
    FRAZIL_INLINE void add(Sum& sum, I32v b, I32v word, int r) const {
      if (r >= 4 * kVectors) return PackedBytes::add(sum, b, word);
      const auto with = [&](auto lane) __attribute__((always_inline)) {
        sum = (I32v)vdotq_laneq_s32((int32x4_t)sum, (int8x16_t)b, (int8x16_t)rows[r / 4], decltype(lane)::value);
        stay_in_register(sum);
      };
      switch (r % 4) {
        case 0: return with(std::integral_constant<int, 0>());
        case 1: return with(std::integral_constant<int, 1>());
        case 2: return with(std::integral_constant<int, 2>());
        default: return with(std::integral_constant<int, 3>());
      }
    }
  };
#else
  template <int, bool>
  using Words = SingleWords<PackedBytes>;
#endif
};

#if defined(__AVX512VNNI__)
/// The policy for unsigned A in place, times signed B. It needs no sums of rows.
struct BytesInPlace {
  static constexpr int kParts = 1;
  using Raw = I32v;
  using Part = I32v;
  using Sum = I32v;
  FRAZIL_INLINE static I32v get(const std::byte* b, int v) { return (I32v)(load<U32v>(b + v * 4 * kW) ^ 0x80808080u); }
  FRAZIL_INLINE static I32v part(I32v raw, int) { return raw; }
  FRAZIL_INLINE static I32v word(const std::byte* a) { return load<int32_t>(a) - I32v{}; }
  FRAZIL_INLINE static void add(I32v& sum, I32v b, I32v word) {
    add_products(sum, word, b);
    stay_in_register(sum);
  }
  FRAZIL_INLINE static void merge(I32v& sum, I32v other) { sum += other; }
  template <int, bool>
  using Words = SingleWords<BytesInPlace>;
};
#endif

/// Writes sixteen elements of a row as four words, `step` bytes apart. If kHalves is 2, a word is elements 0 and 2 of
/// four; that of elements 1 and 3 is `half` bytes later.
FRAZIL_INLINE void put_16(const void* from, std::uint8_t flip, std::byte* to, int64_t step, int64_t half) {
  using U8x16 = std::uint8_t __attribute__((vector_size(16)));
  using I8x16 = std::int8_t __attribute__((vector_size(16)));
  using Wide16 = Wide __attribute__((vector_size(16 * sizeof(Wide))));
  const auto x = (I8x16)(load<U8x16>(from) ^ flip);
  auto wide = __builtin_convertvector(x, Wide16);
  if constexpr (kHalves == 2)
    wide = __builtin_shufflevector(wide, wide, 0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15);
  std::byte words[16 * sizeof(Wide)];
  store(words, wide);
  for (int i = 0; i < 4; ++i)
    for (int h = 0; h < kHalves; ++h)
      __builtin_memcpy(to + i * step + h * half, words + (i * kHalves + h) * kWord, kWord);
}

/// Packs one row of a tile of `height` rows from element `p` on, which is a multiple of 16.
void pack_row(const std::uint8_t* from, int64_t p, int64_t k, std::uint8_t flip, int64_t height, std::byte* to) {
  const int64_t half = height * kWord, step = kHalves * half;
  to += p / 4 * step;
  for (; p + 16 <= k; p += 16, to += 4 * step) put_16(from + p, flip, to, step, half);
  if (p == k) return;
  std::uint8_t rest[16];
  std::memset(rest, flip, sizeof rest);  // zeros, once they are flipped
  std::memcpy(rest, from + p, static_cast<std::size_t>(k - p));
  std::byte quads[16 * sizeof(Wide)];
  put_16(rest, flip, quads, kHalves * kWord, kWord);
  for (int64_t i = 0; i < byte_quads(k - p); ++i)
    for (int h = 0; h < kHalves; ++h) std::memcpy(to + i * step + h * half, quads + (i * kHalves + h) * kWord, kWord);
}

/// Packs four adjacent rows of a tile, if a word of A is four elements.
void pack_four_rows(const std::uint8_t* const (&from)[4], int64_t k, std::uint8_t flip, int64_t height, std::byte* to) {
  const int64_t step = height * kWord, whole = k / 16 * 16;
  const std::uint32_t flips = flip * 0x01010101u;
  for (int64_t p = 0; p < whole; p += 16) {
    const auto four = [&](int r) __attribute__((always_inline)) { return load<U32x4>(from[r] + p) ^ flips; };
    store_transposed(four(0), four(1), four(2), four(3), to + p / 4 * step, step);
  }
  for (int r = 0; r < 4; ++r) pack_row(from[r], whole, k, flip, height, to + r * kWord);
}

/// Packs the `rows` rows of a tile, of k bytes each.
void pack_rows(const std::uint8_t* const* from, int64_t rows, int64_t k, std::uint8_t flip, std::byte* to) {
  int64_t r = 0;
  for (; kHalves == 1 && r + 4 <= rows; r += 4) {
    const std::uint8_t* const four[4] = {from[r], from[r + 1], from[r + 2], from[r + 3]};
    pack_four_rows(four, k, flip, rows, to + r * kWord);
  }
  for (; r < rows; ++r) pack_row(from[r], 0, k, flip, rows, to + r * kWord);
}

/// Returns the sum of k bytes as the product reads them: signed, or unsigned minus 128.
int32_t sum_of(const std::uint8_t* x, int64_t k, bool is_signed) {
  int32_t sum = 0;
  int64_t p = 0;
#if defined(__AVX512VNNI__)
  __m512i sums = _mm512_setzero_si512();
  const __m512i ones = _mm512_set1_epi8(1);
  for (; p + 64 <= k; p += 64) {
    const __m512i bytes = _mm512_loadu_si512(x + p);
    sums = is_signed ? _mm512_dpbusd_epi32(sums, ones, bytes) : _mm512_dpbusd_epi32(sums, bytes, ones);
  }
  sum = _mm512_reduce_add_epi32(sums);
#endif
  if (is_signed) {
    for (; p < k; ++p) sum += static_cast<std::int8_t>(x[p]);
    return sum;
  }
  for (; p < k; ++p) sum += x[p];
  return static_cast<int32_t>(sum - 128 * k);
}

}  // namespace
}  // namespace frazil::kernel::FRAZIL_ISA_NS
