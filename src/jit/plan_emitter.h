#pragma once

#include <vector>

#include "code/native/native_plan.h"
#include "jit/lanes.h"

namespace frazil::jit {

/// The emitter of the code that runs the steps of a plan: a block for each step, with real branches between them.
/// Registers that steps change and addresses that loops swap are variables of the function. It reads them when it is
/// entered and writes them back when it is left.
class PlanEmitter {
 public:
  PlanEmitter(Lanes& lanes, llvm::IRBuilder<>& builder, const code::NativePlan& native);

  /// Writes the body of `function`, a NativeSteps.
  void write(llvm::Function& function);

 private:
  friend struct StepCode;

  llvm::Value* number(std::int64_t n) { return b_.getInt64(static_cast<std::uint64_t>(n)); }
  llvm::BasicBlock* block(const char* name);
  llvm::Value* field(std::size_t offset);
  llvm::Value* element(llvm::Value* array, llvm::Type* type, std::size_t i);
  llvm::Value* fixed(llvm::Value* array, llvm::Type* type, std::size_t i);

  void find_changes();
  void enter();
  void keep();
  void step(StepIndex pc);
  void leave(StepIndex pc);
  void leave_unless(llvm::Value* condition, StepIndex pc);
  void go_to(StepIndex from, StepIndex target);
  void done();

  llvm::Value* reg(Reg r);
  void set(Reg r, llvm::Value* value);
  llvm::Value* base(std::uint32_t storage);
  llvm::Value* address(SlotId s);
  llvm::Value* capacity(std::uint32_t storage);
  llvm::Value* integer(SlotId s, std::uint32_t i);
  llvm::Value* largest(llvm::Value* x, std::int64_t least);
  void fits(std::uint32_t storage, llvm::Value* bytes, StepIndex pc);
  void fits_results(const std::vector<SlotId>& slots, StepIndex pc);

  void launch(StepIndex pc, const step::Launch& launch);
  llvm::Value* address_or_null(SlotId s);
  void call(StepIndex pc, const step::Launch& launch);
  llvm::Value* call_of(StepIndex pc);
  llvm::Value* prepared_call(StepIndex pc);
  bool in_loop(StepIndex pc) const;
  void product(StepIndex pc, const code::NativeProduct& product, const std::vector<llvm::Value*>& in, llvm::Value* out);
  void loops(const code::NativeBody& body, std::vector<llvm::Value*> at, std::size_t loop);
  void program(const DimProgram& program);
  llvm::Value* saturated(llvm::Value* x);
  llvm::Value* arithmetic(DimProgram::Op op, llvm::Value* a, llvm::Value* b);
  llvm::Value* quotient(DimProgram::Op op, llvm::Value* a, llvm::Value* b);

  Lanes& lanes_;
  llvm::IRBuilder<>& b_;
  const code::NativePlan& native_;
  const Plan& plan_;
  llvm::Function* function_ = nullptr;
  llvm::Value* frame_ = nullptr;
  llvm::Value *regs_ = nullptr, *bases_ = nullptr;  // arrays of the frame
  llvm::Value *left_ = nullptr, *at_ = nullptr;     // variables: steps left, step at which the code is left
  llvm::Value *iterations_ = nullptr, *changes_ = nullptr;
  std::vector<llvm::Value*> reg_, base_;  // variables of those that change; null: it does not change
  std::vector<std::uint8_t> reg_changes_, base_changes_;
  std::vector<std::size_t> seen_;          // per group: index of its first source in NativeFrame::seen
  std::vector<llvm::BasicBlock*> blocks_;  // per step
  llvm::BasicBlock* leave_ = nullptr;
};

}  // namespace frazil::jit
