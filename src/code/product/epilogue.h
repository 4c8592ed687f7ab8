#pragma once

#include <cstddef>
#include <cstdint>

#include "code/abi/abi.h"
#include "code/tile/tile_state.h"
#include "kernel/contract/tile_callback.h"

namespace frazil::code {

/// The body of a fused kernel after its producer, and how operands are passed.
struct EpilogueCode {
  TileCode tiles;
  OperandRange operands;   ///< of the call, loaded by the body besides the producer's result
  std::uint32_t into = 0;  ///< the result that the producer writes, or kNotStored
};

/// A product's state for its epilogue. Its TileState is `state` bytes after it.
struct Epilogue {
  const EpilogueCode* code = nullptr;  ///< null: none
  std::int64_t rows = 0, cols = 0;     ///< the result as the producer sees it
  std::size_t scratch = 0;             ///< offset of the epilogue's own in a worker's scratch
  std::size_t state = 0;
  bool by_tiles = false;  ///< runs by tiles; else once the whole result is complete

  const TileState& tiles() const {
    return *reinterpret_cast<const TileState*>(reinterpret_cast<const std::byte*>(this) + state);
  }
};

/// Prepares the epilogue after the product, whose scratch comes first and whose result is `made`. `cols` are the
/// elements of a row as the product writes them. `state` has room for tile_state_bytes().
Status prepare_epilogue(Prepare& cx, const EpilogueCode& code, const OperandShape& made, std::int64_t cols, void* state,
                        Epilogue& epilogue);

/// A run of the epilogue during one call of a product, or after it.
class EpilogueRun {
 public:
  /// `made` is the address of the product's result, or null if it is not stored. If `later`, it does not run during the
  /// product.
  EpilogueRun(const Call& call, const Worker& worker, const Epilogue& epilogue, std::byte* made, bool later = false);
  /// Returns the callback for each tile. Null if there is no epilogue, or if it runs on the whole result or later.
  const kernel::TileCallback* on_tile() const { return by_tiles_ ? &on_tile_ : nullptr; }
  /// Sets the row that the rows reported by the product count from.
  void at_row(std::int64_t row) { row_ = row; }
  /// Runs the epilogue on a complete result, if it does not run by tiles.
  void finish() const;
  /// Runs the epilogue on a part, for a product that did not receive on_tile().
  void run_part(std::int64_t row0, std::int64_t row1, std::int64_t col0, std::int64_t col1) const;
  /// Runs all columns of rows [begin, end) of a complete result.
  void run_rows(std::int64_t begin, std::int64_t end) const;

 private:
  static void tile_done(void* self, std::int64_t row0, std::int64_t row1, std::int64_t col0, std::int64_t col1);
  void run(const TilePart& part) const;

  const Epilogue& epilogue_;
  bool by_tiles_;
  kernel::TileCallback on_tile_;
  std::byte* scratch_ = nullptr;
  std::int64_t row_ = 0;
  void* passed_ = nullptr;  ///< the first element of the tile that the product reports, if the result is not stored
  std::byte* operands_[kMaxFusedOperands + kMaxFusedStores + 1];
};

}  // namespace frazil::code
