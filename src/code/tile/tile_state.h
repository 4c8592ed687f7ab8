#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "code/abi/abi.h"
#include "code/native/native.h"
#include "code/tile/tile_code.h"
#include "kernel/row/reduce.h"
#include "kernel/tile/tile.h"

// The state of tile bytecode between preparing and running; private to tile_*.cc, epilogue.cc and prologue.cc.
namespace frazil::code {

/// The largest number of outer loops. With two iterations each, they exceed the number of bytes in memory.
inline constexpr int kMaxTileLoops = 40;
/// Elements of a tile. A few tiles at a time fit into the first-level cache.
inline constexpr std::int64_t kTile = 1024;
/// Elements between two polls for cancellation, if nothing needs to stay in a cache.
inline constexpr std::int64_t kLongTile = std::int64_t{1} << 16;

/// An operand or a result; results follow the operands.
struct TileOperand {
  std::int64_t inner_step;  ///< bytes between elements of the innermost loop; 0: one element is used for all
  std::uint32_t size;
  Elem elem;
};

/// An operation that is run for each tile.
struct TileOp {
  enum class Kind : std::uint8_t { scalar, fold, row, convert, store };
  kernel::TileFn fn;
  std::uint16_t a, b, c;  ///< values; convert: a is the operand of the step
  std::uint16_t value;    ///< the value that it computes
  std::uint16_t buffer;
  Kind kind;
  RowOp row;
  Elem type;
  bool once;              ///< one element instead of a tile of them
  bool expands;           ///< row, fold: its operand is one element, used for the whole row
  std::int8_t to;         ///< the result that it writes; < 0: it writes its buffer. store: the result
  std::uint8_t steps[3];  ///< scalar: bytes between elements of its values; 0: one is used for all
  float epsilon;
};

struct TilePointer {
  std::uint16_t value, operand;
};

/// A constant of the program or, with machine code, one of its parameters().
struct TileConstant {
  std::uint64_t bits;
  std::uint16_t value;
};
static_assert(sizeof(TileConstant) == kParameterStep);

/// Loops over a space of any rank. Axes are merged where every operand allows it; the innermost loop is cut into tiles
/// unless the program works on rows. Its arrays follow it in memory, adjacent and as small as possible.
struct TileState {
  /// Serves the most frequent small step: one function of operands and a constant, all contiguous, in one call.
  kernel::TileFn direct = nullptr;
  NativeLoop native = nullptr;  ///< machine code for the whole program; there are then no ops
  std::uint64_t asked = 0;      ///< generation of the source when it was last asked for machine code
  std::int64_t direct_count = 0;
  std::uint64_t direct_constant = 0;
  std::int8_t direct_args[3] = {};  ///< operands; < 0: the constant
  bool prepared = false;            ///< false in a session's new states, which are zeros
  bool dense = false;               ///< one loop over operands without padding
  bool rows = false;
  std::uint8_t rank = 0;  ///< outer loops
  std::uint8_t operands = 0, results = 0;
  std::uint8_t pointers = 0, constants = 0, ops = 0;
  std::uint16_t spare = 0;   ///< the buffer after those of the program
  std::uint16_t copies = 0;  ///< the first of the buffers after `spare`, one for each operand and result
  std::int64_t tile = kTile;
  std::int64_t inner = 1;  ///< elements of the innermost loop
  std::int64_t outer = 1;  ///< number of runs of the innermost loop
  std::size_t stride = 0;  ///< bytes of a buffer
  std::int64_t unit = 1;   ///< per unit: runs of the innermost loop if there are outer loops or rows, else elements

  int count() const { return operands + results; }
};
inline constexpr std::size_t kMaxTileOps = kMaxFusedInstructions + kMaxFusedStores;
static_assert(kMaxTileOps < 256);

/// The addresses of a state's arrays.
struct TileArrays {
  TileOperand* operands;
  TileConstant* constants;
  TileOp* ops;
  std::int64_t* extents;  ///< of the outer loops
  std::int64_t* steps;    ///< bytes: for each outer loop, the steps of all operands
  TilePointer* pointers;

  explicit TileArrays(const TileState& state) {
    auto* at = reinterpret_cast<std::byte*>(const_cast<TileState*>(&state + 1));
    const auto take = [&](auto*& array, int n) {
      array = reinterpret_cast<std::remove_reference_t<decltype(array)>>(at);
      at += static_cast<std::size_t>(n) * sizeof *array;
    };
    take(operands, state.count());
    take(constants, state.constants);
    take(ops, state.ops);
    take(extents, state.rank);
    take(steps, state.rank * state.count());
    take(pointers, state.pointers);
  }
  /// Returns the bytes of all arrays, for any extents.
  static std::size_t bytes(const TileCode& code) {
    const std::size_t loops = std::min<std::size_t>(code.domain_rank, kMaxTileLoops);
    const std::size_t operands = code.operands.size() + code.stores.size();
    return operands * (sizeof(TileOperand) + loops * sizeof(std::int64_t)) + loops * sizeof(std::int64_t) +
           code.stores.size() * sizeof(TileOp) +
           code.body.size() * (sizeof(TileOp) + sizeof(TileConstant) + sizeof(TilePointer));
  }
};

/// Returns the bytes of a TileState with its arrays.
inline std::size_t tile_state_bytes(const TileCode& code) { return sizeof(TileState) + TileArrays::bytes(code); }

/// Fills a TileState for new extents: those of cx.in and cx.out, numbered like the operands and stores of the code, and
/// cx.domain. Sets the results of Prepare. `by_parts`: parts of the space will be run.
Status prepare_tiles(Prepare& cx, const TileCode& code, TileState& state, bool by_parts);

/// The pointers to operands and then results, and scratch memory.
struct TileCall {
  std::byte* const* operands;
  std::byte* scratch;
};
/// Computes rows by the interpreter of tier 0; arguments as in NativeLoop.
void interpret_rows(const TileState& state, std::byte* scratch, std::byte* const* at, const std::int64_t* row_steps,
                    std::int64_t rows, std::int64_t n);
/// Computes `rows` rows of `n` elements of a space of one axis, whose rows are `row_steps` bytes apart. A result may be
/// an operand, and its step may be 0.
void run_rows(const TileCall& call, const TileState& state, const std::int64_t* row_steps, std::int64_t rows,
              std::int64_t n);
/// Runs units [begin, end) of the whole space.
void run_tiles(const TileCall& call, const TileState& state, std::int64_t begin, std::int64_t end);
/// Runs the whole space.
void run_tiles(const TileCall& call, const TileState& state);

/// The elements in rows [row0, row1) and columns [col0, col1) of a space seen as rows of `cols` elements.
struct TilePart {
  std::int64_t row0, row1, col0, col1, cols;
  /// The operand, or operands + result, of which only the part exists; its pointer is to the part's first element.
  /// Pointers to the others are to the first element of the space. -1: none.
  int partial = -1;
};
/// Returns true if such parts can be run one by one.
bool has_parts(const TileState& state, std::int64_t rows, std::int64_t cols);
void run_tiles(const TileCall& call, const TileState& state, const TilePart& part);

}  // namespace frazil::code
