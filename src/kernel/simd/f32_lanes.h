#pragma once

// f32 vectors, masks and small transposes for the reassociated kernels (gemm, conv, rows, rnn), on top of math.h.
// Private to translation units that are compiled for one instruction set and define FRAZIL_ISA_NS.

#include <cstdint>

#include "kernel/simd/math.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

using std::int64_t;

constexpr int kW = static_cast<int>(kLanes<F32v>);

/// Loads a float at any alignment.
FRAZIL_INLINE float load_1(const void* p) {
  float x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}

FRAZIL_INLINE int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
FRAZIL_INLINE int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
FRAZIL_INLINE constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

FRAZIL_INLINE F32v loadv(const float* p) { return load<F32v>(p); }
FRAZIL_INLINE void storev(float* p, F32v v) { store(p, v); }

#if defined(__AVX512F__)

FRAZIL_INLINE F32v set1(float s) { return (F32v)_mm512_set1_ps(s); }
/// Returns a * b + c, rounded once if the instruction set has FMA.
FRAZIL_INLINE F32v mul_add(F32v a, F32v b, F32v c) { return (F32v)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }

using Mask = __mmask16;
/// Returns the mask of lanes [0, n), 0 <= n <= kW.
FRAZIL_INLINE Mask first_lanes(int64_t n) { return static_cast<Mask>((1u << n) - 1); }
/// Loads the lanes in `m`. The other lanes become zero, and their memory is not read.
FRAZIL_INLINE F32v load_mask(const float* p, Mask m) { return (F32v)_mm512_maskz_loadu_ps(m, p); }
FRAZIL_INLINE void store_mask(float* p, F32v v, Mask m) { _mm512_mask_storeu_ps(p, m, (__m512)v); }

#elif defined(__AVX2__)

FRAZIL_INLINE F32v set1(float s) { return (F32v)_mm256_set1_ps(s); }
FRAZIL_INLINE F32v mul_add(F32v a, F32v b, F32v c) { return (F32v)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }

using Mask = I32v;
FRAZIL_INLINE Mask first_lanes(int64_t n) { return I32v{0, 1, 2, 3, 4, 5, 6, 7} < static_cast<int>(n); }
FRAZIL_INLINE F32v load_mask(const float* p, Mask m) { return (F32v)_mm256_maskload_ps(p, (__m256i)m); }
FRAZIL_INLINE void store_mask(float* p, F32v v, Mask m) { _mm256_maskstore_ps(p, (__m256i)m, (__m256)v); }

#else

FRAZIL_INLINE F32v set1(float s) { return F32v{s, s, s, s}; }
#if defined(FRAZIL_NEON)
FRAZIL_INLINE F32v mul_add(F32v a, F32v b, F32v c) { return fma(a, b, c); }
#else
FRAZIL_INLINE F32v mul_add(F32v a, F32v b, F32v c) { return a * b + c; }
#endif

using Mask = int64_t;
FRAZIL_INLINE Mask first_lanes(int64_t n) { return n; }
FRAZIL_INLINE F32v load_mask(const float* p, Mask m) {
  if (m >= kW) return loadv(p);
  F32v v{};
  for (int i = 0; i < kW; ++i)
    if (i < m) v[i] = p[i];
  return v;
}
FRAZIL_INLINE void store_mask(float* p, F32v v, Mask m) {
  if (m >= kW) return storev(p, v);
  for (int i = 0; i < kW; ++i)
    if (i < m) p[i] = v[i];
}

#endif

using F32x4 = float __attribute__((vector_size(16)));

