#pragma once

#include <vector>

#include "code/native/native_plan.h"
#include "jit/plan_frame.h"

namespace frazil::jit {

/// The control flow of the code of a plan: a block for each step, and the exits to the interpreter.
class PlanBlocks {
 public:
  /// Writes the branch to the step at which the code is entered, which is an argument of the function.
  PlanBlocks(llvm::IRBuilder<>& builder, const code::NativePlan& native, PlanFrame& frame, llvm::Value* from);

  llvm::BasicBlock* of(StepIndex pc) const { return steps_[pc]; }
  /// Leaves the code at a step, of which nothing has run.
  void leave(StepIndex pc);
  void leave_unless(llvm::Value* condition, StepIndex pc);
  /// Leaves the code unless the storage has so many bytes.
  void leave_unless_fits(std::uint32_t storage, llvm::Value* bytes, StepIndex pc);
  /// Leaves the code unless results in growing storage fit.
  void leave_unless_fit(const std::vector<SlotId>& results, StepIndex pc);
  /// Jumps to a step. A jump back is taken only while enough steps are left for all steps to run once.
  void go_to(StepIndex from, StepIndex target);
  /// Writes the return of the function.
  void finish();

 private:
  llvm::IRBuilder<>& b_;
  const Plan& plan_;
  PlanFrame& frame_;
  llvm::BasicBlock* leave_;
  std::vector<llvm::BasicBlock*> steps_;
};

}  // namespace frazil::jit
