#pragma once

// Rows of A for packing, wherever they lie. For translation units of one instruction set, as math_lanes.h.

#include "kernel/contract/product.simd.h"
#include "kernel/simd/f32_lanes.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

/// Product: has A as a, a_row, a_col, k and runs.
template <class Product>
class RowsOfA {
 public:
  RowsOfA(const Product& g, const ProductScratch& s) : g_(g), s_(s) {}

  /// Before rows [first, past) are read.
  void begin(int64_t first, int64_t past) {
    block_ = first;
    if (in_runs()) g_.runs.point(g_.runs.context, first, past, s_.at);
  }

  /// Calls pack(pointers, step, rows, n, done) for parts of rows [first, first + rows), at most kPanelRows: behind each
  /// pointer n elements lie, `step` apart, which are elements `done` and following of a row. Runs are parts where their
  /// length is a multiple of `unit`; otherwise rows are copied first.
  template <class T, int64_t unit>
  void pack(int64_t first, int64_t rows, auto pack) const {
    const int64_t taps = g_.runs.taps, depth = g_.runs.depth;
    const T* from[kPanelRows];
    if (in_runs() && (depth % unit == 0 || taps == 1)) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t r = 0; r < rows; ++r)
          from[r] = reinterpret_cast<const T*>(s_.at[(first - block_ + r) * taps + tap]);
        pack(from, 1, rows, depth, tap * depth);
      }
      return;
    }
    for (int64_t r = 0; r < rows; ++r)
      from[r] = in_runs() ? gathered<T>(first + r, r) : static_cast<const T*>(g_.a) + (first + r) * g_.a_row;
    pack(from, in_runs() ? 1 : g_.a_col, rows, g_.k, 0);
  }

 private:
  bool in_runs() const { return g_.runs.point != nullptr; }

  template <class T>
  const T* gathered(int64_t row, int64_t place) const {
    const int64_t taps = g_.runs.taps, bytes = g_.runs.depth * static_cast<int64_t>(sizeof(T));
    std::byte* const to = s_.row + place * taps * bytes;
    const std::byte* const* at = s_.at + (row - block_) * taps;
    for (int64_t t = 0; t < taps; ++t) __builtin_memcpy(to + t * bytes, at[t], static_cast<std::size_t>(bytes));
    return reinterpret_cast<const T*>(to);
  }

  const Product& g_;
  const ProductScratch& s_;
  int64_t block_ = 0;
};

}  // namespace
}  // namespace frazil::kernel::FRAZIL_ISA_NS
