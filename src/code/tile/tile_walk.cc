#include <algorithm>

#include "base/thread/poll_throttle.h"
#include "code/entries.h"
#include "code/native/native_plan.h"
#include "code/tile/tile_state.h"

namespace frazil::code {
namespace {

constexpr std::size_t kMaxOperands = kMaxFusedOperands + kMaxFusedStores + 1;

/// A walk over a range of rows, which machine code or the interpreter computes. The run may be stopped in between.
class TileWalk {
 public:
  TileWalk(const TileCall& call, const TileState& s) : s_(s), arrays_(s), scratch_(call.scratch) {
    for (int k = 0; k < s.count(); ++k) {
      at_[k] = call.operands[k];
      steps_[k] = arrays_.operands[k].inner_step;
    }
  }

  void rows(const std::int64_t* row_steps, std::int64_t rows, std::int64_t n) const { call(at_, row_steps, rows, n); }

  /// Computes elements [from, past) of the innermost loop, which is the only one or runs once.
  void elements(std::int64_t from, std::int64_t past) {
    if (s_.rows) return call(at_, kNoSteps, 1, past);
    for (std::int64_t i = from; i < past; i += kLongTile) {
      if (i != from && stop_requested()) return;
      std::byte* moved[kMaxOperands];
      for (int k = 0; k < s_.count(); ++k) moved[k] = at_[k] + i * steps_[k];
      call(moved, kNoSteps, 1, std::min(kLongTile, past - i));
    }
  }

  /// Computes the columns of a part of the only row.
  void columns(const TilePart& p) {
    start(p, [&](int k) { return p.col0 * steps_[k]; });
    elements(0, p.col1 - p.col0);
  }

  /// Computes the part's columns, in the runs of the innermost loop that are its rows.
  void rounds(const TilePart& p) {
    const int count = s_.count();
    std::int64_t index[kMaxTileLoops] = {};
    for (std::int64_t left = p.row0, a = 0; left > 0; left /= arrays_.extents[a++])
      index[a] = left % arrays_.extents[a];
    start(p, [&](int k) {
      std::int64_t at = p.col0 * steps_[k];
      for (int a = 0; a < s_.rank; ++a) at += arrays_.steps[a * count + k] * index[a];
      return at;
    });
    const std::int64_t n = p.col1 - p.col0, most = std::max<std::int64_t>(1, kLongTile / std::max<std::int64_t>(n, 1));
    for (std::int64_t round = p.row0; round < p.row1;) {
      const std::int64_t rows = std::min({arrays_.extents[0] - index[0], p.row1 - round, most});
      call(at_, arrays_.steps, rows, n);
      round += rows;
      if (round >= p.row1 || stop_requested()) return;
      advance(index, rows);
    }
  }

  /// Computes rows of a space whose elements are adjacent.
  void dense_rows(const TilePart& p) {
    std::int64_t row_steps[kMaxOperands];
    for (int k = 0; k < s_.count(); ++k) row_steps[k] = steps_[k] * p.cols;
    start(p, [&](int k) { return p.row0 * row_steps[k] + p.col0 * steps_[k]; });
    const std::int64_t n = p.col1 - p.col0;
    const std::int64_t most = std::max<std::int64_t>(1, kLongTile / std::max<std::int64_t>(n, 1));
    for (std::int64_t row = p.row0; row < p.row1;) {
      const std::int64_t rows = std::min(most, p.row1 - row);
      call(at_, row_steps, rows, n);
      row += rows;
      if (row >= p.row1 || stop_requested()) return;
      for (int k = 0; k < s_.count(); ++k) at_[k] += rows * row_steps[k];
    }
  }

 private:
  /// Moves pointers to the part's first element. `offset` counts bytes from the first element of the space.
  template <class Offset>
  void start(const TilePart& p, Offset offset) {
    for (int k = 0; k < s_.count(); ++k) {
      if (k != p.partial) at_[k] += offset(k);
    }
  }

