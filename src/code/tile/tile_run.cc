#include <algorithm>
#include <cstring>

#include "base/poll_throttle.h"
#include "code/entries.h"
#include "code/native/native_plan.h"
#include "code/tile/elements.h"
#include "code/tile/tile_state.h"
#include "kernel/row/rows.h"

namespace frazil::code {
namespace {

class TileRun {
 public:
  TileRun(const TileCall& call, const TileState& s) : s_(s), arrays_(s), scratch_(call.scratch), at_(call.operands) {
    for (int i = 0; i < s.constants; ++i) values_[arrays_.constants[i].value] = &arrays_.constants[i].bits;
  }

  void run(std::int64_t begin, std::int64_t end) {
    const bool loops = s_.rank != 0 || s_.rows;
    const std::int64_t first = begin * s_.unit, past = std::min(end * s_.unit, loops ? s_.outer : s_.inner);
    if (s_.one_chain) {
      return loops ? chain_of_rows({first, past, 0, s_.inner, s_.inner}) : chain_of_rows({0, 1, first, past, 0});
    }
    if (loops && s_.rank != 0) return outer_loops({first, past, 0, s_.inner, s_.inner});
    if (loops) return inner_loop(0, s_.inner);  // one row
    inner_loop(first, past);
  }

  void run(const TilePart& p) {
    if (s_.one_chain) return chain_of_rows(p);
    s_.dense ? dense_rows(p) : outer_loops(p);
  }

 private:
  /// Rows side by side.
  void dense_rows(const TilePart& p) {
    start(p, [&](int k) { return (p.row0 * p.cols + p.col0) * arrays_.operands[k].inner_step; });
    if (p.col0 == 0 && p.col1 == p.cols) return inner_loop(0, (p.row1 - p.row0) * p.cols);
    for (std::int64_t row = p.row0; row < p.row1; ++row) {
      if (row != p.row0) {
        for (int k = 0; k < s_.count(); ++k) moved_[k] += p.cols * arrays_.operands[k].inner_step;
      }
      inner_loop(0, p.col1 - p.col0);
    }
  }

  /// The innermost loop over the part's columns, in the rounds of the others that are its rows.
  void outer_loops(const TilePart& p) {
    const int count = s_.count();
    std::int64_t index[kMaxTileLoops];
    std::fill_n(index, s_.rank, 0);
    for (std::int64_t left = p.row0, a = 0; left > 0; left /= arrays_.extents[a++])
      index[a] = left % arrays_.extents[a];
    start(p, [&](int k) {
      std::int64_t at = p.col0 * arrays_.operands[k].inner_step;
      for (int a = 0; a < s_.rank; ++a) at += arrays_.steps[a * count + k] * index[a];
      return at;
    });
    PollThrottle throttle;
    for (std::int64_t round = p.row0; round < p.row1 && !throttle.stop(s_.inner); ++round) {
      if (round != p.row0) next_round(index);
      inner_loop(0, p.col1 - p.col0);
    }
  }

  /// Moves pointers to the part's first element. `offset` counts bytes from the first element of the space.
  template <class Offset>
  void start(const TilePart& p, Offset offset) {
    for (int k = 0; k < s_.count(); ++k) moved_[k] = k == p.partial ? at_[k] : at_[k] + offset(k);
    at_ = moved_;
  }

  void next_round(std::int64_t* index) {
    const int count = s_.count();
    int ended = 0;  // loops that begin again
    while (ended < s_.rank && ++index[ended] == arrays_.extents[ended]) index[ended++] = 0;
    for (int k = 0; k < count; ++k) {
      std::int64_t by = ended < s_.rank ? arrays_.steps[ended * count + k] : 0;
      for (int a = 0; a < ended; ++a) by -= arrays_.steps[a * count + k] * (arrays_.extents[a] - 1);
      moved_[k] += by;
    }
  }

  void inner_loop(std::int64_t begin, std::int64_t end) {
    PollThrottle throttle;
    const std::int64_t work = s_.tile * s_.ops;
    for (;;) {
      const std::int64_t n = std::min(s_.tile, end - begin);
      for (int i = 0; i < s_.pointers; ++i) {
        const TilePointer p = arrays_.pointers[i];
        values_[p.value] = at_[p.operand] + begin * arrays_.operands[p.operand].inner_step;
      }
      for (int i = 0; i < s_.ops; ++i) op(arrays_.ops[i], begin, n);
      begin += n;
      if (begin >= end || throttle.stop(work)) return;
    }
  }

  std::byte* result(int k, std::int64_t begin) {
    return at_[s_.operands + k] + begin * arrays_.operands[s_.operands + k].inner_step;
  }

