#include <algorithm>
#include <cstring>

#include "base/thread/poll_throttle.h"
#include "code/tile/elements.h"
#include "code/tile/tile_state.h"
#include "kernel/row/rows.h"

namespace frazil::code {
namespace {

/// The interpreter of tile programs (tier 0). It runs one operation after the other, each on a tile of elements that
/// stays in the first-level cache. A tile is a part of a row, a whole row if the program works on rows, or several
/// short rows.
class TileInterpreter {
 public:
  TileInterpreter(const TileState& state, std::byte* scratch);

  /// Computes `rows` rows of `n` elements; arguments as in NativeLoop.
  void rows(std::byte* const* at, const std::int64_t* row_steps, std::int64_t rows, std::int64_t n);

 private:
  const TileOperand& operand(int k) const { return arrays_.operands[k]; }
  std::int64_t rows_together(std::int64_t rows) const;
  void tile(std::int64_t rows, std::int64_t n);
  void move(std::int64_t rows, std::int64_t elements);
  bool is_adjacent(int k) const;
  std::byte* copy(int k) const { return scratch_ + (s_.copies + k) * s_.stride; }
  const void* gathered(int k);
  void scatter(int k) const;

  void op(const TileOp& op);
  void scalar(const TileOp& op, std::byte* to, std::int64_t n) const;
  void other(const TileOp& op, std::byte* to);
  void load(const TileOp& op, std::byte* to) const;
  void store(const TileOp& op) const;
  const void* repeated(const TileOp& op);

