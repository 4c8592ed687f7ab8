#pragma once

#include <vector>

#include "jit/lanes.h"
#include "jit/row_memory.h"
#include "jit/tile_schedule.h"
#include "jit/vector_emitter.h"

namespace frazil::jit {

/// The emitter of the code that runs a tile program on one row. It writes one loop over vectors for all instructions
/// between two operations on whole rows.
class TileEmitter {
 public:
  TileEmitter(Lanes& lanes, llvm::IRBuilder<>& builder, const code::TileCode& code, const code::LoopForm& form,
              const RowPlace& place)
      : lanes_(lanes),
        b_(builder),
        schedule_(code, form),
        place_(place),
        memory_(lanes, builder, schedule_, place),
        scalar_(code.body.size(), nullptr) {}

  /// Writes the code at the builder's position, which moves past it.
  void write();

 private:
  void single(std::uint32_t i);
  llvm::Value* quantised(const ScalarIns& ins);
  void row_operation(std::uint32_t i);
  void store_single(std::uint32_t i);
  void loop(std::uint32_t stage);
  void rounds(VectorEmitter& vectors);

  Lanes& lanes_;
  llvm::IRBuilder<>& b_;
  const TileSchedule schedule_;
  const RowPlace& place_;
  RowMemory memory_;
  std::vector<llvm::Value*> scalar_;  // per instruction: its value if it is one element for the whole row
};

}  // namespace frazil::jit
