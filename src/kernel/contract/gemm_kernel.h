#pragma once

#include <cstddef>
#include <cstdint>

#include "base/value/elem.h"
#include "kernel/contract/tile_callback.h"
#include "kernel/tuning/tuning.h"

namespace frazil::kernel {

/// C[m,n] = (A[m,k] - a_zero) * (B[k,n] - b_zero) + bias[n] for the element types of its GemmKernel. Strides are in
/// elements; those of A and B are arbitrary, the columns of C are contiguous. C overlaps neither A nor B. With k == 0
/// the product is zero.
struct GemmCall {
  std::int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  std::int64_t a_row = 0, a_col = 1;
  const void* b = nullptr;  ///< not read with `packed_b`
  std::int64_t b_row = 0, b_col = 1;
  const void* packed_b = nullptr;  ///< GemmKernel::pack_b made it
  void* c = nullptr;
  std::int64_t c_row = 0;
  // With GemmKernel::column_ranges:
  std::int64_t first_col = 0;  ///< a multiple of kRangeCols; of rows that on_tile wants whole, 0
  std::int64_t past_col = 0;   ///< columns [first_col, past_col) of C are computed; 0: all
  // With GemmKernel::epilogue:
  const void* bias = nullptr;    ///< [n] of C's type
  const void* addend = nullptr;  ///< [m,n] of C's type, dense: added behind the bias
  float slope = 1;               ///< 0 to 1: what elements below 0 are multiplied by at the end; 0: Relu
  bool bias_in_sum = false;      ///< of a narrower C: the sum is rounded behind the bias only, not in front of it, too
  bool accumulate = false;       ///< of f32: sums are added to C
  bool backwards = false;        ///< as Product::backwards
  bool strict = false;           ///< only instructions that round as fma does
  // With GemmKernel::epilogue or zero_points:
  const TileCallback* on_tile = nullptr;  ///< told of each finished tile of C, which it may overwrite
  // With GemmKernel::passed_bytes and a packed B: C may be null, where on_tile->result is not; its tiles lie here.
  void* passed = nullptr;
  // With GemmKernel::zero_points, of A's and B's types; null is zero:
  const void *a_zero = nullptr, *b_zero = nullptr;
  std::int64_t a_zero_step = 0, b_zero_step = 0;  ///< 0: one value; 1: one per row of A, column of B
};

/// Ranges of columns begin at multiples of this.
inline constexpr std::int64_t kRangeCols = 32;

/// How products of some element types are computed: all that a step, a binding rule or fusion asks of a GEMM. A new
/// element type is a row of the table behind find_gemm().
struct GemmKernel {
  Elem a, b;                                ///< of the operands
  Elem accumulator;                         ///< in which products are summed
  Elem c;                                   ///< of the result
  double Tuning::* multiply_add = nullptr;  ///< what it takes on one core
  bool epilogue = false;
  bool zero_points = false;
  bool column_ranges = false;  ///< columns may be computed apart, with the bits that a call for all gives them
  bool always_packs = false;   ///< a constant B is worth packing for one row, too, however few columns it has
  std::size_t (*scratch_bytes)(std::int64_t m, std::int64_t n, std::int64_t k) = nullptr;
  /// The packed form of a constant B, which is the same for every ISA; null: B is read as it lies.
  std::size_t (*packed_b_bytes)(std::int64_t k, std::int64_t n) = nullptr;
  void (*pack_b)(const GemmCall& call, void* packed) = nullptr;
  /// What GemmCall::passed needs; null: C is always kept.
  std::size_t (*passed_bytes)(std::int64_t m, std::int64_t n, std::int64_t k) = nullptr;
  /// Rows [begin, end) of C, or of a range of its columns, with the bits that a call for all rows gives them. Each
  /// concurrent caller has scratch of its own. Stops early where the limits ask to.
  void (*rows)(const GemmCall& call, std::int64_t begin, std::int64_t end, void* scratch) = nullptr;

  /// What a product takes on one core of this machine, roughly.
  double nanoseconds(std::int64_t m, std::int64_t n, std::int64_t k) const {
    return product_nanoseconds(tuning(), multiply_add, m, n, k, byte_size(b));
  }
};

/// Null where no kernel serves the types.
const GemmKernel* find_gemm(Elem a, Elem b, Elem c) noexcept;

}  // namespace frazil::kernel
