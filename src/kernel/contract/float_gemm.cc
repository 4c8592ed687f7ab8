#include "kernel/contract/float_gemm.h"

#include <algorithm>

#include "base/thread/poll_throttle.h"
#include "base/value/extents.h"
#include "kernel/contract/gemm_row.h"
#include "kernel/contract/product.simd.h"
#include "kernel/simd/aligned.h"
#include "kernel/simd/isa.h"

namespace frazil::kernel {
namespace {

using std::int64_t;
using std::uint16_t;

constexpr int64_t kChunkBytes = int64_t{1} << 19;  ///< bytes of a B that is packed within the call
constexpr int64_t kThinRows = kPanelRows;          ///< up to this many rows of f32, B is read once and in place
constexpr int64_t kDotRows = 16;                   ///< up to this many rows of f32, columns of B are read in place
constexpr int64_t kDirectHalfRows = 3;             ///< the same for 16-bit floats

/// Returns the steps of k of B that a call packs at a time. Sums of 16-bit floats are not cut.
int64_t chunk_steps(Elem elem, int64_t k) {
  return elem == Elem::f32 ? std::min(k, kChunkBytes / panel_bytes(elem, 1)) : k;
}
int64_t chunk_cols(Elem elem, int64_t k, int64_t n) {
  const int64_t panel = std::max<int64_t>(panel_bytes(elem, chunk_steps(elem, k)), 1);
  return std::min(round_up(n, kPanelCols), std::max<int64_t>(1, kChunkBytes / panel) * kPanelCols);
}

Product product_of(const GemmCall& g, Elem elem, bool wide) {
  return {.elem = elem,
          .wide = wide,
          .pairs = !g.strict,
          .accumulate = g.accumulate,
          .backwards = g.backwards,
          .m = g.m,
          .n = g.n,
          .k = g.k,
          .a = g.a,
          .a_row = g.a_row,
          .a_col = g.a_col,
          .packed_b = g.packed_b,
          .c = g.c,
          .c_row = g.c_row,
          .columns = {.bias = g.bias,
                      .addend = g.addend,
                      .addend_row = g.n,
                      .negative_slope = g.negative_slope,
                      .bias_in_sum = g.bias_in_sum},
          .on_tile = g.on_tile};
}

/// A product and its B, which is not packed unless the product has packed_b.
struct Call {
  Product g;
  const std::byte* b;
  int64_t b_row, b_col;

  int64_t width() const { return element_bytes(g.elem); }
  const std::byte* b_at(int64_t row, int64_t col) const { return b + (row * b_row + col * b_col) * width(); }

  /// Returns the product of columns [first, past); `first` is a multiple of kPanelCols.
  Call columns(int64_t first, int64_t past) const {
    const auto moved = [&](const void* p) {
      return p == nullptr ? p : static_cast<const std::byte*>(p) + first * width();
    };
    Call part = *this;
    part.g.n = past - first;
    if (b != nullptr) part.b = b_at(0, first);
    if (g.packed_b != nullptr)
      part.g.packed_b = static_cast<const std::byte*>(g.packed_b) + first / kPanelCols * panel_bytes(g.elem, g.k);
    part.g.c = static_cast<std::byte*>(g.c) + first * (g.wide ? static_cast<int64_t>(sizeof(float)) : width());
    part.g.columns.bias = moved(g.columns.bias);
    part.g.columns.addend = moved(g.columns.addend);
    part.g.first_col += first;
    return part;
  }

