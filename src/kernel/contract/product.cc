#include "kernel/contract/product.h"

#include <algorithm>
#include <cstring>

#include "base/thread/poll_throttle.h"
#include "base/value/extents.h"
#include "kernel/contract/product.simd.h"
#include "kernel/simd/aligned.h"
#include "kernel/simd/isa.h"

namespace frazil::kernel {
namespace {

using std::int64_t;
using std::uint16_t;

constexpr int64_t kWord = 4;  ///< bytes of the widest element of packed A

uint16_t half_at(const uint16_t* p) {
  uint16_t x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

/// Packs rows [p, p + count) of a panel side by side for each column; `cols` columns exist.
void pack_step(const uint16_t* b, int64_t b_row, int64_t b_col, int64_t count, int64_t depth, int64_t cols,
               uint16_t* to) {
  for (int64_t t = 0; t < count; ++t) {
    const uint16_t* from = b + t * b_row;
    for (int64_t c = 0; c < cols; ++c) to[c * depth + t] = half_at(from + c * b_col);
  }
}

/// Packs all columns of a panel whose rows are contiguous.
void pack_rows(const uint16_t* b, int64_t b_row, int64_t k, int64_t depth, uint16_t* to) {
  constexpr std::size_t kRowBytes = kPanelCols * sizeof(uint16_t);
  if (depth == 1) {
    for (int64_t p = 0; p < k; ++p) std::memcpy(to + p * kPanelCols, b + p * b_row, kRowBytes);
    return;
  }
  for (int64_t p = 0; p < k; p += 2, to += 2 * kPanelCols) {
    uint16_t rows[2][kPanelCols] = {};
    std::memcpy(rows[0], b + p * b_row, kRowBytes);
    if (p + 1 < k) std::memcpy(rows[1], b + (p + 1) * b_row, kRowBytes);
    for (int64_t c = 0; c < kPanelCols; ++c) to[2 * c] = rows[0][c], to[2 * c + 1] = rows[1][c];
  }
}

/// Packs columns that are contiguous along k.
void pack_columns(const uint16_t* b, int64_t b_col, int64_t k, int64_t depth, int64_t cols, uint16_t* to) {
  constexpr int64_t kBlock = 32;  // steps of k whose input and output stay in the first-level cache
  for (int64_t p0 = 0; p0 < k; p0 += kBlock) {
    const int64_t p1 = std::min(k, p0 + kBlock);
    for (int64_t c = 0; c < cols; ++c) {
      const uint16_t* from = b + c * b_col;
      int64_t p = p0;
      if (depth == 2) {
        for (; p + 2 <= p1; p += 2) std::memcpy(to + (p / 2 * kPanelCols + c) * 2, from + p, 4);
      }
      for (; p < p1; ++p) to[(p / depth * kPanelCols + c) * depth + p % depth] = half_at(from + p);
    }
  }
}

void pack_halves(int64_t depth, int64_t k, int64_t n, const uint16_t* from, int64_t b_row, int64_t b_col,
                 uint16_t* to) {
  const int64_t panel = round_up(k, depth) * kPanelCols;
  PollThrottle throttle;
  for (int64_t j = 0; j < n; j += kPanelCols, to += panel, from += kPanelCols * b_col) {
    if (throttle.stop(panel)) return;
    const int64_t cols = std::min(kPanelCols, n - j);
    if (b_col == 1 && cols == kPanelCols) {
      pack_rows(from, b_row, k, depth, to);
      continue;
    }
    if (cols < kPanelCols || k % depth != 0) std::memset(to, 0, static_cast<std::size_t>(panel) * sizeof *to);
    if (b_row == 1 && b_col != 1) {
      pack_columns(from, b_col, k, depth, cols, to);
      continue;
    }
    for (int64_t p = 0; p < k; p += depth)
      pack_step(from + p * b_row, b_row, b_col, std::min(depth, k - p), depth, cols, to + p * kPanelCols);
  }
}

void pack_floats(int64_t k, int64_t n, const float* b, int64_t b_row, int64_t b_col, float* to) {
  FRAZIL_DISPATCH(pack_cols(k, n, b, b_row, b_col, to, k * kPanelCols));
}

/// The parts of the scratch of product_rows(). `memory` is null to compute only `bytes`.
struct Parts {
  ProductScratch at;
  int64_t bytes;
  Parts(Elem elem, int64_t m, int64_t k, int64_t taps, void* memory) {
    const int64_t most = round_up(std::max<int64_t>(m, 1), kPanelRows), steps = ceil_div(k, step_elements(elem));
    const int64_t rows = std::min(block_rows(steps), most);
    int64_t words = rows * steps;
    if (elem == Elem::bf16) words = std::max(words, std::min(block_rows(2 * steps), most) * 2 * steps);  // widened
    const int64_t in_runs = taps == 0 ? 0 : std::min(block_rows(steps / taps, kMaxRunRows), most);
    Carver carver(memory);
    at.a = carver.take<std::byte>(words * kWord);
    at.at = carver.take<const std::byte*>(std::max(rows, in_runs) * taps);
    at.row = carver.take<std::byte>(taps == 0 ? 0 : kPanelRows * k * element_bytes(elem));
    bytes = carver.used() + kLineBytes;
  }
};

}  // namespace

std::size_t packed_b_bytes(Elem elem, int64_t k, int64_t n) noexcept {
  if (k <= 0 || n <= 0) return 0;
  return static_cast<std::size_t>(ceil_div(n, kPanelCols) * panel_bytes(elem, k));
}

void pack_b(Elem elem, int64_t k, int64_t n, const void* b, int64_t b_row, int64_t b_col, void* packed) noexcept {
  if (k <= 0 || n <= 0) return;
  if (elem == Elem::f32)
    return pack_floats(k, n, static_cast<const float*>(b), b_row, b_col, static_cast<float*>(packed));
  pack_halves(step_elements(elem), k, n, static_cast<const uint16_t*>(b), b_row, b_col, static_cast<uint16_t*>(packed));
}

int64_t packed_place(Elem elem, int64_t k, int64_t row, int64_t col) noexcept {
  const int64_t depth = step_elements(elem);
  return col / kPanelCols * panel_bytes(elem, k) / element_bytes(elem) +
         (row / depth * kPanelCols + col % kPanelCols) * depth + row % depth;
}

std::size_t product_scratch(Elem elem, int64_t m, int64_t k, int64_t taps) noexcept {
  return static_cast<std::size_t>(Parts(elem, m, k, taps, nullptr).bytes);
}

void product_rows(const Product& g, int64_t begin, int64_t end, void* scratch) noexcept {
  if (begin >= end || g.n <= 0) return;
  const ProductScratch parts = Parts(g.elem, g.m, g.k, g.runs.point != nullptr ? g.runs.taps : 0, scratch).at;
#if defined(__x86_64__)
  if (g.pairs && g.elem == Elem::bf16 && features().bf16_dot) return isa_avx512bf16::product_rows(g, begin, end, parts);
#endif
  FRAZIL_DISPATCH(product_rows(g, begin, end, parts));
}

}  // namespace frazil::kernel
