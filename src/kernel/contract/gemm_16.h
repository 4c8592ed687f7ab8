#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/contract/gemm_kernel.h"

// Products of 16-bit floats, summed in f32 and rounded once: what find_gemm() gives for f16 and bf16, and what
// convolutions of them use.
namespace frazil::kernel {

/// Rows of A that lie in `taps` runs of `depth` elements: `point` writes where those of rows [begin, end) begin,
/// [row][tap].
struct HalfRuns {
  void (*point)(const void* context, std::int64_t begin, std::int64_t end, const std::uint16_t** at) = nullptr;
  const void* context = nullptr;
  std::int64_t taps = 1, depth = 0;
};

/// C[m,n] = A[m,k] * B[k,n], k > 0, with the epilogue as GemmCall has it.
struct HalfProduct {
  Elem elem = Elem::bf16;  ///< of A and B
  bool wide = false;       ///< C is of f32, without an epilogue
  bool pairs = false;      ///< of bf16: by instructions that sum two products, which flush denormal numbers to zero
  std::int64_t m = 0, n = 0, k = 0;
  const std::uint16_t* a = nullptr;
  std::int64_t a_row = 0, a_col = 1;
  HalfRuns runs;  ///< instead, where `point` is there
  const void* packed_b = nullptr;
  void* c = nullptr;
  std::int64_t c_row = 0;
  const std::uint16_t *bias = nullptr, *addend = nullptr;
  const float *scale = nullptr,
              *shift = nullptr;  ///< [n], both or none: what the rounded sum becomes, in front of all else
  std::int64_t addend_row = 0;
  bool bias_in_sum = false;
  float slope = 1;
  const TileCallback* on_tile = nullptr;
  std::int64_t first_col = 0;  ///< of C, as on_tile is told
};

/// The packed form of B is the same for every instruction set: for bf16 [k / 2][32][2], for f16 [k][32], in panels of
/// 32 columns, padded with zeros.
std::size_t half_packed_b_bytes(Elem elem, std::int64_t k, std::int64_t n) noexcept;
void half_pack_b(Elem elem, std::int64_t k, std::int64_t n, const void* b, std::int64_t b_row, std::int64_t b_col,
                 void* packed) noexcept;

/// Where element (row, col) of B, which has k rows, lies there, in elements.
std::int64_t half_packed_place(Elem elem, std::int64_t k, std::int64_t row, std::int64_t col) noexcept;

/// Rows [begin, end). Each concurrent caller has scratch of its own. `taps` is that of HalfRuns, 0 without them.
std::size_t half_product_scratch(std::int64_t m, std::int64_t k, std::int64_t taps) noexcept;
void half_product(const HalfProduct& g, std::int64_t begin, std::int64_t end, void* scratch) noexcept;

/// The call of a GemmKernel, with or without a packed B.
std::size_t gemm_half_scratch(std::int64_t m, std::int64_t n, std::int64_t k) noexcept;
void gemm_half_rows(const GemmCall& call, Elem elem, bool wide, std::int64_t begin, std::int64_t end,
                    void* scratch) noexcept;

}  // namespace frazil::kernel