  /// Returns the f32 product of steps [first, past) of k. All but the first steps are added to C, and only the last
  /// ones apply the epilogue.
  Call steps(int64_t first, int64_t past) const {
    Call part = *this;
    part.g.k = past - first;
    part.g.a = static_cast<const float*>(g.a) + first * g.a_col;
    part.b = b_at(first, 0);
    part.g.accumulate |= first > 0;
    if (past < g.k) part.g.columns = {}, part.g.on_tile = nullptr;
    return part;
  }
};

void report(const Product& g, int64_t begin, int64_t end) {
  if (g.on_tile != nullptr) (*g.on_tile)(begin, end, g.first_col, g.first_col + g.n);
}

/// The parts of an unpacked B. Each is multiplied with all rows before the next one.
struct Chunks {
  int64_t cols, steps;
  bool in_place;  ///< rows of f32 are read in place; else each chunk is packed
};

void by_chunks(const Call& all, const Chunks& chunks, int64_t begin, int64_t end, std::byte* scratch) {
  const Product& g = all.g;
  std::byte* const packed = scratch + product_scratch(g.elem, g.m, g.k, 0);
  const bool reports = g.on_tile != nullptr && (chunks.cols >= g.n || !g.on_tile->whole_rows);
  for (int64_t j = 0; j < g.n; j += chunks.cols) {
    Call cols = all.columns(j, std::min(g.n, j + chunks.cols));
    if (!reports) cols.g.on_tile = nullptr;
    for (int64_t k0 = 0; k0 < g.k && !stop_requested(); k0 += chunks.steps) {
      Call part = chunks.steps < g.k ? cols.steps(k0, std::min(g.k, k0 + chunks.steps)) : cols;
      if (!chunks.in_place) pack_b(g.elem, part.g.k, part.g.n, part.b, all.b_row, all.b_col, packed);
      part.g.packed_b = chunks.in_place ? part.b : packed;
      part.g.b_row = chunks.in_place ? all.b_row : 0;
      product_rows(part.g, begin, end, scratch);
    }
  }
  if (!reports) report(g, begin, end);
}

/// Computes C of a product with k == 0.
void no_depth(const Call& all, int64_t begin, int64_t end, void* scratch) {
  static constexpr float kZero[2 * kPanelCols] = {};
  for (int64_t j = 0; j < all.g.n && !stop_requested(); j += kPanelCols) {
    Product g = all.columns(j, std::min(all.g.n, j + kPanelCols)).g;
    g.k = 1, g.a = kZero, g.a_row = 0, g.a_col = 1, g.packed_b = kZero, g.on_tile = nullptr;
    product_rows(g, begin, end, scratch);
  }
  report(all.g, begin, end);
}

void single_row(const Product& g, int64_t all) { FRAZIL_DISPATCH(single_row(g, all)); }

void dot_rows(const Call& c, int64_t begin, int64_t end) {
  const auto* const b = reinterpret_cast<const float*>(c.b);
  FRAZIL_DISPATCH(dot_rows(c.g, b, c.b_col, begin, end));
}

void direct_rows(const Call& c, int64_t begin, int64_t end) {
  const auto* const b = reinterpret_cast<const uint16_t*>(c.b);
  FRAZIL_DISPATCH(direct_rows(c.g, b, c.b_row, c.b_col, begin, end));
}

Chunks packed_chunks(const Product& g) { return {chunk_cols(g.elem, g.k, g.n), chunk_steps(g.elem, g.k), false}; }

/// Cuts a product of f32 whose B has contiguous rows. `n` is the number of columns of the whole product.
Chunks chunks_of_rows(const Call& c, int64_t n, int64_t rows) {
  constexpr int64_t kLongRow = 512, kMinimum = 256, kNear = 6144;
  // With few rows of A and long rows of B, a few rows of B are read at a time from end to end. Walking down a column
  // would miss the TLB.
  if (c.g.m <= kThinRows && c.b_row >= kLongRow && n >= kMinimum) return {.cols = 2048, .steps = 16, .in_place = true};
  if (rows <= 2 * kPanelRows || c.g.k * c.g.n <= kNear) return {c.g.n, chunk_steps(Elem::f32, c.g.k), true};
  return packed_chunks(c.g);
}

/// Computes rows of f32. `n` is the number of columns of the whole product, which bits may depend on.
void f32_rows(Call c, int64_t n, int64_t begin, int64_t end, std::byte* scratch) {
  Product& g = c.g;
  const bool packed = g.packed_b != nullptr, adjacent = c.b_col == 1 || n == 1;
  const bool in_chains = g.m == 1 && sums_in_chains(n, g.k, packed, lanes_of(features().isa));
  if (packed) return in_chains ? single_row(g, n) : product_rows(g, begin, end, scratch);
  if (!adjacent && c.b_row == 1 && g.a_col == 1 && g.m <= kDotRows) return dot_rows(c, begin, end);
  if (!adjacent) return by_chunks(c, packed_chunks(g), begin, end, scratch);
  if (!in_chains) return by_chunks(c, chunks_of_rows(c, n, end - begin), begin, end, scratch);
  g.packed_b = c.b, g.b_row = c.b_row;
  single_row(g, n);
}

}  // namespace

std::size_t float_gemm_scratch(Elem elem, int64_t m, int64_t n, int64_t k) noexcept {
  if (m <= 0 || n <= 0) return 0;
  // Always includes a chunk to pack, as it is not known here whether B is packed.
  const int64_t chunk = elem != Elem::f32 && m == 1 ? kPanelCols : chunk_cols(elem, k, n);
  return product_scratch(elem, m, std::max<int64_t>(k, 1), 0) + packed_b_bytes(elem, chunk_steps(elem, k), chunk) +
         kLineBytes;
}

void float_gemm(Elem elem, bool wide, const GemmCall& call, int64_t begin, int64_t end, void* scratch) noexcept {
  const int64_t first = call.first_col, past = call.past_col == 0 ? call.n : call.past_col;
  if (begin >= end || past <= first) return;
  const Call all{product_of(call, elem, wide), static_cast<const std::byte*>(call.b), call.b_row, call.b_col};
  const Call c = all.columns(first, past);
  auto* const memory = static_cast<std::byte*>(scratch);
  if (call.k <= 0) return no_depth(c, begin, end, scratch);
  if (elem == Elem::f32) return f32_rows(c, call.n, begin, end, memory);
  if (call.packed_b != nullptr) return product_rows(c.g, begin, end, scratch);
  const bool adjacent = call.b_col == 1 || (call.b_row == 1 && call.a_col == 1);
  if (call.m <= kDirectHalfRows && adjacent) return direct_rows(c, begin, end);
  by_chunks(c, packed_chunks(c.g), begin, end, memory);
}

}  // namespace frazil::kernel
