#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ir/scalar.h"

namespace frazil {

/// What an instruction does along a whole row instead of at each element.
enum class RowOp : std::uint8_t {
  none,  ///< a scalar primitive
  sum,   ///< folds give one element for the row; as kernel::Reduce, in its order
  mean,
  max,
  min,
  prod,
  sum_square,
  sum_abs,
  softmax,  ///< a row of a
  log_softmax,
  layer_norm,       ///< of a, with scale b; `real` is epsilon
  layer_norm_bias,  ///< and bias c
};
std::string_view name_of(RowOp op);
constexpr bool is_fold(RowOp op) { return op != RowOp::none && op < RowOp::softmax; }

/// What one tile step can hold.
inline constexpr std::size_t kMaxTileOperands = 16;
inline constexpr std::size_t kMaxTileResults = 16;
inline constexpr std::size_t kMaxTileInstructions = 128;

/// One instruction: `scalar` as in a ScalarTape, or with `row` set its operands a, b, c and its type.
struct ProgramIns {
  ScalarIns scalar{};
  RowOp row = RowOp::none;
  std::uint16_t buffer = 0;  ///< where its elements lie while they are needed; shared by those that are not
};

/// What a tile step computes over a space of elements. Operands broadcast to the space, right-aligned; instructions run
/// in order, on tiles of the space's elements or, where one of them works along rows, on whole rows of its last axis.
struct Program {
  std::vector<ProgramIns> code;
  std::vector<std::uint32_t> results;  ///< per output of the step: the instruction that it holds
  std::vector<bool> lacks_last;        ///< per output: its extents are those of the space without the last axis
  bool rows = false;
  std::uint16_t buffers = 0;
  std::uint16_t width = 1;  ///< bytes of the widest element
  std::string str() const;
};

/// The last instruction that reads what instruction `i` gives; `i` itself if none does.
std::uint32_t last_use(const Program& program, std::uint32_t i);

/// The instruction that reads operand `k`; the program's length if none does.
std::uint32_t load_of(const Program& program, std::size_t k);

/// Writes a Program, each instruction once.
class ProgramBuilder {
 public:
  /// A program instruction that operand k of the step feeds.
  std::uint32_t load(std::uint32_t k, Elem type);
  /// `tape` with its operands replaced by instructions of this program; gives that of its result.
  std::uint32_t inline_tape(const ScalarTape& tape, const std::vector<std::uint32_t>& operands);
  std::uint32_t constant(Elem type, double real, std::int64_t integer);
  std::uint32_t row(RowOp op, Elem type, std::uint32_t a, std::uint32_t b, std::uint32_t c, double real);
  /// Finishes it: gives results and buffers.
  Program finish(std::vector<std::uint32_t> results, std::vector<bool> lacks_last) &&;

 private:
  std::uint32_t add(const ScalarIns& scalar, RowOp row);
  Program program_;
  std::map<std::pair<ScalarIns, RowOp>, std::uint32_t> known_;
};

}  // namespace frazil
