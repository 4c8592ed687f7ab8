#pragma once

// Access to rows of A in any layout, for packing and for tiles. Private to translation units of one instruction set,
// like math_lanes.h.

#include "kernel/contract/product.simd.h"
#include "kernel/contract/sums.h"
#include "kernel/simd/f32_lanes.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

/// The rows of A of a product. Product has members a, a_row, a_col, k and runs; T is the type of an element.
template <class Product, class T>
class RowsOfA {
 public:
  /// `packed_row` is the size of a packed row in bytes.
  RowsOfA(const Product& g, const ProductScratch& s, Reads reads, int64_t packed_row)
      : g_(g), s_(s), reads_(reads), packed_row_(packed_row) {}

  /// Starts a block. Must be called before its rows are packed or read.
  void begin(const RowCut& cut) {
    cut_ = cut;
    if (in_runs()) g_.runs.point(g_.runs.context, cut.begin, cut.begin + cut.rows, s_.at);
    for (int64_t i = 0; i < cut.tiles && reads_ == Reads::runs; ++i)
      steps_[i] = g_.runs.step(g_.runs.context, cut.row(i), cut.row(i + 1));
  }
  const RowCut& cut() const { return cut_; }
  Reads reads() const { return reads_; }
  int64_t taps() const { return reads_ == Reads::runs ? g_.runs.taps : 1; }

  /// Returns the packed rows of tile i.
  std::byte* packed(int64_t i) const { return s_.a + (cut_.row(i) - cut_.begin) * packed_row_; }

  /// Sets where tile i reads A. Returns true if its rows are equally far apart (Reads::even).
  bool place(int64_t i, TileOperands& t) const {
    const int64_t row = cut_.row(i);
    if (reads_ == Reads::packed) {
      t.a = packed(i);
      t.a_step = (cut_.row(i + 1) - row) * kWord;
      return false;
    }
    if (reads_ == Reads::rows) {
      t.a = static_cast<const std::byte*>(g_.a) + row * g_.a_row * kSize;
      t.a_row = g_.a_row * kSize;
      return false;
    }
    t.at = s_.at + (row - cut_.begin) * g_.runs.taps;
    t.taps = g_.runs.taps;
    t.a_row = steps_[i];
    return steps_[i] != Runs::kUneven;
  }

  /// Calls pack(pointers, step, rows, n, done) for parts of the rows of tile i. Each pointer leads to n elements,
  /// `step` apart, of which the first is element `done` of a row. Runs are parts if their length is a multiple of
  /// `unit`; otherwise rows are copied first.
  template <int64_t unit>
  void pack(int64_t i, auto pack) const {
    const int64_t taps = g_.runs.taps, depth = g_.runs.depth, first = cut_.row(i), rows = cut_.row(i + 1) - first;
    const T* from[kPanelRows];
    if (in_runs() && (depth % unit == 0 || taps == 1)) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t r = 0; r < rows; ++r)
          from[r] = reinterpret_cast<const T*>(s_.at[(first - cut_.begin + r) * taps + tap]);
        pack(from, 1, rows, depth, tap * depth);
      }
      return;
    }
    for (int64_t r = 0; r < rows; ++r)
      from[r] = in_runs() ? gathered(first + r, r) : static_cast<const T*>(g_.a) + (first + r) * g_.a_row;
    pack(from, in_runs() ? 1 : g_.a_col, rows, g_.k, 0);
  }

 private:
  bool in_runs() const { return g_.runs.point != nullptr; }

  const T* gathered(int64_t row, int64_t place) const {
    const int64_t taps = g_.runs.taps, bytes = g_.runs.depth * kSize;
    std::byte* const to = s_.row + place * taps * bytes;
    const std::byte* const* at = s_.at + (row - cut_.begin) * taps;
    for (int64_t t = 0; t < taps; ++t) __builtin_memcpy(to + t * bytes, at[t], static_cast<std::size_t>(bytes));
    return reinterpret_cast<const T*>(to);
  }

  static constexpr int64_t kSize = sizeof(T), kMinTileRows = 4;
  const Product& g_;
  const ProductScratch& s_;
  const Reads reads_;
  const int64_t packed_row_;
  RowCut cut_{0, 0, 1};
  int64_t steps_[kMaxRunRows / kMinTileRows + 1];  // rows in runs: Runs::step() of each tile
};

}  // namespace
}  // namespace frazil::kernel::FRAZIL_ISA_NS
