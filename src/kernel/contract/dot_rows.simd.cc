// Products of a few rows of f32 with a B whose columns are contiguous. Both are read in place and summed along vectors.

#include "base/thread/poll_throttle.h"
#include "kernel/contract/product.simd.h"
#include "kernel/contract/results.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

struct Dots : Results {
  int64_t k, a_row, b_col;
  const float *a, *b;
};

/// Computes C = A * B^T for R rows of A against NC rows of B, all contiguous along k.
template <int R, int NC>
void dot_tile(const Dots& g, int64_t row, int64_t col) {
  F32v acc[R][NC];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int c = 0; c < NC; ++c) acc[r][c] = F32v{};
  const float* a = g.a + row * g.a_row;
  const float* b = g.b + col * g.b_col;
  const auto step = [&](int64_t i, auto&& get) __attribute__((always_inline)) {
    F32v av[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) av[r] = get(a + r * g.a_row + i);
#pragma GCC unroll 16
    for (int c = 0; c < NC; ++c) {
      const F32v bv = get(b + c * g.b_col + i);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) acc[r][c] = mul_add(av[r], bv, acc[r][c]);
    }
  };
  int64_t i = 0;
  for (; i + kW <= g.k; i += kW) step(i, [](const float* p) __attribute__((always_inline)) { return loadv(p); });
  if (i < g.k) {
    const Mask mask = first_lanes(g.k - i);
    step(i, [&](const float* p) __attribute__((always_inline)) { return load_mask(p, mask); });
  }
  for (int r = 0; r < R; ++r) {
    float* out = g.c + (row + r) * g.c_row + col;
    if constexpr (NC == 1) {
      float x = sum_lanes(acc[r][0]);
      if (g.accumulate) x = *out + x;
      if (g.bias != nullptr) x += load_1(g.bias + col);
      if (g.addend != nullptr) x += load_1(g.addend + (row + r) * g.addend_row + col);
      *out = leaky_relu(x, g.negative_slope);
    } else {
      for (int c = 0; c < NC; c += 4) {
        F32x4 x = sum4(acc[r][c], acc[r][c + 1], acc[r][c + 2], acc[r][c + 3]);
        if (g.accumulate) x = load_4(out + c) + x;
        if (g.bias != nullptr) x += load_4(g.bias + col + c);
        if (g.addend != nullptr) x += load_4(g.addend + (row + r) * g.addend_row + col + c);
        store_4(out + c, leaky_relu(x, g.negative_slope));
      }
    }
  }
}

template <int R>
void dot_strip(const Dots& g, int64_t row, int64_t col, int64_t end) {
  constexpr int kCols = R == 1 ? 8 : 4;
  for (; col + kCols <= end; col += kCols) dot_tile<R, kCols>(g, row, col);
  for (; col < end; ++col) dot_tile<R, 1>(g, row, col);
}

}  // namespace

void dot_rows(const Product& g, const float* b, int64_t b_col, int64_t begin, int64_t end) noexcept {
  constexpr int64_t kChunk = 32;  // columns whose part of B stays in a cache for all rows
  const Dots dots{results_of(g), g.k, g.a_row, b_col, static_cast<const float*>(g.a), b};
  for (int64_t col = 0; col < g.n; col += kChunk) {
    if (stop_requested()) return;
    const int64_t stop = min64(g.n, col + kChunk);
    int64_t row = begin;
    for (; row + 4 <= end; row += 4) dot_strip<4>(dots, row, col, stop);
    if (end - row == 3) dot_strip<3>(dots, row, col, stop);
    if (end - row == 2) dot_strip<2>(dots, row, col, stop);
    if (end - row == 1) dot_strip<1>(dots, row, col, stop);
  }
  if (g.on_tile != nullptr) (*g.on_tile)(begin, end, g.first_col, g.first_col + g.n);
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
