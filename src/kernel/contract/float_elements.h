#pragma once

// The policies of sums.h for floats, and the packing of rows of A as words. Private to translation units of one
// instruction set, like math_lanes.h.

#include "kernel/contract/sums.h"
#include "kernel/simd/half_lanes.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

FRAZIL_INLINE U32v same_word(const std::byte* p) {
  std::uint32_t x;
  __builtin_memcpy(&x, p, sizeof x);
  return x + U32v{};
}

/// The policy for f32.
struct F32 {
  using Number = float;
  static constexpr int kParts = 1;
  static constexpr int64_t kStep = kPanelCols * 4;  ///< bytes of a packed step of B
  static constexpr int64_t kElements = 1;           ///< elements of k in a step
  static constexpr bool kInPlace = true;            ///< words of A can be read where A is stored
  using Raw = F32v;
  using Part = F32v;
  using Sum = F32v;
  FRAZIL_INLINE static F32v get(const std::byte* b, int v) { return loadv(reinterpret_cast<const float*>(b) + v * kW); }
  FRAZIL_INLINE static F32v get(const std::byte* b, int v, Mask mask) {
    return load_mask(reinterpret_cast<const float*>(b) + v * kW, mask);
  }
  FRAZIL_INLINE static F32v part(F32v raw, int) { return raw; }
  FRAZIL_INLINE static F32v word(const std::byte* a) { return set1(load_1(a)); }
  FRAZIL_INLINE static void add(F32v& sum, F32v b, F32v word) { sum = mul_add(word, b, sum); }
  template <int R, bool Adjacent>
  struct Words : Factors<R, Adjacent> {
    FRAZIL_INLINE Words(const std::byte* a, int64_t step)
        : Factors<R, Adjacent>(reinterpret_cast<const float*>(a), step / kWord) {}
  };
};

/// The base of policies that widen 16-bit floats to f32. Words of A are f32, made when A is packed.
struct Widened {
  static constexpr bool kInPlace = false;
  using Part = F32v;
  using Sum = F32v;
  FRAZIL_INLINE static F32v word(const std::byte* a) { return (F32v)same_word(a); }
  FRAZIL_INLINE static void add(F32v& sum, F32v b, F32v word) { sum = mul_add(word, b, sum); }
  template <int, bool>
  using Words = SingleWords<Widened>;
};

struct WideF16 : Widened {
  using Number = F16;
  static constexpr int kParts = 1;
  static constexpr int64_t kStep = kPanelCols * 2, kElements = 1;
  using Raw = F32v;
  FRAZIL_INLINE static F32v get(const std::byte* b, int v) {
    return F16::widened(load_halves(reinterpret_cast<const std::uint16_t*>(b) + v * kW));
  }
  FRAZIL_INLINE static F32v part(F32v raw, int) { return raw; }
  FRAZIL_INLINE static U16h of_sum(F32v x) { return Number::narrowed(x); }
};

/// The policy for bf16: first elements of pairs, then the second ones.
struct WideBf16 : Widened {
  using Number = Bf16;
  static constexpr int kParts = 2;
  static constexpr int64_t kStep = kPanelCols * 4, kElements = 2;
  using Raw = U32v;
  FRAZIL_INLINE static U32v get(const std::byte* b, int v) { return load<U32v>(b + v * kW * kWord); }
  FRAZIL_INLINE static F32v part(U32v raw, int i) { return (F32v)(i == 0 ? raw << 16 : raw & 0xffff0000u); }
  FRAZIL_INLINE static U16h of_sum(F32v x) { return Number::narrowed(x); }
};

#if defined(__AVX512BF16__)
/// The policy for pairs of bf16 in place.
struct PairBf16 {
  using Number = Bf16;
  static constexpr int kParts = 1;
  static constexpr int64_t kStep = kPanelCols * 4, kElements = 2;
  static constexpr bool kInPlace = true;
  using Raw = U32v;
  using Part = F32v;
  using Sum = F32v;
  FRAZIL_INLINE static U32v get(const std::byte* b, int v) { return load<U32v>(b + v * kW * kWord); }
  FRAZIL_INLINE static F32v part(U32v raw, int) { return (F32v)raw; }
  FRAZIL_INLINE static void add(F32v& sum, F32v b, U32v a) {
    sum = (F32v)_mm512_dpbf16_ps((__m512)sum, (__m512bh)b, (__m512bh)a);
  }
  FRAZIL_INLINE static U32v word(const std::byte* a) { return same_word(a); }
  template <int, bool>
  using Words = SingleWords<PairBf16>;
  /// Rounds x to bf16. Denormal numbers become zero, as in the sums.
  FRAZIL_INLINE static U16h of_sum(F32v x) { return (U16h)_mm512_cvtneps_pbh((__m512)x); }
};
#endif

