// Packing of f32: panels of columns of B, panels of rows of A.

#include "base/thread/poll_throttle.h"
#include "kernel/contract/float_elements.h"
#include "kernel/contract/product.simd.h"

namespace frazil::kernel::FRAZIL_ISA_NS {

/// Packs whole panels of a B with dense rows, a few rows at a time in memory order.
static void pack_row_major(int64_t k, int64_t panels, const float* b, int64_t b_row, float* packed,
                           int64_t panel) noexcept {
  constexpr int64_t kRows = 16;
  PollThrottle throttle;
  for (int64_t i0 = 0; i0 < k && !throttle.stop(kRows * panels * kPanelCols); i0 += kRows) {
    const int64_t i1 = min64(i0 + kRows, k);
    for (int64_t p = 0; p < panels; ++p) {
      float* to = packed + p * panel;
      const float* from = b + p * kPanelCols;
      for (int64_t i = i0; i < i1; ++i)
        for (int v = 0; v < kPanelCols; v += kW) storev(to + i * kPanelCols + v, loadv(from + i * b_row + v));
    }
  }
}

void pack_cols(int64_t k, int64_t n, const float* b, int64_t b_row, int64_t b_col, float* packed,
               int64_t panel) noexcept {
  PollThrottle throttle;
  const int64_t done = b_col == 1 ? n / kPanelCols : 0;
  pack_row_major(k, done, b, b_row, packed, panel);
  b += done * kPanelCols * b_col;
  packed += done * panel;
  for (int64_t j = done * kPanelCols; j < n; j += kPanelCols, packed += panel, b += kPanelCols * b_col) {
    if (throttle.stop(k * kPanelCols)) return;
    const int64_t cols = min64(kPanelCols, n - j);
    int64_t i = 0;
    if (cols == kPanelCols && b_row == 1) {
      for (; i + kSquare <= k; i += kSquare)
        for (int c = 0; c < kPanelCols; c += kSquare)
          transpose_square(packed + i * kPanelCols + c, kPanelCols, b + i + c * b_col, b_col);
    }
    for (; i < k; ++i) {
      for (int64_t c = 0; c < cols; ++c) packed[i * kPanelCols + c] = load_1(b + i * b_row + c * b_col);
      for (int64_t c = cols; c < kPanelCols; ++c) packed[i * kPanelCols + c] = 0;
    }
  }
}

void pack_panel(int64_t rows, int64_t k, const float* a, int64_t a_row, int64_t a_col, float* packed) noexcept {
  const float* from[kPanelRows];
  for (int64_t r = 0; r < rows; ++r) from[r] = a + r * a_row;
  pack_rows<F32>(from, a_col, rows, k, reinterpret_cast<std::byte*>(packed));
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
