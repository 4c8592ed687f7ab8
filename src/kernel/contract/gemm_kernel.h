#pragma once

#include <cstddef>
#include <cstdint>

#include "base/value/elem.h"
#include "kernel/contract/tile_callback.h"
#include "kernel/tuning/tuning.h"

namespace frazil::kernel {

/// A product C[m,n] = (A[m,k] - a_zero) * (B[k,n] - b_zero) + bias[n] of the element types of its GemmKernel. Strides
/// are in elements. Those of A and B are arbitrary; the columns of C are contiguous. C overlaps neither A nor B. If k
/// == 0, the product is zero.
struct GemmCall {
  std::int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  std::int64_t a_row = 0, a_col = 1;
  const void* b = nullptr;  ///< not read with `packed_b`
  std::int64_t b_row = 0, b_col = 1;
  const void* packed_b = nullptr;  ///< written by GemmKernel::pack_b
  void* c = nullptr;
  std::int64_t c_row = 0;
  // With GemmKernel::column_ranges:
  std::int64_t first_col = 0;  ///< a multiple of kRangeCols; 0 if on_tile wants whole rows
  std::int64_t past_col = 0;   ///< columns [first_col, past_col) of C are computed; 0: all
  // With GemmKernel::epilogue:
  const void* bias = nullptr;    ///< [n] of C's type
  const void* addend = nullptr;  ///< [m,n] of C's type, dense; added after the bias
  float negative_slope = 1;      ///< 0 to 1: factor of elements below 0 at the end; 0: Relu
  bool bias_in_sum = false;      ///< if C is narrower: the sum is rounded only after the bias, not also before it
  bool accumulate = false;       ///< f32: sums are added to C
  bool backwards = false;        ///< see Product::backwards
  bool strict = false;           ///< use only instructions that round as fma does
  // With GemmKernel::epilogue or zero_points:
  const TileCallback* on_tile = nullptr;  ///< called for each finished tile of C, which it may overwrite
  // With GemmKernel::passed_bytes and a packed B: C may be null if on_tile->result is not. Tiles are then stored here.
  void* passed = nullptr;
  // With GemmKernel::zero_points, of A's and B's types; null is zero:
  const void *a_zero = nullptr, *b_zero = nullptr;
  std::int64_t a_zero_step = 0, b_zero_step = 0;  ///< 0: one value; 1: one per row of A, column of B
};

/// Ranges of columns begin at multiples of this.
inline constexpr std::int64_t kRangeCols = 32;

/// The implementation of products of some element types: all that a step, a binding rule or fusion needs of a GEMM. A
/// new element type is a new row of the table in find_gemm().
struct GemmKernel {
  Elem a, b;                                ///< of the operands
  Elem accumulator;                         ///< type in which products are summed
  Elem c;                                   ///< of the result
  double Tuning::* multiply_add = nullptr;  ///< time of a multiply-add on one core
  bool epilogue = false;
  bool zero_points = false;
  bool column_ranges = false;  ///< column ranges may be computed separately, with the same bits
  bool always_packs = false;   ///< packing a constant B pays even for one row, however few columns it has
  std::size_t (*scratch_bytes)(std::int64_t m, std::int64_t n, std::int64_t k) = nullptr;
  /// The packed format of a constant B, which is the same for every ISA; null: B is read in place.
  std::size_t (*packed_b_bytes)(std::int64_t k, std::int64_t n) = nullptr;
  void (*pack_b)(const GemmCall& call, void* packed) = nullptr;
  /// The bytes that GemmCall::passed needs; null: C is always stored.
  std::size_t (*passed_bytes)(std::int64_t m, std::int64_t n, std::int64_t k) = nullptr;
  /// Computes rows [begin, end) of C, or of a range of its columns, with the bits of a call for all rows. Each
  /// concurrent caller needs its own scratch. Stops early if the execution limits require it.
  void (*rows)(const GemmCall& call, std::int64_t begin, std::int64_t end, void* scratch) = nullptr;

  /// Returns the approximate nanoseconds of a product on one core of this machine.
  double nanoseconds(std::int64_t m, std::int64_t n, std::int64_t k) const {
    return product_nanoseconds(tuning(), multiply_add, m, n, k, byte_size(b));
  }
};

/// Returns null if no kernel supports the types.
const GemmKernel* find_gemm(Elem a, Elem b, Elem c) noexcept;

}  // namespace frazil::kernel
