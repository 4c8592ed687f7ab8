#pragma once

#include <vector>

#include "code/native/native_plan.h"
#include "jit/lanes.h"
#include "jit/plan_blocks.h"
#include "jit/plan_frame.h"

namespace frazil::jit {

/// The emitter of launches: the body of a launch in place, or a call of the kernel that the session has prepared.
class LaunchEmitter {
 public:
  LaunchEmitter(Lanes& lanes, llvm::IRBuilder<>& builder, const code::NativePlan& native, PlanFrame& frame,
                PlanBlocks& blocks)
      : lanes_(lanes), b_(builder), native_(native), frame_(frame), blocks_(blocks) {}

  void write(StepIndex pc, const step::Launch& launch);
  /// Makes the code call no kernel for a launch until the session has prepared it again. Bodies in place stay, except
  /// products, which need the session's state.
  void forget_call(StepIndex pc);

 private:
  void body(StepIndex pc, const step::Launch& launch, const code::NativeBody& body);
  void call(StepIndex pc, const step::Launch& launch);
  llvm::Value* call_of(StepIndex pc);
  llvm::Value* prepared_call(StepIndex pc);
  void product(StepIndex pc, const code::NativeProduct& product, const std::vector<llvm::Value*>& in, llvm::Value* out);
  void loops(const code::NativeBody& body, std::vector<llvm::Value*> at, std::size_t loop);

  Lanes& lanes_;
  llvm::IRBuilder<>& b_;
  const code::NativePlan& native_;
  PlanFrame& frame_;
  PlanBlocks& blocks_;
};

}  // namespace frazil::jit
