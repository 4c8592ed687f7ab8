#pragma once

#include <vector>

#include "code/native/native.h"
#include "jit/lanes.h"

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

/// The emitter of the code that runs a tile program on one row. It writes one loop over vectors for all instructions
/// between two operations on whole rows.
class TileEmitter {
 public:
  TileEmitter(Lanes& lanes, llvm::IRBuilder<>& builder, const code::TileCode& code, const code::LoopForm& form);

  /// Writes the code at the builder's position, which moves past it.
  void row(const RowPlace& place);

 private:
  using Vectors = llvm::SmallVector<llvm::Value*, 8>;

  const FusedIns& ins(std::uint32_t i) const { return code_.body[i].ins; }
  bool quantises(std::uint32_t i) const { return code_.body[i].quantises; }
  bool is_load(std::uint32_t i) const { return ins(i).is(ScalarOp::load); }
  Elem elem_of(std::uint32_t i) const { return ins(i).scalar.type; }
  Elem stored_elem(std::uint32_t k) const;
  code::InnerStep step(std::uint32_t k) const { return form_.steps[k]; }
  std::uint32_t result(std::uint32_t store) const { return static_cast<std::uint32_t>(code_.operands.size()) + store; }
  bool lies_ready(std::uint32_t i) const;
  void number_stages();
  void mark_used();

  void stage(std::uint32_t number);
  void singles(std::uint32_t number);
  void single(std::uint32_t i);
  void loop(std::uint32_t number);
  void vectors_of(std::uint32_t number, llvm::Value* first, unsigned count, llvm::Value* mask);
  void rounds(std::uint32_t number);
  void row_operation(std::uint32_t i);
  llvm::Value* row_address(std::uint32_t i);
  llvm::Value* buffer(std::uint32_t number);

  llvm::Value* compute(const FusedIns& ins, llvm::Value* a, llvm::Value* b, llvm::Value* c);
  llvm::Value* quantised_single(const ScalarIns& ins);
  void quantise(std::uint32_t i, unsigned count);
  bool is_widened(std::uint32_t i) const;
  bool is_whole(std::uint32_t i) const;
  llvm::Value* value(std::uint32_t i, unsigned u);
  Vectors load(std::uint32_t i, llvm::Value* first, unsigned count, llvm::Value* mask);
  llvm::Value* load_vector(std::uint32_t k, llvm::Value* first, llvm::Value* mask);
  void store_vector(std::uint32_t k, llvm::Value* first, llvm::Value* value, llvm::Value* mask);
  llvm::Value* lane_pointers(std::uint32_t k, llvm::Value* first);
  llvm::Value* address(llvm::Value* base, Elem elem, llvm::Value* index);
  llvm::Value* splat(llvm::Value* scalar) { return b_.CreateVectorSplat(lanes_.width(), scalar); }
  llvm::Value* narrowed(Elem from, Elem to, llvm::Value* x);
  llvm::Value* widened(Elem stored, llvm::Value* x);
  llvm::Value* constant(const ScalarIns& ins);

  Lanes& lanes_;
  llvm::IRBuilder<>& b_;
  const code::TileCode& code_;
  const code::LoopForm& form_;
  RowPlace place_;
  std::uint32_t stages_ = 1;
  std::vector<std::uint32_t> stage_;  // per instruction: the loop it is in; a row operation runs after that loop
  std::vector<bool> single_;          // per instruction: one element for the whole row
  std::vector<bool> kept_;            // per instruction: its row is kept in a buffer for later
  std::vector<llvm::Value*> scalar_;  // values of those that are single
  std::vector<llvm::Value*> splat_;   // the same as vectors, in the current loop
  std::vector<llvm::Value*> where_;   // per instruction: the row that an operation on rows made
  std::vector<Vectors> vectors_;      // per instruction, in the current iteration; whole numbers of f32 if is_whole()
  std::vector<Vectors> groups_;       // per instruction that gives bytes: one for each Lanes::kGroup vectors
};

}  // namespace frazil::jit
