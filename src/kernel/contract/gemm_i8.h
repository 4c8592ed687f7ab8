#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/contract/gemm_kernel.h"
#include "kernel/contract/product.h"

// Products of bytes, exact modulo 2^32: the implementation of find_gemm() for 8-bit integers. Convolutions use it, too.
namespace frazil::kernel {

/// C[m,n] = (A[m,k] - a_zero) * (B[k,n] - b_zero), k > 0, with zero points as in GemmCall.
struct ByteProduct {
  std::int64_t n = 0, k = 0;
  bool signed_a = false, signed_b = false;
  const void* a = nullptr;
  std::int64_t a_row = 0, a_col = 1;
  Runs runs;  ///< replaces A if `point` is set
  const void* packed_b = nullptr;
  std::int64_t begin_col = 0, end_col = 0;  ///< columns to compute, from a multiple of 32 on; an end of 0: all columns
  const void *a_zero = nullptr, *b_zero = nullptr;
  std::int64_t a_zero_step = 0, b_zero_step = 0;
  std::int32_t* c = nullptr;  ///< null: C passes through `passed`; see GemmCall
  std::int64_t c_row = 0;
  std::int64_t c_first = 0;  ///< the row that `c` points to
  const TileCallback* on_tile = nullptr;
  std::int64_t first_col = 0;  ///< added to the columns that on_tile receives
  std::int32_t* passed = nullptr;
  std::int64_t packed_cols = 0;  ///< columns of packed_b, in which column packed_from is this product's first; 0: n
  std::int64_t packed_from = 0;  ///< a multiple of kByteCols
};

/// The packed format of B is the same for every instruction set.
std::size_t byte_packed_b_bytes(std::int64_t k, std::int64_t n) noexcept;
void byte_pack_b(std::int64_t k, std::int64_t n, const void* b, std::int64_t b_row, std::int64_t b_col, bool signed_b,
                 void* packed) noexcept;

/// Packs B[tap * channels + channel, column] = w[column, channel, tap], from weights of a convolution.
void byte_pack_taps(std::int64_t channels, std::int64_t taps, std::int64_t n, const void* w, bool signed_w,
                    void* packed) noexcept;
/// Packs the same weights with `line` rows of B for each row of the kernel; those after its weights are zeros.
void byte_pack_lines(std::int64_t channels, std::int64_t kernel_h, std::int64_t kernel_w, std::int64_t line,
                     std::int64_t n, const void* w, bool signed_w, void* packed) noexcept;
/// Returns the bytes that `passed` needs for rows of `n` columns.
std::size_t byte_passed_bytes(std::int64_t n, std::int64_t k) noexcept;

/// byte_product() computes rows [begin, end). Each concurrent caller needs its own scratch. `taps` is Runs::taps, or 0
/// without runs.
std::size_t byte_product_scratch(std::int64_t k, std::int64_t taps) noexcept;
void byte_product(const ByteProduct& g, std::int64_t begin, std::int64_t end, void* scratch) noexcept;

std::size_t gemm_i8_passed_bytes(std::int64_t m, std::int64_t n, std::int64_t k) noexcept;
/// The functions of a GemmKernel, with or without a packed B.
std::size_t gemm_i8_scratch(std::int64_t m, std::int64_t n, std::int64_t k) noexcept;
void gemm_i8_rows(const GemmCall& g, bool signed_a, bool signed_b, std::int64_t begin, std::int64_t end,
                  void* scratch) noexcept;

}  // namespace frazil::kernel
