#pragma once

// Declarations shared by the translation units of products of 16-bit floats. This header is compiled for several
// instruction sets: functions defined here have internal linkage.

#include <cstdint>

#include "kernel/contract/gemm_16.h"
#include "kernel/simd/isa_list.h"

namespace frazil::kernel {

constexpr std::int64_t kHalfCols = 32;                           ///< columns of a packed B panel
constexpr std::int64_t kHalfRowBlock = 288;                      ///< most rows of A packed at a time
constexpr std::int64_t kHalfBlockBytes = std::int64_t{3} << 17;  ///< that these take, more or less
constexpr std::int64_t kHalfTileRows = 12;                       ///< most rows of a tile, for any instruction set
constexpr std::int64_t kHalfFewRows = 4;                         ///< that meet B in one go

namespace {
[[gnu::always_inline]] inline std::int64_t half_pairs(std::int64_t k) { return (k + 1) / 2; }
/// Rows of A packed at a time, of `words` each.
[[gnu::always_inline]] inline std::int64_t half_row_block(std::int64_t words) {
  const std::int64_t rows = kHalfBlockBytes / ((words + 1) * 4) / kHalfTileRows * kHalfTileRows;
  return rows < kHalfTileRows ? kHalfTileRows : rows < kHalfRowBlock ? rows : kHalfRowBlock;
}
/// Elements of a packed panel.
[[gnu::always_inline]] inline std::int64_t half_panel(Elem elem, std::int64_t k) {
  return (elem == Elem::bf16 ? 2 * half_pairs(k) : k) * kHalfCols;
}
}  // namespace

/// The parts of the scratch of half_product.
struct HalfScratch {
  std::byte* a;              ///< packed rows
  const std::uint16_t** at;  ///< of a block of rows
  std::uint16_t* row;        ///< elements of the rows of a tile
};

// half_rows:   rows [begin, end) of a product with a packed B, which has rows and columns
// half_direct: the same of few rows with B as it lies
#define FRAZIL_X(ns)                                                                                               \
  namespace ns {                                                                                                   \
  void half_rows(const HalfProduct& g, std::int64_t begin, std::int64_t end, const HalfScratch& scratch) noexcept; \
  void half_direct(const HalfProduct& g, const std::uint16_t* b, std::int64_t b_row, std::int64_t b_col,           \
                   std::int64_t begin, std::int64_t end) noexcept;                                                 \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#if defined(__x86_64__)
FRAZIL_X(isa_avx512bf16)
#endif
#undef FRAZIL_X

}  // namespace frazil::kernel
