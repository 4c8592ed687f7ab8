#pragma once

#include <cstddef>
#include <cstdint>

#include "base/value/elem.h"
#include "kernel/contract/tile_callback.h"

// Products of floats with a packed B, summed in f32. They implement find_gemm() for f32, f16 and bf16, and
// channels-last convolutions.
namespace frazil::kernel {

/// Rows of A in `taps` runs of `depth` elements. `point` writes the addresses of the runs of rows [begin, end) as
/// [row][tap]. `step` returns the distance in bytes between the runs of adjacent rows, or kUneven if it differs.
struct Runs {
  static constexpr std::int64_t kUneven = INT64_MIN;
  void (*point)(const void* context, std::int64_t begin, std::int64_t end, const std::byte** at) = nullptr;
  std::int64_t (*step)(const void* context, std::int64_t begin, std::int64_t end) = nullptr;
  const void* context = nullptr;
  std::int64_t taps = 1, depth = 0;
};

/// The operands of each column, applied to the finished sums; null for none. f32 computes (sum + bias) * scale + shift
/// + addend, then the negative slope, and rounds after each operation. 16-bit floats round the sum as `bias_in_sum`
/// selects, then after each operation.
struct Columns {
  const void* bias = nullptr;                      ///< [n] of C's type
  const float *scale = nullptr, *shift = nullptr;  ///< [n]; 16-bit floats: both or none
  const void* addend = nullptr;                    ///< [m,n] of C's type, rows `addend_row` elements apart
  std::int64_t addend_row = 0;
  float negative_slope = 1;  ///< 0 to 1: factor of elements below 0 at the end; 0: Relu
  bool bias_in_sum = false;  ///< if C is narrower: the sum is rounded only after the bias, not also before it
};

/// A product C[m,n] = A[m,k] * B[k,n], k > 0. Every element of C is one chain of sums over k, so that its bits do not
/// depend on how rows and columns are cut.
struct Product {
  Elem elem = Elem::f32;    ///< of A and B
  bool wide = false;        ///< 16-bit floats: C is f32, and `columns` is not used
  bool pairs = false;       ///< bf16: use instructions that sum two products, which flush denormal numbers to zero
  bool accumulate = false;  ///< f32: sums are added to C
  bool backwards = false;   ///< computes the last columns first, with the same bits. Repeated products with one B, in
                            ///< alternating directions, find the columns that were read last in a cache
  std::int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  std::int64_t a_row = 0, a_col = 1;  ///< in elements
  Runs runs;                          ///< replaces A if `point` is set
  const void* packed_b = nullptr;
  std::int64_t b_row = 0;  ///< f32: if not 0, B is not packed, but has rows so many elements apart
  void* c = nullptr;
  std::int64_t c_row = 0;  ///< in elements; the columns of C are contiguous
  Columns columns;
  const TileCallback* on_tile = nullptr;
  std::int64_t first_col = 0;  ///< added to the columns that on_tile receives
};

inline constexpr std::int64_t kPanelCols = 32;  ///< columns of a packed panel of B
inline constexpr std::int64_t kPanelRows = 12;  ///< most rows of a tile; if m is a multiple of it, no tile is lower

namespace {
/// Returns x (a number or a vector), multiplied by negative_slope where it is negative; 0 <= negative_slope <= 1. NaN
/// stays NaN; negative_slope 0 maps -infinity to 0.
template <class X>
[[gnu::always_inline]] inline X leaky_relu(X x, float negative_slope) {
  if (negative_slope == 0) return x <= 0.f ? X{} : x;
  return x < 0.f ? x * negative_slope : x;
}
}  // namespace

/// The packed format of B is the same for every instruction set: panels of 32 columns, padded with zeros. A panel is
/// [k][32] for f32 and f16, and [k / 2][32][2] for bf16.
std::size_t packed_b_bytes(Elem elem, std::int64_t k, std::int64_t n) noexcept;
void pack_b(Elem elem, std::int64_t k, std::int64_t n, const void* b, std::int64_t b_row, std::int64_t b_col,
            void* packed) noexcept;
/// Returns the position of element (row, col) of B, which has k rows, in the packed format, in elements.
std::int64_t packed_place(Elem elem, std::int64_t k, std::int64_t row, std::int64_t col) noexcept;

/// product_rows() computes rows [begin, end). Each concurrent caller needs its own scratch. `taps` is Runs::taps, or 0
/// without runs.
std::size_t product_scratch(Elem elem, std::int64_t m, std::int64_t k, std::int64_t taps) noexcept;
void product_rows(const Product& g, std::int64_t begin, std::int64_t end, void* scratch) noexcept;

}  // namespace frazil::kernel