  [[gnu::always_inline]] void op(const TileOp& op, std::int64_t begin, std::int64_t n) {
    if (op.kind == TileOp::Kind::store) return store_result(op, begin, n);
    if (op.kind == TileOp::Kind::chain) return run_chain(arrays_.chains[op.a], begin, n);
    std::byte* to = op.to >= 0 ? result(op.to, begin) : scratch_ + op.buffer * s_.stride;
    if (op.once) n = 1;
    values_[op.value] = to;
    if (op.kind == TileOp::Kind::scalar) [[likely]] {
      const void* args[3] = {values_[op.a], values_[op.b], values_[op.c]};
      if (n <= kLongTile) [[likely]]
        return op.fn(to, args, static_cast<std::size_t>(n));
      return in_pieces(op, to, args, n);
    }
    other(op, to, begin, n);
  }

  [[gnu::noinline]] void other(const TileOp& op, std::byte* to, std::int64_t begin, std::int64_t n) {
    if (op.kind == TileOp::Kind::convert) {
      const TileOperand& o = arrays_.operands[op.a];
      return load_run(o.elem, at_[op.a] + begin * o.inner_step, o.inner_step, to, n);
    }
    const void* x = op.expands ? expanded(op) : values_[op.a];
    if (op.kind == TileOp::Kind::fold) {
      kernel::reduce(static_cast<kernel::Reduce>(static_cast<int>(op.row) - 1), op.type, x, to, 1, s_.inner, 1);
      return;
    }
    const kernel::Rows row{1, n, static_cast<const float*>(x), n, reinterpret_cast<float*>(to), n};
    if (op.row == RowOp::softmax) return kernel::softmax(row);
    if (op.row == RowOp::log_softmax) return kernel::log_softmax(row);
    const auto* scale = op.row == RowOp::standardize ? nullptr : static_cast<const float*>(values_[op.b]);
    const auto* bias = op.row == RowOp::layer_norm_bias ? static_cast<const float*>(values_[op.c]) : nullptr;
    kernel::layer_norm(row, scale, bias, op.epsilon, nullptr, nullptr);
  }

  void run_chain(const TileChain& c, std::int64_t begin, std::int64_t n) {
    const void* operands[kernel::kMostChainOperands];
    void* results[kernel::kMostChainOperands];
    for (int k = 0; k < c.value_count; ++k) operands[k] = values_[arrays_.chain_values[c.values + k]];
    for (int k = 0; k < c.result_count; ++k) {
      const TileResult& r = arrays_.chain_results[c.results + k];
      std::byte* const to = r.to >= 0 ? result(r.to, begin) : scratch_ + r.buffer * s_.stride;
      values_[r.value] = results[k] = to;
    }
    kernel::run_chain({arrays_.chain_steps + c.steps, c.step_count}, operands, results, n);
  }

  /// The whole work as one chain, over rows where there are some.
  void chain_of_rows(const TilePart& p) {
    const TileChain& c = arrays_.chains[arrays_.ops[0].a];
    const void* operands[kernel::kMostChainOperands];
    void* results[kernel::kMostChainOperands];
    std::int64_t operand_steps[kernel::kMostChainOperands], result_steps[kernel::kMostChainOperands];
    // Rows of dense tensors lie side by side.
    const auto step = [&](int k) {
      if (!s_.dense) return s_.rank == 0 ? 0 : arrays_.steps[k];
      return arrays_.operands[k].inner_step * p.cols;
    };
    start(p, [&](int k) { return p.row0 * step(k) + p.col0 * arrays_.operands[k].inner_step; });
    for (int i = 0; i < s_.pointers; ++i) {
      const TilePointer& pointer = arrays_.pointers[i];
      for (int k = 0; k < c.value_count; ++k) {
        if (arrays_.chain_values[c.values + k] != pointer.value) continue;
        operands[k] = at_[pointer.operand];
        operand_steps[k] = step(pointer.operand);
      }
    }
    for (int k = 0; k < c.result_count; ++k) {
      const int result = s_.operands + arrays_.chain_results[c.results + k].to;
      results[k] = at_[result];
      result_steps[k] = step(result);
    }
    const std::span steps(arrays_.chain_steps + c.steps, c.step_count);
    const bool joined = s_.dense && p.col0 == 0 && p.col1 == p.cols;  // rows are one
    const std::int64_t rows = joined ? 1 : p.row1 - p.row0;
    std::int64_t n = joined ? (p.row1 - p.row0) * p.cols : p.col1 - p.col0;
    if (rows == 1) return long_chain(c, steps, operands, results, n);
    const kernel::ChainRows by{kRowsAtOnce, std::span(operand_steps).first(c.value_count),
                               std::span(result_steps).first(c.result_count)};
    PollThrottle throttle;
    for (std::int64_t done = 0; done < rows && !throttle.stop(kRowsAtOnce * n);) {
      kernel::ChainRows some = by;
      some.rows = std::min(kRowsAtOnce, rows - done);
      kernel::run_chain_rows(steps, operands, results, n, some);
      done += some.rows;
      if (done < rows) move(operands, by.operand_steps), move(results, by.result_steps);
    }
  }

