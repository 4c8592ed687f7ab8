#include <algorithm>

#include "base/poll_throttle.h"
#include "code/tile_state.h"

namespace frazil {
namespace {

constexpr std::size_t kMostOperands = kMaxFusedOperands + kMaxFusedStores + 1;

/// Calls the machine code of a tile program for the rows of a range, of which the run may be stopped in between.
class NativeRun {
 public:
  NativeRun(const TileCall& call, const TileState& s) : s_(s), arrays_(s), scratch_(call.scratch) {
    for (int k = 0; k < s.count(); ++k) {
      at_[k] = call.operands[k];
      steps_[k] = arrays_.operands[k].inner_step;
    }
  }

  /// Elements [from, past) of the innermost loop, which is the only one or is run once.
  void elements(std::int64_t from, std::int64_t past) {
    if (s_.rows) return call(at_, kNoSteps, 1, past);
    for (std::int64_t i = from; i < past; i += kLongTile) {
      if (i != from && stop_requested()) return;
      std::byte* moved[kMostOperands];
      for (int k = 0; k < s_.count(); ++k) moved[k] = at_[k] + i * steps_[k];
      call(moved, kNoSteps, 1, std::min(kLongTile, past - i));
    }
  }

  /// The innermost loop from `from` to `past` in rounds [begin, end) of the others.
  void rounds(std::int64_t begin, std::int64_t end, std::int64_t from, std::int64_t past) {
    const int count = s_.count();
    std::int64_t index[kMaxTileLoops] = {};
    for (std::int64_t left = begin, a = 0; left > 0; left /= arrays_.extents[a++]) {
      index[a] = left % arrays_.extents[a];
      for (int k = 0; k < count; ++k) at_[k] += arrays_.steps[a * count + k] * index[a];
    }
    for (int k = 0; k < count; ++k) at_[k] += from * steps_[k];
    const std::int64_t most = std::max<std::int64_t>(1, kLongTile / std::max<std::int64_t>(past - from, 1));
    for (std::int64_t round = begin; round < end;) {
      const std::int64_t rows = std::min({arrays_.extents[0] - index[0], end - round, most});
      call(at_, arrays_.steps, rows, past - from);
      round += rows;
      if (round >= end || stop_requested()) return;
      advance(index, rows);
    }
  }

  /// Rows of a space whose elements lie side by side.
  void dense_rows(const TilePart& p) {
    std::int64_t row_steps[kMostOperands];
    for (int k = 0; k < s_.count(); ++k) {
      row_steps[k] = steps_[k] * p.cols;
      at_[k] += p.row0 * row_steps[k] + p.col0 * steps_[k];
    }
    const std::int64_t n = p.col1 - p.col0;
    const std::int64_t most = std::max<std::int64_t>(1, kLongTile / std::max<std::int64_t>(n, 1));
    for (std::int64_t row = p.row0; row < p.row1;) {
      const std::int64_t rows = std::min(most, p.row1 - row);
      call(at_, row_steps, rows, n);
      row += rows;
      if (row < p.row1 && stop_requested()) return;
      for (int k = 0; k < s_.count(); ++k) at_[k] += rows * row_steps[k];
    }
  }

 private:
  /// `rows` further in the first loop, and on in the others where that ends.
  void advance(std::int64_t* index, std::int64_t rows) {
    const int count = s_.count();
    for (int a = 0; a < s_.rank; ++a, rows = 1) {
      for (int k = 0; k < count; ++k) at_[k] += arrays_.steps[a * count + k] * rows;
      index[a] += rows;
      if (index[a] < arrays_.extents[a]) return;
      for (int k = 0; k < count; ++k) at_[k] -= arrays_.steps[a * count + k] * arrays_.extents[a];
      index[a] = 0;
    }
  }

  void call(std::byte* const* at, const std::int64_t* row_steps, std::int64_t rows, std::int64_t n) const {
    s_.native(at, row_steps, rows, n, steps_, scratch_, static_cast<std::int64_t>(s_.stride));
  }

  static constexpr std::int64_t kNoSteps[kMostOperands] = {};
  const TileState& s_;
  const TileArrays arrays_;
  std::byte* scratch_;
  std::byte* at_[kMostOperands];
  std::int64_t steps_[kMostOperands];
};

}  // namespace

void run_native(const TileCall& call, const TileState& s, std::int64_t begin, std::int64_t end) {
  if (s.outer == 0 || (s.inner == 0 && !s.rows)) return;
  const bool loops = s.rank != 0 || s.rows;
  const std::int64_t first = begin * s.unit, past = std::min(end * s.unit, loops ? s.outer : s.inner);
  NativeRun run(call, s);
  if (s.rank != 0) return run.rounds(first, past, 0, s.inner);
  if (loops) return run.elements(0, s.inner);
  run.elements(first, past);
}

void run_native(const TileCall& call, const TileState& s, const TilePart& part) {
  NativeRun run(call, s);
  if (s.dense) return run.dense_rows(part);
  if (s.rank == 0) return run.elements(part.col0, part.col1);
  run.rounds(part.row0, part.row1, part.col0, part.col1);
}

}  // namespace frazil
