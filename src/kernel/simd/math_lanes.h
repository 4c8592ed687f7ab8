#pragma once

// Vectors of f32 and f64 in GCC's vector extension, as wide as those of the instruction set. Private to translation
// units that are compiled for one instruction set and define FRAZIL_ISA_NS. Code here must not be shared between
// instruction sets.

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(FRAZIL_NEON)
#include <arm_neon.h>
#endif

#define FRAZIL_INLINE [[gnu::always_inline]] inline

namespace frazil::kernel::FRAZIL_ISA_NS {

#if defined(__AVX512F__)
inline constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t kVectorBytes = 32;
#else
inline constexpr std::size_t kVectorBytes = 16;
#endif

using F32v = float __attribute__((vector_size(kVectorBytes)));
using I32v = std::int32_t __attribute__((vector_size(kVectorBytes)));
using U32v = std::uint32_t __attribute__((vector_size(kVectorBytes)));
using F64v = double __attribute__((vector_size(kVectorBytes)));
using I64v = std::int64_t __attribute__((vector_size(kVectorBytes)));
using U64v = std::uint64_t __attribute__((vector_size(kVectorBytes)));
/// An f32 vector with as many lanes as F64v.
using F32h = float __attribute__((vector_size(kVectorBytes / 2)));
using I32h = std::int32_t __attribute__((vector_size(kVectorBytes / 2)));
using U32h = std::uint32_t __attribute__((vector_size(kVectorBytes / 2)));

template <class V>
struct Lanes;
template <>
struct Lanes<F32v> {
  using Bits = U32v;
  using Scalar = float;
  static constexpr float kMagic = 0x1.8p23f, kIntegral = 0x1p23f;  // kMagic + x has the rounded x in its low bits
  static constexpr std::uint32_t kSign = 0x80000000;
};
template <>
struct Lanes<F64v> {
  using Bits = U64v;
  using Scalar = double;
  static constexpr double kMagic = 0x1.8p52, kIntegral = 0x1p52;
  static constexpr std::uint64_t kSign = 0x8000000000000000;
};
template <>
struct Lanes<F32h> {
  using Bits = U32h;
  using Scalar = float;
};

template <class V>
inline constexpr std::size_t kLanes = sizeof(V) / sizeof(typename Lanes<V>::Scalar);

template <class V>
FRAZIL_INLINE V load(const void* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class V>
FRAZIL_INLINE void store(void* to, V v) {
  __builtin_memcpy(to, &v, sizeof v);
}
template <class V>
FRAZIL_INLINE V splat(typename Lanes<V>::Scalar s) {
  return s - V{};  // subtracting zero keeps every s, including -0
}
/// Returns the bits of v as unsigned integers, so that arithmetic on the bits of a NaN may wrap.
template <class V>
FRAZIL_INLINE typename Lanes<V>::Bits bits(V v) {
  return reinterpret_cast<typename Lanes<V>::Bits>(v);
}
template <class V>
FRAZIL_INLINE V from_bits(typename Lanes<V>::Bits b) {
  return reinterpret_cast<V>(b);
}
template <class V>
FRAZIL_INLINE V abs(V x) {
  return from_bits<V>(bits(x) & ~Lanes<V>::kSign);
}
/// Returns x with the sign of s; x must not be negative.
template <class V>
FRAZIL_INLINE V with_sign(V x, V s) {
  return from_bits<V>(bits(x) | (bits(s) & Lanes<V>::kSign));
}

/// Returns |x| with the sign of s.
FRAZIL_INLINE F32v copysign(F32v x, F32v s) {
#if defined(__AVX512F__)
  constexpr int kChoose = 0xca;  // selects bits of the second operand where the first has a 1, else of the third
  return (F32v)_mm512_ternarylogic_epi32(_mm512_set1_epi32(0x7fffffff), (__m512i)x, (__m512i)s, kChoose);
#elif defined(FRAZIL_NEON)
  return (F32v)vbslq_f32(vdupq_n_u32(0x80000000), (float32x4_t)s, (float32x4_t)x);
#else
  return with_sign(abs(x), s);
#endif
}

/// Returns in each lane the table entry selected by the low three bits of its index.
FRAZIL_INLINE F32v look_up(const float (&table)[8], U32v index) {
#if defined(__AVX512F__)
  const __m512 twice = _mm512_maskz_broadcast_f32x8(0xffff, _mm256_loadu_ps(table));
  return (F32v)_mm512_maskz_permutexvar_ps(0xffff, (__m512i)index, twice);
#elif defined(__AVX2__)
  return (F32v)_mm256_permutevar8x32_ps(_mm256_loadu_ps(table), (__m256i)index);
#elif defined(FRAZIL_NEON)
  uint8x16x2_t bytes;
  __builtin_memcpy(&bytes, table, sizeof bytes);
  const U32v places = (index & 7) * 0x04040404 + 0x03020100;  // positions of each entry's bytes
  return (F32v)vqtbl2q_u8(bytes, (uint8x16_t)places);
#else
  F32v found;
  for (std::size_t i = 0; i < kLanes<F32v>; ++i) found[i] = table[index[i] & 7];
  return found;
#endif
}

/// Returns max(x, c); NaN stays NaN.
FRAZIL_INLINE F32v at_least(F32v x, float c) {
#if defined(__AVX512F__)
  return (F32v)_mm512_maskz_max_ps(0xffff, _mm512_set1_ps(c), (__m512)x);
#elif defined(__AVX2__)
  return (F32v)_mm256_max_ps(_mm256_set1_ps(c), (__m256)x);
#elif defined(FRAZIL_NEON)
  return (F32v)vmaxq_f32((float32x4_t)x, vdupq_n_f32(c));
#else
  return x < c ? splat<F32v>(c) : x;
#endif
}
/// Returns min(x, c); NaN stays NaN.
FRAZIL_INLINE F32v at_most(F32v x, float c) {
#if defined(__AVX512F__)
  return (F32v)_mm512_maskz_min_ps(0xffff, _mm512_set1_ps(c), (__m512)x);
#elif defined(__AVX2__)
  return (F32v)_mm256_min_ps(_mm256_set1_ps(c), (__m256)x);
#elif defined(FRAZIL_NEON)
  return (F32v)vminq_f32((float32x4_t)x, vdupq_n_f32(c));
#else
  return x > c ? splat<F32v>(c) : x;
#endif
}

/// Returns a > b ? a : b.
FRAZIL_INLINE F32v larger(F32v a, F32v b) {
#if defined(__AVX512F__)
  return (F32v)_mm512_maskz_max_ps(0xffff, (__m512)a, (__m512)b);
#elif defined(__AVX2__)
  return (F32v)_mm256_max_ps((__m256)a, (__m256)b);
#else
  return a > b ? a : b;
#endif
}

#if defined(__AVX512F__)
/// Returns the lanes where |x| is neither 0 nor in [2^-60, 2^60).
FRAZIL_INLINE __mmask16 unusual_lanes(F32v x) {
  constexpr std::uint32_t kMinimum = 67u << 24, kSpan = 120u << 24;  // bits without the sign, shifted left by one
  const U32v twice = bits(x) << 1;
  const __mmask16 outside =
      _mm512_cmpge_epu32_mask((__m512i)(twice - kMinimum), _mm512_set1_epi32(static_cast<std::int32_t>(kSpan)));
  return _mm512_mask_test_epi32_mask(outside, (__m512i)twice, (__m512i)twice);
}
#endif

/// Returns a * b + c, rounded once, with the same bits with and without hardware support.
#if defined(__AVX512F__)
FRAZIL_INLINE F32v fma(F32v a, F32v b, F32v c) { return (F32v)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
#elif defined(__FMA__)
FRAZIL_INLINE F32v fma(F32v a, F32v b, F32v c) { return (F32v)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
#elif defined(FRAZIL_NEON)
FRAZIL_INLINE F32v fma(F32v a, F32v b, F32v c) {
  return (F32v)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
#elif defined(__x86_64__)
/// The product is exact in f64. The sum is rounded to odd there, so that rounding to f32 gives the correctly rounded
/// result.
FRAZIL_INLINE float fma(float a, float b, float c) {
  const double product = double(a) * b, sum = product + c, part = sum - product;
  const double lost = (product - (sum - part)) + (c - part);
  std::uint64_t odd;
  __builtin_memcpy(&odd, &sum, sizeof odd);
  if ((lost < 0 || lost > 0) && (odd & 1) == 0) odd += (lost > 0) == (sum > 0) ? 1 : -1;
  double result;
  __builtin_memcpy(&result, &odd, sizeof result);
  return float(result);
}
FRAZIL_INLINE F32v fma(F32v a, F32v b, F32v c) {
  for (std::size_t i = 0; i < kLanes<F32v>; ++i) a[i] = fma(a[i], b[i], c[i]);
  return a;
}
#else
FRAZIL_INLINE F32v fma(F32v a, F32v b, F32v c) {
  for (std::size_t i = 0; i < kLanes<F32v>; ++i) a[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return a;
}
#endif
/// Returns c - a * b.
FRAZIL_INLINE F32v fnma(F32v a, F32v b, F32v c) {
#if defined(__AVX512F__)
  return (F32v)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (F32v)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(FRAZIL_NEON)
  return (F32v)vfmsq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return fma(-a, b, c);
#endif
}
FRAZIL_INLINE F32v fma(F32v a, F32v b, float c) { return fma(a, b, splat<F32v>(c)); }
FRAZIL_INLINE F32v fma(F32v a, float b, F32v c) { return fma(a, splat<F32v>(b), c); }
FRAZIL_INLINE F32v fma(float a, F32v b, float c) { return fma(splat<F32v>(a), b, splat<F32v>(c)); }

// Loads and stores of the first n elements, 0 < n < kLanes. The other lanes load as zero, and memory after the elements
// is not accessed.

#if defined(__AVX512F__)
FRAZIL_INLINE __mmask16 first_lanes(std::size_t n) { return static_cast<__mmask16>((1u << n) - 1); }
FRAZIL_INLINE void load_partial(F32v& v, const void* from, std::size_t n) {
  v = (F32v)_mm512_maskz_loadu_ps(first_lanes(n), from);
}
FRAZIL_INLINE void load_partial(F64v& v, const void* from, std::size_t n) {
  v = (F64v)_mm512_maskz_loadu_pd(static_cast<__mmask8>(first_lanes(n)), from);
}
FRAZIL_INLINE void load_partial(F32h& v, const void* from, std::size_t n) {
  v = (F32h)_mm256_maskz_loadu_ps(static_cast<__mmask8>(first_lanes(n)), from);
}
FRAZIL_INLINE void store_partial(void* to, F32v v, std::size_t n) {
  _mm512_mask_storeu_ps(to, first_lanes(n), (__m512)v);
}
FRAZIL_INLINE void store_partial(void* to, F64v v, std::size_t n) {
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>(first_lanes(n)), (__m512d)v);
}
FRAZIL_INLINE void store_partial(void* to, F32h v, std::size_t n) {
  _mm256_mask_storeu_ps(to, static_cast<__mmask8>(first_lanes(n)), (__m256)v);
}
#elif defined(__AVX2__)
FRAZIL_INLINE __m256i first_lanes(F32v, std::size_t n) {
  return (__m256i)(I32v{0, 1, 2, 3, 4, 5, 6, 7} < static_cast<std::int32_t>(n));
}
FRAZIL_INLINE __m256i first_lanes(F64v, std::size_t n) {
  return (__m256i)(I64v{0, 1, 2, 3} < static_cast<std::int64_t>(n));
}
FRAZIL_INLINE __m128i first_lanes(F32h, std::size_t n) {
  return (__m128i)(I32h{0, 1, 2, 3} < static_cast<std::int32_t>(n));
}
FRAZIL_INLINE void load_partial(F32v& v, const void* from, std::size_t n) {
  v = (F32v)_mm256_maskload_ps(static_cast<const float*>(from), first_lanes(v, n));
}
FRAZIL_INLINE void load_partial(F64v& v, const void* from, std::size_t n) {
  v = (F64v)_mm256_maskload_pd(static_cast<const double*>(from), first_lanes(v, n));
}
FRAZIL_INLINE void load_partial(F32h& v, const void* from, std::size_t n) {
  v = (F32h)_mm_maskload_ps(static_cast<const float*>(from), first_lanes(v, n));
}
FRAZIL_INLINE void store_partial(void* to, F32v v, std::size_t n) {
  _mm256_maskstore_ps(static_cast<float*>(to), first_lanes(v, n), (__m256)v);
}
FRAZIL_INLINE void store_partial(void* to, F64v v, std::size_t n) {
  _mm256_maskstore_pd(static_cast<double*>(to), first_lanes(v, n), (__m256d)v);
}
FRAZIL_INLINE void store_partial(void* to, F32h v, std::size_t n) {
  _mm_maskstore_ps(static_cast<float*>(to), first_lanes(v, n), (__m128)v);
}
#else
template <class V>
FRAZIL_INLINE void load_partial(V& v, const void* from, std::size_t n) {
  typedef typename Lanes<V>::Scalar Element __attribute__((may_alias));
  auto* a = static_cast<const Element*>(from);
  v = V{a[0]};
  if constexpr (kLanes < V >> 2) {  // constant indices keep v in a register
    if (n > 1) v[1] = a[1];
    if (n > 2) v[2] = a[2];
  }
}
template <class V>
FRAZIL_INLINE void store_partial(void* to, V v, std::size_t n) {
  typedef typename Lanes<V>::Scalar Element __attribute__((may_alias));
  auto* r = static_cast<Element*>(to);
  r[0] = v[0];
  if constexpr (kLanes < V >> 2) {
    if (n > 1) r[1] = v[1];
    if (n > 2) r[2] = v[2];
  }
}
#endif

}  // namespace frazil::kernel::FRAZIL_ISA_NS
