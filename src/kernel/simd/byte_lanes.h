#pragma once

// Vectors of 16-bit integers whose products are summed in pairs. Private to translation units of one instruction set,
// like math_lanes.h.

#include "kernel/simd/f32_lanes.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

using I16v = std::int16_t __attribute__((vector_size(kVectorBytes)));
FRAZIL_INLINE void add_pairs(I32v& sum, I32v b, I32v a) {
#if defined(__AVX512F__)
  sum += (I32v)_mm512_madd_epi16((__m512i)b, (__m512i)a);
#elif defined(__AVX2__)
  sum += (I32v)_mm256_madd_epi16((__m256i)b, (__m256i)a);
#elif defined(__x86_64__)
  sum += (I32v)_mm_madd_epi16((__m128i)b, (__m128i)a);
#elif defined(FRAZIL_NEON)
  const auto x = (int16x8_t)b, y = (int16x8_t)a;
  sum += (I32v)vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y));
#else
  const auto x = (I16v)b, y = (I16v)a;
  for (int i = 0; i < kW; ++i) sum[i] += x[2 * i] * y[2 * i] + x[2 * i + 1] * y[2 * i + 1];
#endif
}

}  // namespace
}  // namespace frazil::kernel::FRAZIL_ISA_NS
