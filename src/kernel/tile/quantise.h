#pragma once

// Quantisation of vectors to an 8-bit type. Private to translation units of one instruction set, like math_lanes.h.

#include "kernel/simd/math.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

/// A vector of bytes with as many lanes as F32v.
using I8q = std::int8_t __attribute__((vector_size(kVectorBytes / 4)));

/// Computes round(x / scale) + zero, clamped to the limits of i8 or u8, and 0 for NaN. The bits are those
/// of the separate operations.
template <bool kSigned>
class Quantiser {
 public:
  FRAZIL_INLINE Quantiser(float scale, float zero) : scale_(splat<F32v>(scale)), zero_(zero) {
#if defined(__AVX512F__)
    const float size = __builtin_fabsf(scale);
    const bool has_reciprocal = size > 0x1p-100F && size < 0x1p100F;
    const bool is_whole = zero >= -255 && zero <= 255 && zero == static_cast<float>(static_cast<int>(zero));
    factor_ = splat<F32v>(1.0F / scale);
    least_off_ = splat<F32v>(has_reciprocal && is_whole ? 0.0F : 1.0F);
#endif
  }

  /// Quantises x to whole numbers as f32.
  template <int N>
  FRAZIL_INLINE void run(const F32v (&x)[N], F32v (&y)[N]) const {
#if defined(__AVX512F__)
    F32v off = least_off_;
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) {
      const F32v q = x[v] * factor_;
      y[v] = round(q);
      off = farther(off, q - y[v]);
    }
    if (is_unsure(off)) [[unlikely]]
      return divide(x, y);
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) {
      y[v] = (F32v)_mm512_maskz_max_ps(0xffff, (__m512)(y[v] + zero_), _mm512_set1_ps(kLow));  // kLow for NaN
      y[v] = at_most(y[v], kHigh);
      if constexpr (kSigned) y[v] = x[v] == x[v] ? y[v] : F32v{};
    }
#else
    divide(x, y);
#endif
  }

  /// Quantises x to bytes at `to`, which must not overlap x.
  template <int N>
  FRAZIL_INLINE void bytes(const F32v (&x)[N], void* to) const {
#if defined(__AVX512F__)
    if constexpr (N == 4 && !kSigned) {
      if (pack(x, to)) [[likely]]
        return;
    }
#endif
    F32v y[N];
    run(x, y);
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) {
      const auto whole = __builtin_convertvector(__builtin_convertvector(y[v], I32v), I8q);
      store(static_cast<std::int8_t*>(to) + v * kLanes<F32v>, whole);
    }
  }

 private:
  static constexpr float kLow = kSigned ? -128 : 0, kHigh = kSigned ? 127 : 255;

  template <int N>
  FRAZIL_INLINE void divide(const F32v (&x)[N], F32v (&y)[N]) const {
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) {
      const F32v limited = at_most(at_least(round(x[v] / scale_) + zero_, kLow), kHigh);
      const F32v number = limited == limited ? limited : F32v{};
      y[v] = __builtin_convertvector(__builtin_convertvector(number, I32v), F32v);
    }
  }

#if defined(__AVX512F__)
  // x * (1 / scale) differs from the quotient by less than 2^-12 within 2^10. Outside, the limits apply and the
  // difference has no effect. Near the middle of two integers, the quotient's own rounding matters, and all lanes are
  // divided.
  static constexpr float kSure = 0.4995F;

  /// Returns the larger magnitude, or the number if the other operand is NaN.
  FRAZIL_INLINE static F32v farther(F32v a, F32v b) {
    constexpr int kMagnitudes = 0b1011;
    return (F32v)_mm512_maskz_range_ps(0xffff, (__m512)a, (__m512)b, kMagnitudes);
  }
  FRAZIL_INLINE static bool is_unsure(F32v off) {
    return _mm512_cmp_ps_mask((__m512)off, _mm512_set1_ps(kSure), _CMP_GE_OQ) != 0;
  }

  /// Converts with saturation, which maps NaN to 0. Returns false without writing if all lanes have to be divided.
  FRAZIL_INLINE bool pack(const F32v (&x)[4], void* to) const {
    F32v q[4], off = least_off_;
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      constexpr float kFits = 0x1p24F;
      q[v] = at_most(x[v] * factor_, kFits);
      constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
      off = farther(off, (F32v)_mm512_maskz_reduce_ps(0xffff, (__m512)q[v], kNearest));
    }
    if (is_unsure(off)) [[unlikely]]
      return false;
    const __m512i zero = _mm512_set1_epi16(static_cast<short>(zero_));
    __m512i pairs[2];
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      const auto whole = [&](int i) { return _mm512_maskz_cvtps_epi32(0xffff, (__m512)q[2 * v + i]); };
      pairs[v] = _mm512_adds_epi16(_mm512_packs_epi32(whole(0), whole(1)), zero);
    }
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i all = _mm512_maskz_permutexvar_epi32(0xffff, order, _mm512_packus_epi16(pairs[0], pairs[1]));
    __builtin_memcpy(to, &all, sizeof all);
    return true;
  }
#endif

  F32v scale_;
#if defined(__AVX512F__)
  F32v factor_, least_off_;
#endif
  float zero_;
};

}  // namespace
}  // namespace frazil::kernel::FRAZIL_ISA_NS
