#pragma once

#include <vector>

#include "jit/lanes.h"
#include "jit/tile_schedule.h"

namespace frazil::jit {

/// The place of a row of a tile program, as values of generated code.
struct RowPlace {
  std::vector<llvm::Value*> at;     ///< addresses of the row's first element in operands, then in results
  std::vector<llvm::Value*> steps;  ///< bytes between elements of those that are strided
  llvm::Value* n = nullptr;         ///< elements; a constant lets the loops be unrolled
  llvm::Value* scratch = nullptr;   ///< if the program works on rows: its buffers, `stride` bytes apart
  llvm::Value* stride = nullptr;
  std::vector<llvm::Value*>
      parameters;  ///< per instruction: its value if it is one of code::parameters(); empty: none is
};

/// Reads and writes the operands, results and buffers of a row in generated code. Operands are converted to the type in
/// which they are computed, results from it. A mask selects the lanes; null selects all.
class RowMemory {
 public:
  RowMemory(Lanes& lanes, llvm::IRBuilder<>& builder, const TileSchedule& schedule, const RowPlace& place)
      : lanes_(lanes), b_(builder), schedule_(schedule), place_(place) {}

  /// Loads the only element of operand k.
  llvm::Value* load_single(std::uint32_t k);
  /// Stores the only element of result k, which has type `from`.
  void store_single(std::uint32_t k, Elem from, llvm::Value* x);
  /// Loads a vector of operand k from element `first` on.
  llvm::Value* load(std::uint32_t k, llvm::Value* first, llvm::Value* mask);
  /// Stores adjacent elements of type `from` to result k.
  void store(std::uint32_t k, llvm::Value* first, Elem from, llvm::Value* x, llvm::Value* mask);

  /// Returns the address of the row of instruction i, which is kept or lies ready.
  llvm::Value* row(std::uint32_t i);
  llvm::Value* load_row(std::uint32_t i, llvm::Value* first, llvm::Value* mask);
  void keep(std::uint32_t i, llvm::Value* first, llvm::Value* x, llvm::Value* mask);

 private:
  llvm::Value* buffer(std::uint32_t i);
  llvm::Value* lane_pointers(std::uint32_t k, llvm::Value* first);
  llvm::Value* load_dense(llvm::Value* base, Elem elem, llvm::Value* first, llvm::Value* mask);
  void store_dense(llvm::Value* base, Elem elem, llvm::Value* first, llvm::Value* x, llvm::Value* mask);

  Lanes& lanes_;
  llvm::IRBuilder<>& b_;
  const TileSchedule& schedule_;
  const RowPlace& place_;
};

}  // namespace frazil::jit