  const TileState& s_;
  const TileArrays arrays_;
  std::byte* scratch_;
  const std::int64_t* row_steps_ = nullptr;
  std::int64_t rows_ = 1, n_ = 0;                       // of the tile
  std::byte* at_[kMaxFusedOperands + kMaxFusedStores];  // its first element
  std::int64_t gathered_[kMaxFusedOperands];            // number of rows that are repeated in the copy of an operand
  const void* values_[kMaxFusedInstructions];
};

TileInterpreter::TileInterpreter(const TileState& state, std::byte* scratch)
    : s_(state), arrays_(state), scratch_(scratch) {
  for (int i = 0; i < s_.constants; ++i) values_[arrays_.constants[i].value] = &arrays_.constants[i].bits;
}

void TileInterpreter::rows(std::byte* const* at, const std::int64_t* row_steps, std::int64_t rows, std::int64_t n) {
  std::copy_n(at, s_.count(), at_);
  row_steps_ = row_steps;
  n_ = n;
  std::fill_n(gathered_, s_.operands, 0);
  const std::int64_t together = rows_together(rows), width = s_.rows ? n : std::min(n, s_.tile);
  PollThrottle throttle;
  for (std::int64_t row = 0; row < rows; row += together) {
    const std::int64_t count = std::min(together, rows - row);
    std::int64_t done = 0;
    do {
      const std::int64_t some = std::min(width, n - done);
      tile(count, some);
      done += some;
      if ((done >= n && row + count >= rows) || throttle.stop(count * some * s_.ops)) return;
      move(0, some);
    } while (done < n);
    move(count, -n);
  }
}

/// Returns the number of short rows in a tile.
std::int64_t TileInterpreter::rows_together(std::int64_t rows) const {
  if (rows == 1 || s_.rows || s_.inner == 1 || 2 * n_ > kTile) return 1;
  for (int k = 0; k < s_.count(); ++k) {
    if (operand(k).inner_step == 0 && row_steps_[k] != 0) return 1;  // one element for each row
    if (k >= s_.operands && row_steps_[k] == 0) return 1;            // each row needs the result of the previous one
  }
  return std::min(rows, kTile / std::max<std::int64_t>(n_, 1));
}

/// Moves to the tile that begins `rows` rows and `elements` elements after this one.
void TileInterpreter::move(std::int64_t rows, std::int64_t elements) {
  for (int k = 0; k < s_.count(); ++k) at_[k] += rows * row_steps_[k] + elements * operand(k).inner_step;
}

void TileInterpreter::tile(std::int64_t rows, std::int64_t n) {
  rows_ = rows, n_ = n;
  for (int i = 0; i < s_.pointers; ++i) values_[arrays_.pointers[i].value] = gathered(arrays_.pointers[i].operand);
  for (int i = 0; i < s_.ops; ++i) op(arrays_.ops[i]);
}

// ---- some rows at a time ----

/// Returns whether the rows of the tile are adjacent in operand or result k, so that they form one row.
bool TileInterpreter::is_adjacent(int k) const {
  const TileOperand& o = operand(k);
  return rows_ == 1 || o.inner_step == 0 || (o.inner_step == o.size && row_steps_[k] == n_ * o.inner_step);
}

/// Returns the elements of operand k. Copies its rows if they are not adjacent.
const void* TileInterpreter::gathered(int k) {
  if (is_adjacent(k)) return at_[k];
  if (row_steps_[k] == 0 && gathered_[k] >= rows_) return copy(k);
  const auto bytes = static_cast<std::size_t>(n_ * operand(k).size);
  for (std::int64_t r = 0; r < rows_; ++r)
    std::memcpy(copy(k) + static_cast<std::size_t>(r) * bytes, at_[k] + r * row_steps_[k], bytes);
  gathered_[k] = rows_;
  return copy(k);
}

void TileInterpreter::scatter(int k) const {
  const auto bytes = static_cast<std::size_t>(n_ * operand(k).size);
  for (std::int64_t r = 0; r < rows_; ++r)
    std::memcpy(at_[k] + r * row_steps_[k], copy(k) + static_cast<std::size_t>(r) * bytes, bytes);
}

// ---- operations ----

void TileInterpreter::op(const TileOp& op) {
  if (op.kind == TileOp::Kind::store) return store(op);
  const int result = s_.operands + op.to;
  const bool apart = op.to >= 0 && !is_adjacent(result);
  std::byte* const to = apart ? copy(result) : op.to >= 0 ? at_[result] : scratch_ + op.buffer * s_.stride;
  values_[op.value] = to;
  if (op.kind != TileOp::Kind::scalar) [[unlikely]]
    return other(op, to);
  scalar(op, to, op.once ? 1 : rows_ * n_);
  if (apart) scatter(result);
}

/// Runs a scalar operation. A long row is cut, so that the run can stop within it.
void TileInterpreter::scalar(const TileOp& op, std::byte* to, std::int64_t n) const {
  const void* args[3] = {values_[op.a], values_[op.b], values_[op.c]};
  if (n <= kLongTile) [[likely]]
    return op.fn(to, args, static_cast<std::size_t>(n));
  const auto size = static_cast<std::int64_t>(byte_size(op.type));
  for (std::int64_t begin = 0; begin < n && !stop_requested(); begin += kLongTile) {
    const void* at[3];
    for (int k = 0; k < 3; ++k) at[k] = static_cast<const std::byte*>(args[k]) + begin * op.steps[k];
    op.fn(to + begin * size, at, static_cast<std::size_t>(std::min(kLongTile, n - begin)));
  }
}

/// Runs other operations. Precondition for folds and row operations: the tile is one row.
void TileInterpreter::other(const TileOp& op, std::byte* to) {
  if (op.kind == TileOp::Kind::convert) return load(op, to);
  const void* x = op.expands ? repeated(op) : values_[op.a];
  if (op.kind == TileOp::Kind::fold) {
    kernel::reduce(static_cast<kernel::Reduce>(static_cast<int>(op.row) - 1), op.type, x, to, 1, n_, 1);
    return;
  }
  const kernel::Rows row{1, n_, static_cast<const float*>(x), n_, reinterpret_cast<float*>(to), n_};
  if (op.row == RowOp::softmax) return kernel::softmax(row);
  if (op.row == RowOp::log_softmax) return kernel::log_softmax(row);
  const auto* scale = op.row == RowOp::standardize ? nullptr : static_cast<const float*>(values_[op.b]);
  const auto* bias = op.row == RowOp::layer_norm_bias ? static_cast<const float*>(values_[op.c]) : nullptr;
  kernel::layer_norm(row, scale, bias, op.epsilon, nullptr, nullptr);
}

/// Loads elements that are converted or not adjacent.
void TileInterpreter::load(const TileOp& op, std::byte* to) const {
  const TileOperand& o = operand(op.a);
  if (op.once) return load_run(o.elem, at_[op.a], o.inner_step, to, 1);
  const auto row = n_ * static_cast<std::int64_t>(byte_size(compute_elem(o.elem)));
  for (std::int64_t r = 0; r < rows_; ++r)
    load_run(o.elem, at_[op.a] + r * row_steps_[op.a], o.inner_step, to + r * row, n_);
}

void TileInterpreter::store(const TileOp& op) const {
  const int k = s_.operands + op.to;
  const TileOperand& o = operand(k);
  const auto* const from = static_cast<const std::byte*>(values_[op.value]);
  if (o.inner_step == 0) return store_run(o.elem, from, at_[k], 0, 1, false);  // one per row
  const auto row = op.once ? 0 : n_ * static_cast<std::int64_t>(byte_size(compute_elem(o.elem)));
  for (std::int64_t r = 0; r < rows_; ++r)
    store_run(o.elem, from + r * row, at_[k] + r * row_steps_[k], o.inner_step, n_, op.once);
}

/// Returns one element repeated to a row.
const void* TileInterpreter::repeated(const TileOp& op) {
  std::byte* const to = scratch_ + s_.spare * s_.stride;
  kernel::fill(to, values_[op.a], byte_size(op.type), static_cast<std::size_t>(n_));
  return to;
}

}  // namespace

void interpret_rows(const TileState& state, std::byte* scratch, std::byte* const* at, const std::int64_t* row_steps,
                    std::int64_t rows, std::int64_t n) {
  TileInterpreter(state, scratch).rows(at, row_steps, rows, n);
}

}  // namespace frazil::code
