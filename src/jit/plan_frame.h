#pragma once

#include <cstdint>
#include <vector>

#include "code/native/native_plan.h"
#include "jit/lanes.h"

namespace frazil::jit {

/// The NativeFrame of generated code with the registers and addresses of the plan. Registers that steps change and
/// addresses that loops swap are variables of the function. It reads them when it is entered and writes them back when
/// it is left.
class PlanFrame {
 public:
  /// Writes the reading of the variables. `frame` is the address of the NativeFrame.
  PlanFrame(const Lanes& lanes, llvm::IRBuilder<>& builder, const code::NativePlan& native, llvm::Value* frame);
  /// Writes the variables back.
  void keep();

  /// Returns the address of a field of the NativeFrame.
  llvm::Value* field(std::size_t offset);
  /// Loads a field that is a pointer.
  llvm::Value* array(std::size_t offset) { return b_.CreateLoad(b_.getPtrTy(), field(offset)); }
  /// Returns the index in NativeFrame::seen of the first source of a group.
  std::size_t first_seen(std::uint32_t group) const { return seen_[group]; }

  // ---- counters ----
  llvm::Value* left() { return b_.CreateLoad(b_.getInt64Ty(), left_); }
  void finish_step();
  void count_iteration() { increment(iterations_); }
  void count_group() { increment(groups_); }

  // ---- the step at which the code is left, as an i32 ----
  void set_exit(llvm::Value* pc) { b_.CreateStore(pc, exit_); }
  llvm::Value* exit() { return b_.CreateLoad(b_.getInt32Ty(), exit_); }

  // ---- registers and addresses ----
  llvm::Value* reg(Reg r);
  void set(Reg r, llvm::Value* value) { b_.CreateStore(value, reg_[r]); }
  void swap(std::uint32_t storage, std::uint32_t other);
  llvm::Value* address(SlotId s);
  llvm::Value* address_or_null(SlotId s);
  /// Loads element i of a tensor of integers or booleans, as an i64.
  llvm::Value* integer(SlotId s, std::uint32_t i);
  /// Returns whether the storage has so many bytes.
  llvm::Value* has_room(std::uint32_t storage, llvm::Value* bytes);

 private:
  llvm::Value* base(std::uint32_t storage);
  void increment(llvm::Value* variable);

  const Lanes& lanes_;
  llvm::IRBuilder<>& b_;
  const Plan& plan_;
  const std::size_t capacity_step_;
  llvm::Value* const frame_;
  llvm::Value *regs_ = nullptr, *bases_ = nullptr;                                             // arrays of the frame
  llvm::Value *exit_ = nullptr, *left_ = nullptr, *iterations_ = nullptr, *groups_ = nullptr;  // variables
  std::vector<llvm::Value*> reg_, base_;  // variables of those that change; null: it does not change
  std::vector<std::size_t> seen_;
};

}  // namespace frazil::jit
