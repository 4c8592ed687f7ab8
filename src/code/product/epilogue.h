#pragma once

#include <cstddef>
#include <cstdint>

#include "code/abi/abi.h"
#include "code/tile/tile_state.h"
#include "kernel/contract/tile_callback.h"

namespace frazil::code {

/// The body of a fused kernel behind its producer: how operands are passed.
struct EpilogueCode {
  TileCode tiles;
  OperandRange operands;   ///< of the call: what the body loads beside the producer's result
  std::uint32_t into = 0;  ///< the result that the producer writes, or kPassing
};

/// What a product keeps for its epilogue. Its TileState lies `state` bytes behind it.
struct Epilogue {
  const EpilogueCode* code = nullptr;  ///< null: none
  std::int64_t rows = 0, cols = 0;     ///< the result as the producer sees it
  std::size_t scratch = 0;             ///< where in a worker's scratch its own begins
  std::size_t state = 0;
  bool by_tiles = false;  ///< else it runs once the whole result is there

  const TileState& tiles() const {
    return *reinterpret_cast<const TileState*>(reinterpret_cast<const std::byte*>(this) + state);
  }
};

/// After the product, whose scratch comes first and whose result is `made`. `cols`: elements of a row as the product
/// writes them; `state`: where there are tile_state_bytes().
Status prepare_epilogue(Prepare& cx, const EpilogueCode& code, const OperandShape& made, std::int64_t cols, void* state,
                        Epilogue& epilogue);

/// Runs the epilogue during one call of a product, or after it.
class EpilogueRun {
 public:
  /// `made`: where the product's result is; null where it is kept nowhere. `later`: not while the product runs.
  EpilogueRun(const Call& call, const Worker& worker, const Epilogue& epilogue, std::byte* made, bool later = false);
  /// The callback for each tile; null without an epilogue, or where that runs on the whole result or later.
  const kernel::TileCallback* on_tile() const { return by_tiles_ ? &on_tile_ : nullptr; }
  /// The rows that the product reports count from here.
  void at_row(std::int64_t row) { row_ = row; }
  /// Once the whole result is there: all of it, where it does not run by tiles.
  void finish() const;
  /// What on_tile() does for a part, of a product that was not given it.
  void run_part(std::int64_t row0, std::int64_t row1, std::int64_t col0, std::int64_t col1) const;
  /// All columns of rows [begin, end), of a result that is there.
  void run_rows(std::int64_t begin, std::int64_t end) const;

 private:
  static void tile_done(void* self, std::int64_t row0, std::int64_t row1, std::int64_t col0, std::int64_t col1);
  void run(const TilePart& part) const;

  const Epilogue& epilogue_;
  bool by_tiles_;
  kernel::TileCallback on_tile_;
  std::byte* scratch_ = nullptr;
  std::int64_t row_ = 0;
  void* passed_ = nullptr;  ///< the first element of the tile that the product reports, where it is kept nowhere
  std::byte* operands_[kMaxFusedOperands + kMaxFusedStores + 1];
};

}  // namespace frazil::code
