#pragma once

#include <vector>

#include <llvm/ADT/SmallVector.h>

#include "jit/lanes.h"
#include "jit/row_memory.h"
#include "jit/tile_schedule.h"

namespace frazil::jit {

/// Returns the result of an instruction that neither loads nor quantises. All operands are vectors, or all scalars.
llvm::Value* compute(Lanes& lanes, llvm::IRBuilder<>& b, const TileSchedule& schedule, const FusedIns& ins,
                     llvm::Value* x, llvm::Value* y, llvm::Value* z);

/// The emitter of vectors in the loop of a stage.
class VectorEmitter {
 public:
  /// `scalars` has the values of the instructions that are one element for the whole row, null for others.
  VectorEmitter(Lanes& lanes, llvm::IRBuilder<>& builder, const TileSchedule& schedule, RowMemory& memory,
                std::uint32_t stage, const std::vector<llvm::Value*>& scalars);

  /// Writes `count` vectors from element `first` on. All is loaded before anything is stored, as a result may have the
  /// address of an operand.
  void write(llvm::Value* first, unsigned count, llvm::Value* mask);

 private:
  using Vectors = llvm::SmallVector<llvm::Value*, 8>;
  /// The elements that one iteration processes: `count` vectors from element `first` on. `mask` applies to each load
  /// and
  /// store.
  struct Span {
    llvm::Value* first;
    unsigned count;
    llvm::Value* mask;
  };

  bool computes(std::uint32_t i) const { return schedule_.in_loop(i, stage_) && !schedule_.is_single(i); }
  void load_operands(const Span& span);
  void need(std::uint32_t i, const Span& span);
  void compute_vectors(std::uint32_t i, unsigned count);
  void quantise(std::uint32_t i, unsigned count);
  void store(std::uint32_t store, const Span& span);
  bool is_whole(std::uint32_t i) const;
  llvm::Value* value(std::uint32_t i, unsigned u);
  llvm::Value* at(const Span& span, unsigned u);

  Lanes& lanes_;
  llvm::IRBuilder<>& b_;
  const TileSchedule& schedule_;
  RowMemory& memory_;
  const std::uint32_t stage_;
  std::vector<llvm::Value*> splat_;  // per instruction that is single: its value as a vector
  std::vector<Vectors> vectors_;     // per instruction, in the current iteration; whole numbers of f32 if is_whole()
  std::vector<Vectors> groups_;      // per instruction that gives bytes: one for each Lanes::kGroup vectors
};

}  // namespace frazil::jit
