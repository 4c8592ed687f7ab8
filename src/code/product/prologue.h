#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread/poll_throttle.h"
#include "code/abi/abi.h"
#include "code/tile/tile_state.h"

namespace frazil::code {

/// The prologue of a fused kernel, which computes operand 0 of its producer.
struct PrologueCode {
  TileCode tiles;
  OperandRange operands;  ///< of the call
};

/// A product's state for its prologue. Operand 0 exists only as a block of rows at a time. Its TileState is `state`
/// bytes after it.
struct Prologue {
  const PrologueCode* code = nullptr;  ///< null: none
  std::int64_t rows = 0, cols = 0;     ///< operand 0 as the product sees it
  std::int64_t block = 0;              ///< rows of a block
  std::size_t width = 0;               ///< bytes of an element
  std::size_t scratch = 0, made = 0;  ///< offsets in a worker's scratch of the prologue's own, and of the computed rows
  std::size_t state = 0;

  const TileState& tiles() const {
    return *reinterpret_cast<const TileState*>(reinterpret_cast<const std::byte*>(this) + state);
  }
  std::int64_t blocks() const { return ceil_div(rows, block); }
};

/// Prepares the prologue after all else of the step, whose scratch comes first. `state` has room for
/// tile_state_bytes().
Status prepare_prologue(Prepare& cx, const PrologueCode& code, void* state, Prologue& prologue);

/// A run of the prologue, block by block.
class PrologueRun {
 public:
  PrologueRun(const Call& call, const Worker& worker, const Prologue& prologue)
      : call_(call), worker_(worker), prologue_(prologue) {}
  bool exists() const { return prologue_.code != nullptr; }

  /// Computes blocks [first, past). Calls multiply(a, begin, end) for each; its rows [begin, end) are at `a`.
  template <class F>
  void for_each_block(std::int64_t first, std::int64_t past, F multiply) const {
    const std::int64_t rows = prologue_.rows;
    for (std::int64_t b = first; b < past && !stop_requested(); ++b) {
      const std::int64_t begin = b * prologue_.block, end = std::min(begin + prologue_.block, rows);
      multiply(make(begin, end), begin, end);
    }
  }

 private:
  /// Computes rows [begin, end) and returns their address.
  const std::byte* make(std::int64_t begin, std::int64_t end) const;

  const Call& call_;
  const Worker& worker_;
  const Prologue& prologue_;
};

}  // namespace frazil::code
