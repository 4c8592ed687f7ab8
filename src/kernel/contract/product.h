#pragma once

#include <cstddef>
#include <cstdint>

#include "base/value/elem.h"
#include "kernel/contract/tile_callback.h"

// Products of floats with a packed B, summed in f32: what find_gemm() gives for f32, f16 and bf16, and what
// convolutions whose channels are the last axis are.
namespace frazil::kernel {

/// Rows of A that lie in `taps` runs of `depth` elements: `point` writes where those of rows [begin, end) begin,
/// [row][tap]; `step` returns the distance in bytes between the runs of adjacent rows, kUneven if it differs.
struct Runs {
  static constexpr std::int64_t kUneven = INT64_MIN;
  void (*point)(const void* context, std::int64_t begin, std::int64_t end, const std::byte** at) = nullptr;
  std::int64_t (*step)(const void* context, std::int64_t begin, std::int64_t end) = nullptr;
  const void* context = nullptr;
  std::int64_t taps = 1, depth = 0;
};

/// The operands of each column, applied to the finished sums; null for none. f32 computes (sum + bias) * scale + shift
/// + addend, then the slope, and rounds after each operation. 16-bit floats round the sum as `bias_in_sum` says, then
/// after each operation.
struct Columns {
  const void* bias = nullptr;                      ///< [n] of C's type
  const float *scale = nullptr, *shift = nullptr;  ///< [n]; of 16-bit floats both or none
  const void* addend = nullptr;                    ///< [m,n] of C's type, rows `addend_row` elements apart
  std::int64_t addend_row = 0;
  float slope = 1;           ///< 0 to 1: what elements below 0 are multiplied by at the end; 0: Relu
  bool bias_in_sum = false;  ///< of a narrower C: the sum is rounded after the bias only, not before it, too
};

/// C[m,n] = A[m,k] * B[k,n], k > 0. Every element of C is one chain of sums over k: its bits do not depend on how
/// rows and columns are cut.
struct Product {
  Elem elem = Elem::f32;    ///< of A and B
  bool wide = false;        ///< of 16-bit floats: C is of f32, and `columns` is not used
  bool pairs = false;       ///< of bf16: by instructions that sum two products, which flush denormal numbers to zero
  bool accumulate = false;  ///< of f32: sums are added to C
  bool backwards = false;   ///< computes the last columns first, with the same bits: repeated products with one B, each
                            ///< in the other direction, find the columns that were read last in a cache
  std::int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  std::int64_t a_row = 0, a_col = 1;  ///< in elements
  Runs runs;                          ///< instead of A, where `point` is there
  const void* packed_b = nullptr;
  std::int64_t b_row = 0;  ///< of f32: not 0 where B is not packed, but has rows so many elements apart
  void* c = nullptr;
  std::int64_t c_row = 0;  ///< in elements; the columns of C are contiguous
  Columns columns;
  const TileCallback* on_tile = nullptr;
  std::int64_t first_col = 0;  ///< added to the columns that on_tile receives
};

inline constexpr std::int64_t kPanelCols = 32;  ///< columns of a packed panel of B
inline constexpr std::int64_t kPanelRows = 12;  ///< most rows of a tile; multiples of it as m leave no lower tile

namespace {
/// x (a number or a vector), multiplied by slope where it is negative; 0 <= slope <= 1. NaN stays NaN; slope 0 maps
/// -infinity to 0.
template <class X>
[[gnu::always_inline]] inline X bent(X x, float slope) {
  if (slope == 0) return x <= 0.f ? X{} : x;
  return x < 0.f ? x * slope : x;
}
}  // namespace

/// The packed form of B is the same for every instruction set: panels of 32 columns, padded with zeros, of f32 and f16
/// [k][32], of bf16 [k / 2][32][2].
std::size_t packed_b_bytes(Elem elem, std::int64_t k, std::int64_t n) noexcept;
void pack_b(Elem elem, std::int64_t k, std::int64_t n, const void* b, std::int64_t b_row, std::int64_t b_col,
            void* packed) noexcept;
/// Where element (row, col) of B, which has k rows, lies there, in elements.
std::int64_t packed_place(Elem elem, std::int64_t k, std::int64_t row, std::int64_t col) noexcept;

/// Rows [begin, end). Each concurrent caller has scratch of its own. `taps` is that of Runs, 0 without them.
std::size_t product_scratch(Elem elem, std::int64_t m, std::int64_t k, std::int64_t taps) noexcept;
void product_rows(const Product& g, std::int64_t begin, std::int64_t end, void* scratch) noexcept;

}  // namespace frazil::kernel
