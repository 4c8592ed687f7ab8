#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/gemm_kernel.h"

// Products of bytes, exact modulo 2^32: what find_gemm() gives for 8-bit integers, and what convolutions of them use.
namespace frazil::kernel {

/// Rows of bytes: row(context, i, buffer) gives the k elements of row i side by side, in `buffer` if they do not lie
/// so.
struct ByteRows {
  const void* (*row)(const void* context, std::int64_t i, void* buffer) = nullptr;
  const void* context = nullptr;
};

/// C[m,n] = (A[m,k] - a_zero) * (B[k,n] - b_zero), k > 0, with zero points as GemmCall has them.
struct ByteProduct {
  std::int64_t n = 0, k = 0;
  bool signed_a = false, signed_b = false;
  ByteRows a;
  const void* packed_b = nullptr;
  std::int64_t begin_col = 0, end_col = 0;  ///< what is computed, from a multiple of 32 on; an end of 0: all columns
  const void *a_zero = nullptr, *b_zero = nullptr;
  std::int64_t a_zero_step = 0, b_zero_step = 0;
  std::int32_t* c = nullptr;
  std::int64_t c_row = 0;
  const TileCallback* on_tile = nullptr;
  std::int64_t first_col = 0;  ///< of C, as on_tile is told
};

/// The packed form of B is the same for every instruction set.
std::size_t byte_packed_b_bytes(std::int64_t k, std::int64_t n) noexcept;
void byte_pack_b(std::int64_t k, std::int64_t n, const void* b, std::int64_t b_row, std::int64_t b_col, bool signed_b,
                 void* packed) noexcept;

/// Rows [begin, end). Each concurrent caller has scratch of its own.
std::size_t byte_product_scratch(std::int64_t k) noexcept;
void byte_product(const ByteProduct& g, std::int64_t begin, std::int64_t end, void* scratch) noexcept;

/// The call of a GemmKernel, with or without a packed B.
std::size_t gemm_i8_scratch(std::int64_t m, std::int64_t n, std::int64_t k) noexcept;
void gemm_i8_rows(const GemmCall& g, bool signed_a, bool signed_b, std::int64_t begin, std::int64_t end,
                  void* scratch) noexcept;

}  // namespace frazil::kernel