  template <class P>
  static void move(P* pointers, std::span<const std::int64_t> steps) {
    using Byte = std::conditional_t<std::is_same_v<P, void*>, std::byte, const std::byte>;
    for (std::size_t k = 0; k < steps.size(); ++k) pointers[k] = static_cast<Byte*>(pointers[k]) + steps[k];
  }

  /// Which the run may be stopped in.
  void long_chain(const TileChain& c, std::span<const kernel::ChainStep> steps, const void** operands, void** results,
                  std::int64_t n) const {
    std::int64_t widths[kernel::kMostChainOperands], result_widths[kernel::kMostChainOperands];
    for (int i = 0; i < s_.pointers; ++i) {
      for (int k = 0; k < c.value_count; ++k) {
        if (arrays_.chain_values[c.values + k] == arrays_.pointers[i].value)
          widths[k] = arrays_.operands[arrays_.pointers[i].operand].inner_step * kLongTile;
      }
    }
    for (int k = 0; k < c.result_count; ++k) {
      const int result = s_.operands + arrays_.chain_results[c.results + k].to;
      result_widths[k] = arrays_.operands[result].inner_step * kLongTile;
    }
    for (std::int64_t left = n; left > 0 && !stop_requested(); left -= kLongTile) {
      kernel::run_chain(steps, operands, results, std::min(left, kLongTile));
      if (left <= kLongTile) return;
      move(operands, std::span(widths).first(c.value_count));
      move(results, std::span(result_widths).first(c.result_count));
    }
  }

  /// One element, repeated to a row.
  const void* expanded(const TileOp& op) {
    std::byte* to = scratch_ + s_.spare * s_.stride;
    kernel::fill(to, values_[op.a], byte_size(op.type), static_cast<std::size_t>(s_.inner));
    return to;
  }

  void store_result(const TileOp& op, std::int64_t begin, std::int64_t n) {
    const TileOperand& o = arrays_.operands[s_.operands + op.to];
    const bool single = o.inner_step == 0;  // of a row
    store_run(o.elem, values_[op.value], result(op.to, begin), o.inner_step, single ? 1 : n, op.once && !single);
  }

  /// A long row, which the run may be stopped in.
  void in_pieces(const TileOp& op, std::byte* to, const void* const* args, std::int64_t n) {
    const auto size = static_cast<std::int64_t>(byte_size(op.type));
    for (std::int64_t begin = 0; begin < n && !stop_requested(); begin += kLongTile) {
      const void* at[3];
      for (int k = 0; k < 3; ++k) at[k] = static_cast<const std::byte*>(args[k]) + begin * op.steps[k];
      op.fn(to + begin * size, at, static_cast<std::size_t>(std::min(kLongTile, n - begin)));
    }
  }

  static constexpr std::int64_t kRowsAtOnce = 64;
  const TileState& s_;
  const TileArrays arrays_;
  std::byte* scratch_;
  std::byte* const* at_;  // where operands and then results begin
  std::byte* moved_[kMaxFusedOperands + kMaxFusedStores];
  const void* values_[kMaxFusedInstructions];
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

void run_tiles(const TileCall& call, const TileState& s, const TilePart& part) {
  if (s.native != nullptr) return run_native(call, s, part);
  TileRun(call, s).run(part);
}

void run_tiles(const TileCall& call, const TileState& s, std::int64_t begin, std::int64_t end) {
  if (s.native != nullptr) return run_native(call, s, begin, end);
  if (s.direct != nullptr) return run_direct(call, s);
  if (s.outer != 0 && (s.inner != 0 || s.rows)) TileRun(call, s).run(begin, end);
}

void run_tiles(const TileCall& call, const TileState& s) { run_tiles(call, s, 0, INT64_MAX / s.unit); }

KernelEntry tile_entry(const FusedKernel& kernel, const std::shared_ptr<NativeSource>& native) {
  auto code = std::make_shared<TileCode>(compile_tiles(kernel, body_operands(kernel)));
  code->native = native;
  const std::size_t bytes = tile_state_bytes(*code);
  return {.state_bytes = bytes,
          .prepare = [](Prepare& cx, const void* c, void* state) -> Status {
            return prepare_tiles(cx, *static_cast<const TileCode*>(c), *static_cast<TileState*>(state));
          },
          .run =
              [](const Call& call, const Worker& worker, std::int64_t begin, std::int64_t end) {
                run_tiles({call.in, worker.scratch}, *static_cast<const TileState*>(call.state), begin, end);
              },
          .code = std::move(code),
          .runs_body = true,
          .native =
              [](const void* c, const void* state) {
                return native_body(*static_cast<const TileCode*>(c), *static_cast<const TileState*>(state));
              }};
}

}  // namespace frazil::code