FRAZIL_INLINE F32x4 load_4(const void* p) {
  F32x4 v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
FRAZIL_INLINE void store_4(float* p, F32x4 v) { __builtin_memcpy(p, &v, sizeof v); }

/// Returns the horizontal sums of v0 .. v3, all by the same summation tree.
FRAZIL_INLINE F32x4 sum4(F32v v0, F32v v1, F32v v2, F32v v3) {
#if defined(__AVX512F__)
  const F32v t0 = __builtin_shufflevector(v0, v1, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29) +
                  __builtin_shufflevector(v0, v1, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  const F32v t1 = __builtin_shufflevector(v2, v3, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29) +
                  __builtin_shufflevector(v2, v3, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  const F32v u = __builtin_shufflevector(t0, t1, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
                 __builtin_shufflevector(t0, t1, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
  const auto h = __builtin_shufflevector(u, u, 0, 1, 2, 3, 4, 5, 6, 7) +
                 __builtin_shufflevector(u, u, 8, 9, 10, 11, 12, 13, 14, 15);
  return __builtin_shufflevector(h, h, 0, 1, 2, 3) + __builtin_shufflevector(h, h, 4, 5, 6, 7);
#elif defined(__AVX2__)
  const F32v t0 = __builtin_shufflevector(v0, v1, 0, 8, 1, 9, 4, 12, 5, 13) +
                  __builtin_shufflevector(v0, v1, 2, 10, 3, 11, 6, 14, 7, 15);
  const F32v t1 = __builtin_shufflevector(v2, v3, 0, 8, 1, 9, 4, 12, 5, 13) +
                  __builtin_shufflevector(v2, v3, 2, 10, 3, 11, 6, 14, 7, 15);
  const F32v u = __builtin_shufflevector(t0, t1, 0, 1, 8, 9, 4, 5, 12, 13) +
                 __builtin_shufflevector(t0, t1, 2, 3, 10, 11, 6, 7, 14, 15);
  return __builtin_shufflevector(u, u, 0, 1, 2, 3) + __builtin_shufflevector(u, u, 4, 5, 6, 7);
#elif defined(FRAZIL_NEON)
  const float32x4_t t0 = vpaddq_f32((float32x4_t)v0, (float32x4_t)v1),
                    t1 = vpaddq_f32((float32x4_t)v2, (float32x4_t)v3);
  return (F32x4)vpaddq_f32(t0, t1);
#else
  const F32v t0 = __builtin_shufflevector(v0, v1, 0, 4, 1, 5) + __builtin_shufflevector(v0, v1, 2, 6, 3, 7);
  const F32v t1 = __builtin_shufflevector(v2, v3, 0, 4, 1, 5) + __builtin_shufflevector(v2, v3, 2, 6, 3, 7);
  const F32v u = __builtin_shufflevector(t0, t1, 0, 1, 4, 5) + __builtin_shufflevector(t0, t1, 2, 3, 6, 7);
  return u;
#endif
}
FRAZIL_INLINE float sum_lanes(F32v v) { return sum4(v, v, v, v)[0]; }

/// R elements of a column of A, `step` floats apart, each of which multiplies a vector. Adjacent elements are loaded
/// four at a time if the instruction set can multiply by one lane of a vector.
template <int R, bool Adjacent>
class Factors {
 public:
  FRAZIL_INLINE Factors(const float* from, int64_t step) : from_(from), step_(step) {
#pragma GCC unroll 16
    for (int q = 0; q < kQuads; ++q) quads_[q] = load_4(from + 4 * q);
  }
  /// Returns element r in all lanes, or zero if add() takes it from a lane.
  FRAZIL_INLINE F32v word(int r) const { return r < 4 * kQuads ? F32v{} : set1(load_1(from_ + r * step_)); }
  /// Adds element r times b to `sum`. `word` must be word(r).
  FRAZIL_INLINE void add(F32v& sum, F32v b, F32v word, [[maybe_unused]] int r) const {
#if defined(FRAZIL_NEON)
    if (r < 4 * kQuads) return add_lane(sum, b, quads_[r / 4], r % 4);
#endif
    sum = mul_add(word, b, sum);
  }

 private:
#if defined(FRAZIL_NEON)
  static constexpr int kQuads = Adjacent ? R / 4 : 0;

  /// Uses assembly, because GCC 12 loads the lanes one by one for the intrinsics.
  FRAZIL_INLINE static void add_lane(F32v& sum, F32v b, F32x4 a, int lane) {
    if (lane == 0) asm("fmla %0.4s, %1.4s, %2.s[0]" : "+w"(sum) : "w"(b), "w"(a));
    if (lane == 1) asm("fmla %0.4s, %1.4s, %2.s[1]" : "+w"(sum) : "w"(b), "w"(a));
    if (lane == 2) asm("fmla %0.4s, %1.4s, %2.s[2]" : "+w"(sum) : "w"(b), "w"(a));
    if (lane == 3) asm("fmla %0.4s, %1.4s, %2.s[3]" : "+w"(sum) : "w"(b), "w"(a));
  }
#else
  static constexpr int kQuads = 0;
#endif
  F32x4 quads_[kQuads + 1];
  const float* from_;
  int64_t step_;
};

using U32x4 = std::uint32_t __attribute__((vector_size(16)));

/// Writes the transpose of the 4 x 4 words a, b, c, d as four rows, `next` bytes apart.
FRAZIL_INLINE void store_transposed(U32x4 a, U32x4 b, U32x4 c, U32x4 d, std::byte* to, int64_t next) {
  const U32x4 ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const U32x4 cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  store(to, __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5));
  store(to + next, __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7));
  store(to + 2 * next, __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5));
  store(to + 3 * next, __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7));
}

#if defined(__AVX2__)

constexpr int kSquare = 8;
using F32x8 = float __attribute__((vector_size(32)));

/// Sets dst[c][r] = src[r][c] for a kSquare x kSquare block.
FRAZIL_INLINE void transpose_square(float* dst, int64_t dst_row, const float* src, int64_t src_row) {
  F32x8 v[8], t[8];
  for (int r = 0; r < 4; ++r) {  // lower half: row r, columns 0..3; upper half: row r + 4
    const F32x4 a = load_4(src + r * src_row), b = load_4(src + (r + 4) * src_row);
    const F32x4 c = load_4(src + r * src_row + 4), d = load_4(src + (r + 4) * src_row + 4);
    v[r] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
    v[r + 4] = __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7);
  }
  for (int h = 0; h < 8; h += 4) {
    t[h] = __builtin_shufflevector(v[h], v[h + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    t[h + 1] = __builtin_shufflevector(v[h], v[h + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    t[h + 2] = __builtin_shufflevector(v[h + 2], v[h + 3], 0, 8, 1, 9, 4, 12, 5, 13);
    t[h + 3] = __builtin_shufflevector(v[h + 2], v[h + 3], 2, 10, 3, 11, 6, 14, 7, 15);
    v[h] = __builtin_shufflevector(t[h], t[h + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    v[h + 1] = __builtin_shufflevector(t[h], t[h + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    v[h + 2] = __builtin_shufflevector(t[h + 1], t[h + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    v[h + 3] = __builtin_shufflevector(t[h + 1], t[h + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  for (int c = 0; c < 8; ++c) __builtin_memcpy(dst + c * dst_row, &v[c], sizeof v[c]);
}

#else

constexpr int kSquare = 4;
FRAZIL_INLINE void transpose_square(float* dst, int64_t dst_row, const float* src, int64_t src_row) {
  const auto row = [&](int r) __attribute__((always_inline)) { return load<U32x4>(src + r * src_row); };
  store_transposed(row(0), row(1), row(2), row(3), reinterpret_cast<std::byte*>(dst),
                   dst_row * static_cast<int64_t>(sizeof(float)));
}

#endif

}  // namespace
}  // namespace frazil::kernel::FRAZIL_ISA_NS
