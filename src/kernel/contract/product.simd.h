#pragma once

// Declarations shared by the translation units of products of floats. This header is compiled for several instruction
// sets: functions defined here have internal linkage.

#include <cstdint>

#include "kernel/contract/product.h"
#include "kernel/simd/isa_list.h"

namespace frazil::kernel {

constexpr std::int64_t kMaxBlockRows = 288;                  ///< most rows of A that are packed at a time
constexpr std::int64_t kMaxRunRows = 1024;                   ///< most rows of A in a block that is read in runs
constexpr std::int64_t kBlockBytes = std::int64_t{3} << 17;  ///< approximate bytes of these rows

namespace {
/// Returns the number of elements of k in a step of B.
[[gnu::always_inline]] inline std::int64_t step_elements(Elem elem) { return elem == Elem::bf16 ? 2 : 1; }
[[gnu::always_inline]] inline std::int64_t element_bytes(Elem elem) { return elem == Elem::f32 ? 4 : 2; }
/// Returns the bytes of a packed panel of B.
[[gnu::always_inline]] inline std::int64_t panel_bytes(Elem elem, std::int64_t k) {
  const std::int64_t step = step_elements(elem);
  return (k + step - 1) / step * step * kPanelCols * element_bytes(elem);
}
/// Returns the number of rows of A in a block, of `words` words each.
[[gnu::always_inline]] inline std::int64_t block_rows(std::int64_t words, std::int64_t most = kMaxBlockRows) {
  const std::int64_t rows = kBlockBytes / ((words + 1) * 4) / kPanelRows * kPanelRows;
  return rows < kPanelRows ? kPanelRows : rows < most ? rows : most;
}
}  // namespace

/// The place of a tile of C, and the operands of its sums. C becomes ((accumulate ? C : 0) + sum + biases) * scale +
/// shift + addend, rounded after each operation. Then elements below 0 are multiplied by the negative slope. A null
/// operand is left out.
struct Results {
  float* c = nullptr;
  std::int64_t c_row = 0;
  const float *bias = nullptr, *row_bias = nullptr, *scale = nullptr, *shift = nullptr, *addend = nullptr;
  std::int64_t addend_row = 0;
  bool accumulate = false;
  float negative_slope = 1;

  /// Returns the tile that begins `rows` rows and `cols` columns later.
  [[gnu::always_inline]] inline Results at(std::int64_t rows, std::int64_t cols) const {
    const auto moved = [](const float* p, std::int64_t by) { return p != nullptr ? p + by : p; };
    Results r = *this;
    r.c += rows * c_row + cols;
    r.bias = moved(bias, cols);
    r.row_bias = moved(row_bias, rows);
    r.scale = moved(scale, cols);
    r.shift = moved(shift, cols);
    r.addend = moved(addend, rows * addend_row + cols);
    return r;
  }
};

/// A block of at most kPanelRows rows and kPanelCols columns of f32: A times a panel of a packed B.
struct F32Block {
  std::int64_t k = 0;
  const float* a = nullptr;
  std::int64_t a_row = 0, a_col = 1;  ///< one of them is 1
  const float* b = nullptr;
  Results out;
};

/// The parts of the scratch of product_rows().
struct ProductScratch {
  std::byte* a;          ///< packed rows
  const std::byte** at;  ///< pointers of a block of rows in runs
  std::byte* row;        ///< copied elements of the rows of a tile
};

// product_rows: computes rows [begin, end) of a product that is not empty
// single_row:   computes a product of one row of f32, in chains (gemm_row.h); `all`: columns of the whole product
// f32_block:    computes a block of `rows` rows and `cols` columns
// dot_rows:     computes rows [begin, end) of f32; columns of B (`b_col` apart) and rows of A are contiguous
// direct_rows:  computes a few rows of 16-bit floats with B in place
// pack_cols:    packs b[k, n] into panels, each [k][32] and `panel` elements after the previous one
// pack_panel:   packs a[rows, k] into one panel [k][rows], at most kPanelRows rows
#define FRAZIL_X(ns)                                                                                           \
  namespace ns {                                                                                               \
  void product_rows(const Product& g, std::int64_t begin, std::int64_t end, const ProductScratch& s) noexcept; \
  void single_row(const Product& g, std::int64_t all) noexcept;                                                \
  void f32_block(const F32Block& block, std::int64_t rows, std::int64_t cols) noexcept;                        \
  void dot_rows(const Product& g, const float* b, std::int64_t b_col, std::int64_t begin,                      \
                std::int64_t end) noexcept;                                                                    \
  void pack_cols(std::int64_t k, std::int64_t n, const float* b, std::int64_t b_row, std::int64_t b_col,       \
                 float* packed, std::int64_t panel) noexcept;                                                  \
  void pack_panel(std::int64_t rows, std::int64_t k, const float* a, std::int64_t a_row, std::int64_t a_col,   \
                  float* packed) noexcept;                                                                     \
  void direct_rows(const Product& g, const std::uint16_t* b, std::int64_t b_row, std::int64_t b_col,           \
                   std::int64_t begin, std::int64_t end) noexcept;                                             \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#if defined(__x86_64__)
FRAZIL_X(isa_avx512bf16)
#endif
#undef FRAZIL_X

}  // namespace frazil::kernel
