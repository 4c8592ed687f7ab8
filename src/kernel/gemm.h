#pragma once

#include <cstdint>

#include "kernel/tile_callback.h"

namespace frazil::kernel {

/// Most rows of a packed A panel, [k][rows]: m of a multiple of this many leaves no rest.
inline constexpr std::int64_t kPanelRows = 12;

namespace {
/// x (a number, or a vector of them), times slope, of 0 to 1, below 0. NaN stays NaN; slope 0 makes 0 of -infinity.
template <class X>
[[gnu::always_inline]] inline X bent(X x, float slope) {
  if (slope == 0) return x <= 0.f ? X{} : x;
  return x < 0.f ? x * slope : x;
}
}  // namespace

/// C[m,n] = A[m,k] * B[k,n] + bias[n], or C = C + A * B + bias; the bias is added as it would be to the finished
/// product. Strides are in elements; those of A and B are arbitrary, so a transpose is free; the columns of C are
/// contiguous. C overlaps neither A nor B. With k == 0 the product is zero. Numeric class: reassociated. The bits of an
/// element depend on (m, n, k), the strides of A and B and the ISA only.
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  std::int64_t a_row = 0, a_col = 1;
  const float* b = nullptr;
  std::int64_t b_row = 0, b_col = 1;
  float* c = nullptr;
  std::int64_t c_row = 0;
  const float* bias = nullptr;  ///< [n] or null
  bool accumulate = false;
  float slope = 1;  ///< 0 to 1: what elements below 0 are multiplied by at the end (bent()). 0: Relu
  const TileCallback* on_tile = nullptr;  ///< told of on_tile of C, which it may overwrite
  /// Few rows, packed B: the last columns first, with the same bits. Who reads one B again and again, in turns forwards
  /// and backwards, finds what was read last still near.
  bool backwards = false;
};

/// Scratch that any of the calls below may use for these extents (also for fewer rows), whatever the strides and ISA.
/// 64-byte alignment of scratch and packed buffers is faster, but not needed.
std::int64_t gemm_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k) noexcept;

void gemm(const Gemm& g, void* scratch) noexcept;
/// Only rows [row_begin, row_end) of C, with the bits that gemm() gives them: for callers that split m over threads,
/// each with its own scratch.
void gemm_rows(const Gemm& g, std::int64_t row_begin, std::int64_t row_end, void* scratch) noexcept;

/// A constant B, packed once. The format is the same for every ISA.
std::int64_t gemm_packed_b_bytes(std::int64_t k, std::int64_t n) noexcept;
void gemm_pack_b(std::int64_t k, std::int64_t n, const float* b, std::int64_t b_row, std::int64_t b_col,
                 void* packed) noexcept;
/// g.b, g.b_row and g.b_col are not read.
void gemm_with_packed_b(const Gemm& g, const void* packed_b, void* scratch) noexcept;
void gemm_with_packed_b_rows(const Gemm& g, const void* packed_b, std::int64_t row_begin, std::int64_t row_end,
                             void* scratch) noexcept;

}  // namespace frazil::kernel
