#include "jit/plan_blocks.h"

#include "jit/emit.h"

namespace frazil::jit {

PlanBlocks::PlanBlocks(llvm::IRBuilder<>& builder, const code::NativePlan& native, PlanFrame& frame, llvm::Value* from)
    : b_(builder), plan_(*native.plan), frame_(frame) {
  llvm::BasicBlock* const enter = block(b_, "enter");
  b_.CreateBr(enter);
  leave_ = block(b_, "leave");
  for (StepIndex i = 0; i < plan_.steps.size(); ++i) steps_.push_back(block(b_, "step"));
  b_.SetInsertPoint(enter);
  llvm::BasicBlock* const nowhere = block(b_, "nowhere");
  llvm::SwitchInst* const where = b_.CreateSwitch(from, nowhere);
  for (StepIndex i = 0; i < plan_.steps.size(); ++i) {
    if (native.enters[i] != 0) where->addCase(b_.getInt32(i), steps_[i]);
  }
  b_.SetInsertPoint(nowhere);
  frame_.set_exit(from);
  b_.CreateBr(leave_);
}

void PlanBlocks::finish() {
  b_.SetInsertPoint(leave_);
  frame_.keep();
  b_.CreateRet(frame_.exit());
}

void PlanBlocks::leave(StepIndex pc) {
  frame_.set_exit(b_.getInt32(pc));
  b_.CreateBr(leave_);
}

void PlanBlocks::leave_unless(llvm::Value* condition, StepIndex pc) {
  llvm::BasicBlock *const on = block(b_, "on"), *const off = block(b_, "off");
  b_.CreateCondBr(condition, on, off);
  b_.SetInsertPoint(off);
  leave(pc);
  b_.SetInsertPoint(on);
}

void PlanBlocks::leave_unless_fits(std::uint32_t storage, llvm::Value* bytes, StepIndex pc) {
  leave_unless(frame_.has_room(storage, bytes), pc);
}

void PlanBlocks::leave_unless_fit(const std::vector<SlotId>& results, StepIndex pc) {
  for (const SlotId s : results) {
    if (!s || plan_.storage(s).place != Place::growing || plan_.storage(s).bytes == kNoReg) continue;
    leave_unless_fits(plan_.slot(s).storage, at_least(b_, frame_.reg(plan_.storage(s).bytes), 64), pc);
  }
}

void PlanBlocks::go_to(StepIndex from, StepIndex target) {
  if (target <= from) leave_unless(b_.CreateICmpUGE(frame_.left(), b_.getInt64(plan_.steps.size())), target);
  b_.CreateBr(steps_[target]);
}

}  // namespace frazil::jit
