#include "kernel/contract/gemm_16.h"

#include <algorithm>
#include <cstring>

#include "base/extents.h"
#include "base/poll_throttle.h"
#include "kernel/contract/gemm_16.simd.h"
#include "kernel/simd/aligned.h"
#include "kernel/simd/isa.h"

namespace frazil::kernel {
namespace {

using std::int64_t;
using std::uint16_t;

constexpr int64_t kDirectRows = 3;                 ///< up to which packing B does not pay
constexpr int64_t kChunkBytes = int64_t{1} << 19;  ///< of a B that is packed within the call
constexpr int64_t kWord = 4;                       ///< bytes of the widest element of packed A

int64_t lines(int64_t bytes) { return round_up(bytes, kLineBytes); }

/// Columns of B that a call packs at a time.
int64_t chunk_cols(Elem elem, int64_t k, int64_t n) {
  const int64_t panel = half_panel(elem, k) * static_cast<int64_t>(sizeof(uint16_t));
  const int64_t most = std::max<int64_t>(1, kChunkBytes / std::max<int64_t>(panel, 1)) * kHalfCols;
  return std::min(round_up(n, kHalfCols), most);
}

uint16_t half_at(const uint16_t* p) {
  uint16_t x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

/// Rows [p, p + count) of a panel, side by side for each column; `cols` columns exist.
void pack_step(const uint16_t* b, int64_t b_row, int64_t b_col, int64_t count, int64_t depth, int64_t cols,
               uint16_t* to) {
  for (int64_t t = 0; t < count; ++t) {
    const uint16_t* from = b + t * b_row;
    for (int64_t c = 0; c < cols; ++c) to[c * depth + t] = half_at(from + c * b_col);
  }
}

/// Steps of all columns of a panel, whose rows lie side by side.
void pack_rows(const uint16_t* b, int64_t b_row, int64_t k, int64_t depth, uint16_t* to) {
  constexpr std::size_t kRowBytes = kHalfCols * sizeof(uint16_t);
  if (depth == 1) {
    for (int64_t p = 0; p < k; ++p) std::memcpy(to + p * kHalfCols, b + p * b_row, kRowBytes);
    return;
  }
  for (int64_t p = 0; p < k; p += 2, to += 2 * kHalfCols) {
    uint16_t rows[2][kHalfCols] = {};
    std::memcpy(rows[0], b + p * b_row, kRowBytes);
    if (p + 1 < k) std::memcpy(rows[1], b + (p + 1) * b_row, kRowBytes);
    for (int64_t c = 0; c < kHalfCols; ++c) to[2 * c] = rows[0][c], to[2 * c + 1] = rows[1][c];
  }
}

/// Columns that lie side by side along k.
void pack_columns(const uint16_t* b, int64_t b_col, int64_t k, int64_t depth, int64_t cols, uint16_t* to) {
  constexpr int64_t kBlock = 32;  // steps of k, so that what is read and written stays in the first-level cache
  for (int64_t p0 = 0; p0 < k; p0 += kBlock) {
    const int64_t p1 = std::min(k, p0 + kBlock);
    for (int64_t c = 0; c < cols; ++c) {
      const uint16_t* from = b + c * b_col;
      int64_t p = p0;
      if (depth == 2) {
        for (; p + 2 <= p1; p += 2) std::memcpy(to + (p / 2 * kHalfCols + c) * 2, from + p, 4);
      }
      for (; p < p1; ++p) to[(p / depth * kHalfCols + c) * depth + p % depth] = half_at(from + p);
    }
  }
}

HalfProduct product_of(const GemmCall& g, Elem elem, bool wide) {
  return {.elem = elem,
          .wide = wide,
          .pairs = !g.strict,
          .m = g.m,
          .n = g.n,
          .k = g.k,
          .a = static_cast<const uint16_t*>(g.a),
          .a_row = g.a_row,
          .a_col = g.a_col,
          .runs = {},
          .packed_b = g.packed_b,
          .c = g.c,
          .c_row = g.c_row,
          .bias = static_cast<const uint16_t*>(g.bias),
          .addend = static_cast<const uint16_t*>(g.addend),
          .addend_row = g.n,
          .bias_in_sum = g.bias_in_sum,
          .slope = g.slope,
          .on_tile = g.on_tile};
}

void* column(const HalfProduct& g, int64_t col) {
  return static_cast<std::byte*>(g.c) + col * static_cast<int64_t>(g.wide ? sizeof(float) : sizeof(uint16_t));
}

/// Packs some columns of B at a time.
void by_chunks(const HalfProduct& all, const GemmCall& g, int64_t begin, int64_t end, std::byte* scratch) {
  const int64_t chunk = chunk_cols(all.elem, g.k, g.n);
  std::byte* const packed = scratch + half_product_scratch(g.m, g.k, 0);
  for (int64_t j = 0; j < g.n && !stop_requested(); j += chunk) {
    HalfProduct part = all;
    part.n = std::min(chunk, g.n - j);
    part.first_col = j;
    part.packed_b = packed;
    part.c = column(all, j);
    if (all.bias != nullptr) part.bias += j;
    if (all.addend != nullptr) part.addend += j;
    part.on_tile = nullptr;
    half_pack_b(all.elem, g.k, part.n, static_cast<const uint16_t*>(g.b) + j * g.b_col, g.b_row, g.b_col, packed);
    half_product(part, begin, end, scratch);
  }
  if (all.on_tile != nullptr) (*all.on_tile)(begin, end, all.first_col, all.first_col + g.n);
}

/// C of an empty product.
void no_depth(HalfProduct g, int64_t begin, int64_t end, void* scratch) {
  static constexpr uint16_t kZero[2 * kHalfCols] = {};
  g.k = 1, g.a = kZero, g.a_row = g.a_col = 0, g.packed_b = kZero;
  const HalfProduct all = g;
  for (int64_t j = 0; j < all.n && !stop_requested(); j += kHalfCols) {
    g.n = std::min(kHalfCols, all.n - j);
    g.c = column(all, j);
    if (all.bias != nullptr) g.bias = all.bias + j;
    if (all.addend != nullptr) g.addend = all.addend + j;
    g.on_tile = nullptr;
    half_product(g, begin, end, scratch);
  }
  if (all.on_tile != nullptr) (*all.on_tile)(begin, end, all.first_col, all.first_col + all.n);
}

/// Columns [first, past) of both.
void take_columns(GemmCall& call, HalfProduct& g, int64_t first, int64_t past) {
  call.n = g.n = past - first;
  if (call.b != nullptr) call.b = static_cast<const uint16_t*>(call.b) + first * call.b_col;
  if (g.packed_b != nullptr)
    g.packed_b = static_cast<const uint16_t*>(g.packed_b) + first / kHalfCols * half_panel(g.elem, g.k);
  g.c = column(g, first);
  if (g.bias != nullptr) g.bias += first;
  if (g.addend != nullptr) g.addend += first;
  g.first_col = first;
}

}  // namespace

std::size_t half_packed_b_bytes(Elem elem, int64_t k, int64_t n) noexcept {
  return static_cast<std::size_t>(round_up(n, kHalfCols) / kHalfCols * half_panel(elem, k)) * sizeof(uint16_t);
}

void half_pack_b(Elem elem, int64_t k, int64_t n, const void* b, int64_t b_row, int64_t b_col, void* packed) noexcept {
  if (k == 0) return;
  const int64_t depth = elem == Elem::bf16 ? 2 : 1, panel = half_panel(elem, k);
  auto* to = static_cast<uint16_t*>(packed);
  const auto* from = static_cast<const uint16_t*>(b);
  PollThrottle throttle;
  for (int64_t j = 0; j < n; j += kHalfCols, to += panel, from += kHalfCols * b_col) {
    if (throttle.stop(panel)) return;
    const int64_t cols = std::min(kHalfCols, n - j);
    if (b_col == 1 && cols == kHalfCols) {
      pack_rows(from, b_row, k, depth, to);
      continue;
    }
    if (cols < kHalfCols || k % depth != 0) std::memset(to, 0, static_cast<std::size_t>(panel) * sizeof *to);
    if (b_row == 1 && b_col != 1) {
      pack_columns(from, b_col, k, depth, cols, to);
      continue;
    }
    for (int64_t p = 0; p < k; p += depth)
      pack_step(from + p * b_row, b_row, b_col, std::min(depth, k - p), depth, cols, to + p * kHalfCols);
  }
}

int64_t half_packed_place(Elem elem, int64_t k, int64_t row, int64_t col) noexcept {
  const int64_t depth = elem == Elem::bf16 ? 2 : 1;
  return col / kHalfCols * half_panel(elem, k) + (row / depth * kHalfCols + col % kHalfCols) * depth + row % depth;
}

namespace {

struct ScratchSizes {
  int64_t a, at, row;
  ScratchSizes(int64_t m, int64_t k, int64_t taps) {
    const int64_t most = round_up(std::max<int64_t>(m, 1), kHalfTileRows), pairs = half_pairs(k);
    const int64_t rows = std::min(half_row_block(pairs), most);
    a = lines(std::max(rows * pairs, std::min(half_row_block(2 * pairs), most) * 2 * pairs) * kWord);
    at = lines(rows * taps * static_cast<int64_t>(sizeof(void*)));
    row = taps == 0 ? 0 : lines(kHalfTileRows * k * static_cast<int64_t>(sizeof(uint16_t)));
  }
  int64_t all() const { return a + at + row + kLineBytes; }
};

}  // namespace

std::size_t half_product_scratch(int64_t m, int64_t k, int64_t taps) noexcept {
  return static_cast<std::size_t>(lines(ScratchSizes(m, k, taps).all()));
}

void half_product(const HalfProduct& g, int64_t begin, int64_t end, void* scratch) noexcept {
  if (begin >= end || g.n <= 0) return;
  const ScratchSizes sizes(g.m, g.k, g.runs.point != nullptr ? g.runs.taps : 0);
  auto* const at = reinterpret_cast<std::byte*>(aligned(scratch));
  const HalfScratch parts{at, reinterpret_cast<const uint16_t**>(at + sizes.a),
                          reinterpret_cast<uint16_t*>(at + sizes.a + sizes.at)};
#if defined(__x86_64__)
  if (g.pairs && g.elem == Elem::bf16 && current_isa() == Isa::avx512 && uses_bf16_dot())
    return isa_avx512bf16::half_rows(g, begin, end, parts);
#endif
  FRAZIL_DISPATCH(half_rows(g, begin, end, parts));
}

std::size_t gemm_half_scratch(int64_t m, int64_t n, int64_t k) noexcept {
  // Whether B is packed already is not known here.
  const std::size_t chunk = m <= 1 ? half_packed_b_bytes(Elem::bf16, k, kHalfCols)
                                   : half_packed_b_bytes(Elem::bf16, k, chunk_cols(Elem::f16, k, n));
  return half_product_scratch(m, std::max<int64_t>(k, 1), 0) + chunk + kLineBytes;
}

static void direct(const HalfProduct& g, const GemmCall& call, int64_t begin, int64_t end) {
  FRAZIL_DISPATCH(half_direct(g, static_cast<const uint16_t*>(call.b), call.b_row, call.b_col, begin, end));
}

void gemm_half_rows(const GemmCall& call, Elem elem, bool wide, int64_t begin, int64_t end, void* scratch) noexcept {
  if (begin >= end || call.n <= 0) return;
  GemmCall part = call;
  HalfProduct g = product_of(call, elem, wide);
  take_columns(part, g, call.first_col, call.past_col == 0 ? call.n : call.past_col);
  if (call.k <= 0) return no_depth(g, begin, end, scratch);
  if (call.packed_b != nullptr) return half_product(g, begin, end, scratch);
  const bool adjacent = call.b_col == 1 || (call.b_row == 1 && call.a_col == 1);
  if (call.m <= kDirectRows && adjacent) return direct(g, part, begin, end);
  by_chunks(g, part, begin, end, static_cast<std::byte*>(scratch));
}

}  // namespace frazil::kernel
