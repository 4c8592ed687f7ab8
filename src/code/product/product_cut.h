#pragma once

#include <algorithm>
#include <cstdint>

#include "base/thread/poll_throttle.h"
#include "code/abi/abi.h"
#include "kernel/contract/gemm_kernel.h"

namespace frazil::code {

/// The units of the result of a product, or of a batch of products. They are rows or, if rows alone make few units,
/// columns of each product. Units are numbered along the columns first.
struct ProductCut {
  static constexpr std::int64_t kUnitRows = 48;  ///< a few panels of the kernel
  static constexpr std::int64_t kUnitCols = 2 * kernel::kRangeCols;
  static constexpr std::int64_t kManyUnits = 8;  ///< units of rows that several threads share well

  std::int64_t unit_rows = kUnitRows;
  std::int64_t per_batch = 0;  ///< units of rows per product
  std::int64_t columns = 1;    ///< units of columns

  /// Sets the results of Prepare.
  void prepare(Prepare& cx, const kernel::GemmKernel& kernel, const kernel::GemmCall& g, std::int64_t batches) {
    per_batch = ceil_div(g.m, kUnitRows);
    const std::int64_t side_by_side = ceil_div(g.n, kUnitCols);
    const bool passes = cx.passing && cx.whole_rows;  // rows that are not stored cannot be cut
    if (!passes && kernel.column_ranges && per_batch * batches < kManyUnits && side_by_side > per_batch &&
        per_batch > 0) {
      unit_rows = g.m, per_batch = 1, columns = side_by_side;
    } else if (batches == 1 && per_batch > 1 && per_batch < kManyUnits && g.packed_b != nullptr) {
      unit_rows = kUnitRows / 2, per_batch = ceil_div(g.m, unit_rows);
    }
    cx.units = batches * per_batch * columns;
    cx.nanoseconds = static_cast<double>(batches) * kernel.nanoseconds(g.m, g.n, g.k);
    cx.scratch_bytes = kernel.scratch_bytes(g.m, g.n, g.k);
    cx.min_units = min_units(cx, g);
  }

  /// Calls rows(first, past) for the units of rows in units [begin, end). g has their columns.
  template <class F>
  void for_each(kernel::GemmCall& g, std::int64_t begin, std::int64_t end, F rows) const {
    while (begin < end && !stop_requested()) {
      const std::int64_t row = begin / columns, col = begin % columns;
      std::int64_t past = end / columns;
      if (col == 0 && past > row) {
        g.first_col = g.past_col = 0;
        begin = past * columns;
      } else {
        const std::int64_t past_col = std::min(end - row * columns, columns);
        g.first_col = col * kUnitCols;
        g.past_col = std::min(g.n, past_col * kUnitCols);
        begin = row * columns + past_col;
        past = row + 1;
      }
      rows(row, past);
    }
  }

 private:
  static constexpr std::int64_t kUnitsForB = 8;  ///< units for which packing B pays
  static constexpr std::int64_t kFewRanges = 7;
  static constexpr std::int64_t kTimesSetUp = 8;    ///< units have to take so many times their set-up
  static constexpr double kPackNanoseconds = 0.15;  ///< per element of A
  static constexpr std::int64_t kRowsInPlace = 12;  ///< up to so many rows of A are not packed

  /// Returns Prepare::min_units. A call for units of rows packs an unpacked B, one for units of columns packs A.
  std::int64_t min_units(const Prepare& cx, const kernel::GemmCall& g) const {
    if (columns == 1) return g.packed_b != nullptr || per_batch == 0 ? 1 : std::min(per_batch, kUnitsForB);
    // One range per thread, up to kFewRanges: rows of a B in place are read in long pieces.
    if (g.packed_b == nullptr && g.b_col == 1) return ceil_div(columns, kFewRanges);
    if (g.m <= kRowsInPlace) return 1;
    const double pack = kPackNanoseconds * static_cast<double>(g.m) * static_cast<double>(g.k);
    return min_profitable_units(pack, cx.nanoseconds / static_cast<double>(cx.units), columns);
  }

 public:
  static std::int64_t min_profitable_units(double set_up, double unit, std::int64_t most) {
    const double units = kTimesSetUp * set_up / std::max(unit, 1.0);
    return units >= static_cast<double>(most) ? most : std::max<std::int64_t>(1, static_cast<std::int64_t>(units));
  }
};

}  // namespace frazil::code
