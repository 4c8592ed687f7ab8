#pragma once

#include <cstdint>

#include "kernel/contract/tile_callback.h"

namespace frazil::kernel {

/// Maximum rows of a packed A panel, [k][rows]; multiples of it as m leave no partial panel.
inline constexpr std::int64_t kPanelRows = 12;

namespace {
/// x (a number or a vector), multiplied by slope where it is negative; 0 <= slope <= 1. NaN stays NaN; slope 0 maps
/// -infinity to 0.
template <class X>
[[gnu::always_inline]] inline X bent(X x, float slope) {
  if (slope == 0) return x <= 0.f ? X{} : x;
  return x < 0.f ? x * slope : x;
}
}  // namespace

/// C[m,n] = A[m,k] * B[k,n] + bias[n], or C = C + A * B + bias; the bias is added to the finished product. Strides are
/// in elements; those of A and B are arbitrary, so transposing needs no copy; the columns of C are contiguous. C
/// overlaps neither A nor B. With k == 0 the product is zero. Numeric class: reassociated. The bits of an element
/// depend only on (m, n, k), the strides of A and B and the ISA.
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  std::int64_t a_row = 0, a_col = 1;
  const float* b = nullptr;
  std::int64_t b_row = 0, b_col = 1;
  float* c = nullptr;
  std::int64_t c_row = 0;
  const float* bias = nullptr;    ///< [n] or null
  const float* addend = nullptr;  ///< [m,n] with rows of n, or null: added behind the bias, rounded after each
  bool accumulate = false;
  float slope = 1;                        ///< 0 to 1: factor for negative elements of the result (bent()). 0: Relu
  const TileCallback* on_tile = nullptr;  ///< called for each completed tile of C, which it may overwrite
  /// With few rows and packed B: processes the last columns first, with the same bits. A caller that reads the same B
  /// repeatedly and alternates the direction finds the most recently read columns in the cache.
  bool backwards = false;
};

/// Scratch in bytes for any of the calls below with these extents (or fewer rows), for all strides and ISAs. Scratch
/// and packed buffers should be, but need not be, aligned to 64 bytes.
std::int64_t gemm_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k) noexcept;

void gemm(const Gemm& g, void* scratch) noexcept;
/// Computes rows [row_begin, row_end) of C with the bits of gemm(): for callers that split m over threads, each with
/// its own scratch.
void gemm_rows(const Gemm& g, std::int64_t row_begin, std::int64_t row_end, void* scratch) noexcept;

inline constexpr std::int64_t kPanelCols = 32;  ///< columns of a packed B panel: [k][32], zero-padded

/// A constant B, packed once: its panels, one after the other. The format is the same for every ISA.
std::int64_t gemm_packed_b_bytes(std::int64_t k, std::int64_t n) noexcept;
void gemm_pack_b(std::int64_t k, std::int64_t n, const float* b, std::int64_t b_row, std::int64_t b_col,
                 void* packed) noexcept;
/// g.b, g.b_row and g.b_col are not read.
void gemm_with_packed_b(const Gemm& g, const void* packed_b, void* scratch) noexcept;
void gemm_with_packed_b_rows(const Gemm& g, const void* packed_b, std::int64_t row_begin, std::int64_t row_end,
                             void* scratch) noexcept;

/// Columns of a part begin at multiples of this.
inline constexpr std::int64_t kPartCols = 32;

/// Rows [row0, row1) x columns [col0, col1) of C; the last columns of C need be no multiple of kPartCols.
struct GemmPart {
  std::int64_t row0 = 0, row1 = 0, col0 = 0, col1 = 0;
};
/// A part of C with the bits of gemm(), or of gemm_with_packed_b() where `packed_b` is given. All columns for an
/// on_tile of whole rows.
void gemm_part(const Gemm& g, const void* packed_b, const GemmPart& part, void* scratch) noexcept;

}  // namespace frazil::kernel
