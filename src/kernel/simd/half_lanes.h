#pragma once

// Conversions between vectors of f16 or bf16 in memory and vectors of f32 in registers. Private to translation units
// that are compiled for one instruction set and define FRAZIL_ISA_NS. Rounding gives the same bits as
// base/value/float.h.

#include "kernel/simd/f32_lanes.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

/// A vector of 16-bit numbers with as many lanes as F32v.
using U16h = std::uint16_t __attribute__((vector_size(kVectorBytes / 2)));

FRAZIL_INLINE U16h low_halves(U32v x) {
#if defined(__AVX512F__)
  return (U16h)_mm512_maskz_cvtepi32_epi16(0xffff, (__m512i)x);
#else
  return __builtin_convertvector(x, U16h);
#endif
}
FRAZIL_INLINE U32v zero_extended(U16h x) {
#if defined(__AVX512F__)
  return (U32v)_mm512_maskz_cvtepu16_epi32(0xffff, (__m256i)x);
#elif defined(__AVX2__)
  return (U32v)_mm256_cvtepu16_epi32((__m128i)x);
#else
  return __builtin_convertvector(x, U32v);
#endif
}

struct Bf16 {
  FRAZIL_INLINE static F32v widened(U16h x) { return (F32v)(zero_extended(x) << 16); }
  FRAZIL_INLINE static U16h narrowed(F32v x) { return low_halves(upper(x) >> 16); }
  /// Rounds x to the nearest bf16 and returns it as f32.
  FRAZIL_INLINE static F32v rounded(F32v x) { return (F32v)(upper(x) & 0xffff0000u); }

 private:
  FRAZIL_INLINE static U32v upper(F32v x) {
    const U32v b = bits(x), even = b + 0x7fffu + ((b >> 16) & 1u), quiet = b | 0x400000u;
    return x == x ? even : quiet;
  }
};

struct F16 {
#if defined(__AVX512F__)
  FRAZIL_INLINE static F32v widened(U16h x) { return (F32v)_mm512_maskz_cvtph_ps(0xffff, (__m256i)x); }
  FRAZIL_INLINE static U16h narrowed(F32v x) {
    return (U16h)_mm512_maskz_cvtps_ph(0xffff, (__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
#elif defined(__AVX2__)
  FRAZIL_INLINE static F32v widened(U16h x) { return (F32v)_mm256_cvtph_ps((__m128i)x); }
  FRAZIL_INLINE static U16h narrowed(F32v x) { return (U16h)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT); }
#elif defined(FRAZIL_NEON)
  FRAZIL_INLINE static F32v widened(U16h x) { return (F32v)vcvt_f32_f16((float16x4_t)x); }
  FRAZIL_INLINE static U16h narrowed(F32v x) { return (U16h)vcvt_f16_f32((float32x4_t)x); }
#else
  FRAZIL_INLINE static F32v widened(U16h x) {
    const U32v all = zero_extended(x), sign = (all & 0x8000u) << 16, magnitude = all & 0x7fffu;
    const U32v normal = (magnitude << 13) + (112u << 23);
    const U32v tiny = bits(__builtin_convertvector((I32v)magnitude, F32v) * 0x1p-24f);
    const U32v quiet = magnitude > 0x7c00u ? U32v{} + 0x400000u : U32v{};
    const U32v finite = magnitude < 0x400u ? tiny : normal;
    return (F32v)(sign | (magnitude >= 0x7c00u ? (magnitude << 13) | 0x7f800000u | quiet : finite));
  }
  FRAZIL_INLINE static U16h narrowed(F32v x) {
    const U32v b = bits(x), sign = (b >> 16) & 0x8000u, magnitude = b & 0x7fffffffu;
    const U32v normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    const U32v tiny = bits((F32v)magnitude + 0.5f) - 0x3f000000u;
    const U32v special = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : U32v{} + 0x7c00u;
    const U32v finite = magnitude < 0x38800000u ? tiny : normal;
    return low_halves(sign | (magnitude >= 0x47800000u ? special : finite));
  }
#endif
  FRAZIL_INLINE static F32v rounded(F32v x) { return widened(narrowed(x)); }
};

FRAZIL_INLINE U16h load_halves(const std::uint16_t* p) { return load<U16h>(p); }
FRAZIL_INLINE void store_halves(std::uint16_t* p, U16h v) { store(p, v); }
/// Loads the first n elements. The other lanes become zero, and their memory is not read.
FRAZIL_INLINE U16h load_halves(const std::uint16_t* p, int64_t n) {
#if defined(__AVX512F__)
  return (U16h)_mm256_maskz_loadu_epi16(first_lanes(n), p);
#else
  U16h v{};
  for (int i = 0; i < kW; ++i)
    if (i < n) v[i] = load<std::uint16_t>(p + i);
  return v;
#endif
}
FRAZIL_INLINE void store_halves(std::uint16_t* p, U16h v, int64_t n) {
#if defined(__AVX512F__)
  _mm256_mask_storeu_epi16(p, first_lanes(n), (__m256i)v);
#else
  for (int i = 0; i < kW; ++i)
    if (i < n) store<std::uint16_t>(p + i, v[i]);
#endif
}

}  // namespace
}  // namespace frazil::kernel::FRAZIL_ISA_NS