template <class E>
constexpr bool kIsHalf = !std::is_same_v<E, F32>;
/// An element of A and C in memory.
template <class E>
using Element = std::conditional_t<kIsHalf<E>, std::uint16_t, float>;

/// Returns the number of words of a row of packed A.
template <class E>
FRAZIL_INLINE int64_t row_words(int64_t k) {
  return ceil_div(k, E::kElements) * E::kParts;
}

/// Packs n elements, `step` apart from `from` on, as words `next` bytes apart.
template <class E>
void pack_row(const Element<E>* from, int64_t step, int64_t n, std::byte* to, int64_t next) {
  const auto at = [&](int64_t p) __attribute__((always_inline)) { return load<Element<E>>(from + p * step); };
  if constexpr (!kIsHalf<E>) {
    for (int64_t p = 0; p < n; ++p, to += next) store(to, at(p));
  } else if constexpr (E::kInPlace) {
    for (int64_t p = 0; p < n; p += 2, to += next) {
      const std::uint32_t second = p + 1 < n ? at(p + 1) : 0;
      store<std::uint32_t>(to, at(p) | second << 16);
    }
  } else {
    for (int64_t p = 0; p < n; p += kW) {
      const int64_t some = min64(kW, n - p);
      std::uint16_t halves[kW] = {};
      float wide[kW];
      for (int64_t i = 0; i < some && step != 1; ++i) halves[i] = at(p + i);
      const U16h x = step != 1 ? load_halves(halves) : some == kW ? load_halves(from + p) : load_halves(from + p, some);
      storev(wide, E::Number::widened(x));
      for (int64_t i = 0; i < some; ++i, to += next) store(to, wide[i]);
    }
    if (E::kElements == 2 && n % 2 != 0) store(to, 0.f);
  }
}

/// Packs four adjacent rows whose elements are contiguous.
template <class E>
void pack_four_rows(const Element<E>* const (&from)[4], int64_t n, std::byte* to, int64_t next) {
  int64_t p = 0;
  if constexpr (E::kInPlace) {
    constexpr int64_t kQuad = 16 / sizeof(Element<E>);
    for (; p + kQuad <= n; p += kQuad, to += 4 * next)
      store_transposed(load<U32x4>(from[0] + p), load<U32x4>(from[1] + p), load<U32x4>(from[2] + p),
                       load<U32x4>(from[3] + p), to, next);
  } else {
    for (; p + kW <= n; p += kW) {
      float wide[4][kW];
      for (int r = 0; r < 4; ++r) storev(wide[r], E::Number::widened(load_halves(from[r] + p)));
      for (int i = 0; i < kW; i += 4, to += 4 * next)
        store_transposed(load<U32x4>(wide[0] + i), load<U32x4>(wide[1] + i), load<U32x4>(wide[2] + i),
                         load<U32x4>(wide[3] + i), to, next);
    }
  }
  for (int r = 0; r < 4; ++r) pack_row<E>(from[r] + p, 1, n - p, to + r * kWord, next);
}

/// Packs rows side by side. Elements of a row are `step` elements apart.
template <class E>
void pack_rows(const Element<E>* const* from, int64_t step, int64_t rows, int64_t n, std::byte* to) {
  const int64_t next = rows * kWord;
  if constexpr (!kIsHalf<E>) {
    if (step != 1 && from[rows - 1] == from[0] + (rows - 1)) {  // the rows are side by side already
      for (int64_t p = 0; p < n; ++p)
        __builtin_memcpy(to + p * next, from[0] + p * step, static_cast<std::size_t>(next));
      return;
    }
  }
  int64_t r = 0;
  for (; step == 1 && r + 4 <= rows; r += 4) {
    const Element<E>* const four[4] = {from[r], from[r + 1], from[r + 2], from[r + 3]};
    pack_four_rows<E>(four, n, to + r * kWord, next);
  }
  for (; r < rows; ++r) pack_row<E>(from[r], step, n, to + r * kWord, next);
}

}  // namespace
}  // namespace frazil::kernel::FRAZIL_ISA_NS