  /// Advances by `rows` in the first loop, and in the others where that ends.
  void advance(std::int64_t* index, std::int64_t rows) {
    const int count = s_.count();
    const std::int64_t before = index[0];
    int ended = 0;  // loops that begin again
    for (index[0] += rows; index[ended] == arrays_.extents[ended]; ++index[ended]) index[ended++] = 0;
    for (int k = 0; k < count; ++k) {
      std::int64_t by = (index[0] - before) * arrays_.steps[k];
      for (int a = 1; a < ended; ++a) by -= arrays_.steps[a * count + k] * (arrays_.extents[a] - 1);
      if (ended > 0) by += arrays_.steps[ended * count + k];
      at_[k] += by;
    }
  }

  void call(std::byte* const* at, const std::int64_t* row_steps, std::int64_t rows, std::int64_t n) const {
    if (s_.native == nullptr) return interpret_rows(s_, scratch_, at, row_steps, rows, n);
    s_.native(at, row_steps, rows, n, steps_, scratch_, static_cast<std::int64_t>(s_.stride), arrays_.constants);
  }

  static constexpr std::int64_t kNoSteps[kMaxOperands] = {};
  const TileState& s_;
  const TileArrays arrays_;
  std::byte* scratch_;
  std::byte* at_[kMaxOperands];
  std::int64_t steps_[kMaxOperands];
};

void run_direct(const TileCall& call, const TileState& s) {
  const void* args[3];
  for (int k = 0; k < 3; ++k) {
    const std::int8_t from = s.direct_args[k];
    args[k] = from >= 0 ? static_cast<const void*>(call.operands[from]) : &s.direct_constant;
  }
  s.direct(call.operands[s.operands], args, static_cast<std::size_t>(s.direct_count));
}

}  // namespace

bool has_parts(const TileState& s, std::int64_t rows, std::int64_t cols) {
  if (s.dense) return s.inner == rows * cols;
  return s.inner == cols && s.outer == rows;
}

void run_rows(const TileCall& call, const TileState& s, const std::int64_t* row_steps, std::int64_t rows,
              std::int64_t n) {
  TileWalk(call, s).rows(row_steps, rows, n);
}

void run_tiles(const TileCall& call, const TileState& s, const TilePart& part) {
  TileWalk walk(call, s);
  if (s.dense) return walk.dense_rows(part);
  s.rank == 0 ? walk.columns(part) : walk.rounds(part);
}

void run_tiles(const TileCall& call, const TileState& s, std::int64_t begin, std::int64_t end) {
  if (s.direct != nullptr) return run_direct(call, s);
  if (s.outer == 0 || (s.inner == 0 && !s.rows)) return;
  const bool loops = s.rank != 0 || s.rows;
  const std::int64_t first = begin * s.unit, past = std::min(end * s.unit, loops ? s.outer : s.inner);
  TileWalk walk(call, s);
  if (s.rank != 0) return walk.rounds({first, past, 0, s.inner, s.inner});
  if (loops) return walk.elements(0, s.inner);
  walk.elements(first, past);
}

void run_tiles(const TileCall& call, const TileState& s) { run_tiles(call, s, 0, INT64_MAX / s.unit); }

KernelEntry tile_entry(const FusedKernel& kernel, const std::shared_ptr<NativeSource>& native) {
  auto code = std::make_shared<TileCode>(compile_tiles(kernel, body_operands(kernel)));
  code->native = native;
  static constexpr Emits kAll{.body =
                                  [](const void* c, const void* state) {
                                    return native_body(*static_cast<const TileCode*>(c),
                                                       *static_cast<const TileState*>(state));
                                  },
                              .all = true};
  const auto prepare = [](Prepare& cx, const void* c, void* state) -> Status {
    return prepare_tiles(cx, *static_cast<const TileCode*>(c), *static_cast<TileState*>(state), false);
  };
  const std::size_t bytes = tile_state_bytes(*code);
  return {.step = {bytes, prepare, std::move(code)},
          .run =
              [](const Call& call, const Worker& worker, std::int64_t begin, std::int64_t end) {
                run_tiles({call.in, worker.scratch}, *static_cast<const TileState*>(call.state), begin, end);
              },
          .emits = &kAll};
}

}  // namespace frazil::code
