#pragma once

#include "code/tile/tile_state.h"

// A TileState while it is prepared; private to tile_prepare.cc, tile_loops.cc and tile_ops.cc.
namespace frazil::code {

/// The shapes of the operands and results of a launch; results follow the operands.
struct TileShapes {
  const Prepare& cx;
  const TileCode& code;

  const OperandShape& of(int k) const {
    const auto i = static_cast<std::size_t>(k);
    return i < cx.in.size() ? cx.in[i] : cx.out[i - cx.in.size()];
  }
  /// Returns true if every operand is one element or has the extents of the domain, without padding.
  bool all_dense() const;
  /// Returns the bytes between neighbours of operand k along an axis of the domain.
  std::int64_t step_of(int k, std::size_t axis) const;
};

/// A state with its arrays, whose places in memory depend on their lengths. The elements are not initialised.
struct TileDraft {
  explicit TileDraft(TileState& to) : state(to) {}

  TileState& state;
  TileOperand operands[kMaxFusedOperands + kMaxFusedStores];
  TileConstant constants[kMaxFusedInstructions];
  TilePointer pointers[kMaxFusedInstructions];
  TileOp ops[kMaxTileOps];
  std::int64_t extents[kMaxTileLoops];
  std::int64_t steps[kMaxTileLoops][kMaxFusedOperands + kMaxFusedStores];

  /// Copies the used elements of the arrays to the memory that follows `state`.
  void pack() const;
};

/// Sets the loops: merges the axes of the domain greedily, from right to left. A row is never merged.
class TileLoops {
 public:
  TileLoops(const TileShapes& shapes, TileDraft& draft) : shapes_(shapes), draft_(draft), s_(draft.state) {}
  Status merge();

 private:
  void one_loop();
  bool merges_inner(std::size_t axis) const;
  void widen_inner(std::size_t axis);
  bool merges_outer(std::size_t axis) const;
  Status add_outer(std::size_t axis);

  const TileShapes& shapes_;
  TileDraft& draft_;
  TileState& s_;
};

/// A writer of the operations, constants and pointers of the instructions. Precondition: the loops are set.
class TileOps {
 public:
  TileOps(const TileCode& code, TileDraft& draft) : code_(code), draft_(draft), s_(draft.state) {}
  /// Adds the instruction, which follows those that were added before.
  Status add(std::uint32_t i);
  void add_constant(std::uint32_t i);

 private:
  bool is_single(const TileOperand& o) const { return o.inner_step == 0 || s_.inner == 1; }
  bool is_in_place(const TileOperand& o) const;
  TileOp& add_op(std::uint32_t i);
  void load(std::uint32_t i);
  void scalar(TileOp& op, const TileCode::Ins& code, std::uint32_t i);
  void row(TileOp& op, const FusedIns& ins, std::uint32_t i);
  void stores(std::uint32_t i, bool computes);

  const TileCode& code_;
  TileDraft& draft_;
  TileState& s_;
  bool single_[kMaxFusedInstructions];  // per instruction: one element instead of one for each of the tile
};

}  // namespace frazil::code
