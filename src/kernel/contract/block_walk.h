#pragma once

// The loops of products with a packed B. A block of rows of A is multiplied with one panel after the other, and each
// panel with one tile of rows after the other. Private to translation units of one instruction set, like math_lanes.h.

#include "kernel/contract/rows_of_a.h"
#include "kernel/contract/sums.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

/// B in panels of kPanelCols columns.
struct Panels {
  const std::byte* at = nullptr;
  int64_t bytes = 0;       ///< bytes from one panel to the next
  int64_t step = 0;        ///< bytes from one step to the next
  int64_t cols = 0;        ///< columns of B
  bool contiguous = true;  ///< the bytes of a panel are adjacent
};

/// The loops over panels and tiles for a block of rows. Rows is a RowsOfA. Ends provides the functions of tiles, and
/// stores their sums:
///   Tile                         the argument of a tile's function, a TileOperands
///   tiles(reads, vectors, cols)  returns functions by number of rows, for `cols` columns in `vectors` vectors
///   columns(tile, col, cols)     is called before the tiles of these columns
///   rows(tile, row)              is called before a tile whose first row is `row`
template <class Rows, class Ends>
class BlockWalk {
 public:
  using Tile = typename Ends::Tile;
  /// `steps` are those of a row or, in runs, of a tap.
  BlockWalk(const Rows& a, const Panels& b, int64_t steps, Ends& ends) : a_(a), b_(b), ends_(ends) {
    tile_.steps = steps;
    tile_.b_step = b.step, tile_.b_panel = b.bytes;
  }

  /// Computes columns [first, past), in tiles of `vectors` vectors and a narrower one at the end of B. If `ahead`, each
  /// tile prefetches a part of the next panel.
  void columns(int64_t first, int64_t past, int vectors, bool ahead) {
    const int64_t width = vectors * kW, tiles = a_.cut().tiles;
    tile_.prefetch_line_count = ceil_div(b_.bytes / kLine, tiles * max64(1, kPanelCols / width));
    for (int64_t col = first; col < past && !stop_requested(); col += width) {
      const int64_t next = (col / kPanelCols + 1) * kPanelCols, before = col % kPanelCols / width * tiles;
      const bool prefetches = ahead && b_.contiguous && next < b_.cols;
      tile_.prefetch_from = prefetches ? panel(next) + before * tile_.prefetch_line_count * kLine : nullptr;
      of_columns(col, min64(width, past - col), b_.cols - col <= kW ? 1 : vectors);
    }
  }

 private:
  const std::byte* panel(int64_t col) const { return b_.at + col / kPanelCols * b_.bytes; }

  void of_columns(int64_t col, int64_t cols, int vectors) {
    const Reads reads = a_.reads();
    const auto* const run = ends_.tiles(reads, vectors, cols);
    const auto* const even = reads == Reads::runs ? ends_.tiles(Reads::even, vectors, cols) : nullptr;
    const RowCut& cut = a_.cut();
    tile_.b = panel(col) + col % kPanelCols * (b_.contiguous ? b_.step / kPanelCols : kWord);
    ends_.columns(tile_, col, cols);
    for (int64_t i = 0; i < cut.tiles; ++i) {
      const bool evenly = a_.place(i, tile_);
      ends_.rows(tile_, cut.row(i));
      (evenly ? even : run)[cut.row(i + 1) - cut.row(i)](tile_);
      if (tile_.prefetch_from != nullptr) tile_.prefetch_from += tile_.prefetch_line_count * kLine;
    }
  }

  const Rows& a_;
  const Panels b_;
  Ends& ends_;
  Tile tile_;
};

}  // namespace
}  // namespace frazil::kernel::FRAZIL_ISA_NS
