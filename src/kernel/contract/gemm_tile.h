#pragma once

// What the micro-kernels of GEMM and convolution share: the size of a tile of C in registers, and its end. Private to
// translation units that are compiled for one instruction set and define FRAZIL_ISA_NS.

#include "kernel/contract/gemm.simd.h"
#include "kernel/simd/f32_lanes.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

#if defined(__AVX512F__) || defined(FRAZIL_NEON)  // 32 registers
constexpr int kTileRows = 12;
constexpr int wide_vectors(int rows) { return rows <= 2 ? 8 : rows <= 6 ? 4 : 2; }
#else
constexpr int kTileRows = 6;
constexpr int wide_vectors(int rows) { return rows == 1 ? 8 : rows <= 3 ? 4 : 2; }
#endif

/// C = ((accumulate ? C : 0) + acc + biases) * scale + shift + addend; negative elements are multiplied by slope.
template <int R, int NV, bool Tail>
FRAZIL_INLINE void finish(F32v (&acc)[R][NV], const GemmBlock& g, Mask mask) {
  const auto each = [&](auto&& f) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) f(acc[r][v], r, v, Tail && v == NV - 1);
  };
  const auto get = [&](const float* p, bool last)
                       __attribute__((always_inline)) { return last ? load_mask(p, mask) : loadv(p); };
  if (g.accumulate)
    each([&](F32v& x, int r, int v, bool last)
             __attribute__((always_inline)) { x += get(g.c + r * g.c_row + v * kW, last); });
  if (g.col_bias != nullptr)
    each([&](F32v& x, int, int v, bool last) __attribute__((always_inline)) { x += get(g.col_bias + v * kW, last); });
  if (g.row_bias != nullptr)
    each([&](F32v& x, int r, int, bool) __attribute__((always_inline)) { x += set1(load_1(g.row_bias + r)); });
  if (g.col_scale != nullptr)
    each([&](F32v& x, int, int v, bool last) __attribute__((always_inline)) { x *= get(g.col_scale + v * kW, last); });
  if (g.col_shift != nullptr)
    each([&](F32v& x, int, int v, bool last) __attribute__((always_inline)) { x += get(g.col_shift + v * kW, last); });
  if (g.addend != nullptr)
    each([&](F32v& x, int r, int v, bool last)
             __attribute__((always_inline)) { x += get(g.addend + r * g.addend_row + v * kW, last); });
  if (g.slope != 1) each([&](F32v& x, int, int, bool) __attribute__((always_inline)) { x = bent(x, g.slope); });
  each([&](F32v& x, int r, int v, bool last) __attribute__((always_inline)) {
    float* p = g.c + r * g.c_row + v * kW;
    if (last) {
      store_mask(p, x, mask);
    } else {
      storev(p, x);
    }
  });
}

}  // namespace
}  // namespace frazil::kernel::FRAZIL_ISA_NS
