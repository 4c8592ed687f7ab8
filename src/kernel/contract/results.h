#pragma once

// The epilogue of f32 tiles. Private to translation units of one instruction set, like math_lanes.h.

#include "kernel/contract/product.simd.h"
#include "kernel/simd/f32_lanes.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

FRAZIL_INLINE Results results_of(const Product& g) {
  const auto floats = [](const void* p) { return static_cast<const float*>(p); };
  const Columns& c = g.columns;
  return {.c = static_cast<float*>(g.c),
          .c_row = g.c_row,
          .bias = floats(c.bias),
          .scale = c.scale,
          .shift = c.shift,
          .addend = floats(c.addend),
          .addend_row = c.addend_row,
          .accumulate = g.accumulate,
          .negative_slope = c.negative_slope};
}

template <int R, int NV, bool Tail>
FRAZIL_INLINE void finish(F32v (&acc)[R][NV], const Results& g, Mask mask) {
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
  if (g.bias != nullptr)
    each([&](F32v& x, int, int v, bool last) __attribute__((always_inline)) { x += get(g.bias + v * kW, last); });
  if (g.row_bias != nullptr)
    each([&](F32v& x, int r, int, bool) __attribute__((always_inline)) { x += set1(load_1(g.row_bias + r)); });
  if (g.scale != nullptr)
    each([&](F32v& x, int, int v, bool last) __attribute__((always_inline)) { x *= get(g.scale + v * kW, last); });
  if (g.shift != nullptr)
    each([&](F32v& x, int, int v, bool last) __attribute__((always_inline)) { x += get(g.shift + v * kW, last); });
  if (g.addend != nullptr)
    each([&](F32v& x, int r, int v, bool last)
             __attribute__((always_inline)) { x += get(g.addend + r * g.addend_row + v * kW, last); });
  if (g.negative_slope != 1)
    each([&](F32v& x, int, int, bool) __attribute__((always_inline)) { x = leaky_relu(x, g.negative_slope); });
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
