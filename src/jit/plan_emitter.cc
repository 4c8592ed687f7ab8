#include "jit/plan_emitter.h"

#include <cstddef>

#include "jit/emit.h"
#include "jit/extent_arithmetic.h"
#include "jit/launch_emitter.h"
#include "jit/plan_blocks.h"
#include "jit/plan_frame.h"

namespace frazil::jit {
namespace {

/// A visitor that writes the code of a step. The builder is in the step's block. Returns true if the next step follows.
struct StepCode {
  const Plan& plan;
  const Lanes& lanes;
  llvm::IRBuilder<>& b;
  PlanFrame& frame;
  PlanBlocks& blocks;
  LaunchEmitter& launches;
  StepIndex pc;

  bool operator()(const step::Launch& launch) const {
    launches.write(pc, launch);
    return true;
  }
  bool operator()(const step::Evaluate& evaluate) const;
  bool operator()(const step::Branch& branch) const {
    llvm::Value* const x = b.CreateAlignedLoad(b.getInt8Ty(), frame.address(branch.condition), llvm::Align(1));
    return fork(b.CreateICmpNE(x, b.getInt8(0)), branch.target);
  }
  bool operator()(const step::LeaveAt& l) const {
    return fork(b.CreateICmpSLT(frame.reg(l.counter), frame.reg(l.limit)), l.target);
  }
  /// Branches to the next step if the condition holds, else to `target`.
  bool fork(llvm::Value* condition, StepIndex target) const {
    frame.finish_step();
    llvm::BasicBlock* const other = block(b, "other");
    b.CreateCondBr(condition, blocks.of(pc + 1), other);
    b.SetInsertPoint(other);
    blocks.go_to(pc, target);
    return false;
  }
  bool operator()(const step::BackEdge& again) const {
    frame.count_iteration();
    return jump(again.target);
  }
  bool operator()(const step::Jump& j) const { return jump(j.target); }
  bool jump(StepIndex target) const {
    frame.finish_step();
    blocks.go_to(pc, target);
    return false;
  }
  bool operator()(const step::Set& s) const {
    frame.set(s.to, number(b, s.number));
    return true;
  }
  bool operator()(const step::Add& a) const {
    frame.set(a.to, b.CreateAdd(frame.reg(a.to), number(b, a.number)));
    return true;
  }
  bool operator()(const step::Assign& assign) const {
    std::vector<llvm::Value*> values;
    for (const auto& copy : assign.copies) values.push_back(frame.reg(copy.from));
    for (std::size_t i = 0; i < values.size(); ++i) frame.set(assign.copies[i].to, values[i]);
    return true;
  }
  bool operator()(const step::Check& check) const {
    blocks.leave_unless(b.CreateICmpEQ(frame.reg(check.a), frame.reg(check.b)), pc);
    return true;
  }
  bool operator()(const step::Guard& guard) const {
    blocks.leave_unless(b.CreateICmpEQ(frame.reg(guard.predicate), number(b, guard.expected)), pc);
    return true;
  }
  bool operator()(const step::Swap& swap) const {
    frame.swap(plan.slot(swap.source).storage, plan.slot(swap.variable).storage);
    return true;
  }
  bool operator()(const step::Load& load) const {
    frame.set(load.to, frame.integer(load.from, 0));
    return true;
  }
  bool operator()(const step::Pick& pick) const {
    llvm::Value *const i = frame.integer(pick.index, 0), *const extent = frame.reg(pick.extent);
    blocks.leave_unless(b.CreateAnd(b.CreateICmpSGE(i, b.CreateNeg(extent)), b.CreateICmpSLT(i, extent)), pc);
    frame.set(pick.to, b.CreateSelect(b.CreateICmpSLT(i, number(b, 0)), b.CreateAdd(i, extent), i));
    return true;
  }
  bool operator()(const step::Bind& bind) const {
    for (const auto& element : bind.elements)
      frame.set(element.to, saturated(b, frame.integer(bind.from, element.element)));
    return true;
  }
  bool operator()(const step::Store& store) const {
    blocks.leave_unless_fit({store.to}, pc);
    llvm::Type* const type = lanes.scalar(plan.slot(store.to).elem);
    llvm::Value* const to = frame.address(store.to);
    for (std::size_t i = 0; i < store.elements.size(); ++i) {
      b.CreateAlignedStore(b.CreateTrunc(frame.reg(store.elements[i]), type), element(b, to, type, i), llvm::Align(1));
    }
    return true;
  }
  bool operator()(const step::Reserve& reserve) const;
  bool operator()(const step::Reset& reset) const {
    const Accumulator& acc = plan.accumulators[reset.accumulator.id];
    blocks.leave_unless_fits(acc.storage, number(b, 64), pc);
    frame.set(acc.count, number(b, 0));
    for (const Reg r : acc.dims) frame.set(r, number(b, 0));
    return true;
  }
  bool operator()(const step::Append& append) const;
  /// Other steps have no code; see has_native_code().
  bool operator()(const auto&) const {
    blocks.leave(pc);
    return false;
  }
};

bool StepCode::operator()(const step::Evaluate& evaluate) const {
  const std::uint32_t g = evaluate.group;
  const RegGroup& group = plan.groups[g];
  llvm::Type* const wide = b.getInt64Ty();
  llvm::Value* const known = element(b, frame.array(offsetof(code::NativeFrame, known)), b.getInt8Ty(), g);
  llvm::Value* const seen = frame.array(offsetof(code::NativeFrame, seen));
  llvm::Value* same = b.CreateICmpNE(b.CreateLoad(b.getInt8Ty(), known), b.getInt8(0));
  for (std::size_t i = 0; i < group.sources.size(); ++i) {
    llvm::Value* const before = b.CreateLoad(wide, element(b, seen, wide, frame.first_seen(g) + i));
    same = b.CreateAnd(same, b.CreateICmpEQ(before, frame.reg(group.sources[i])));
  }
  if (g == 0) {
    blocks.leave_unless(same, pc);
    return true;
  }
  llvm::BasicBlock *const stale = block(b, "stale"), *const ready = block(b, "ready");
  b.CreateCondBr(same, ready, stale);
  b.SetInsertPoint(stale);
  for (std::size_t i = 0; i < group.sources.size(); ++i) {
    b.CreateStore(frame.reg(group.sources[i]), element(b, seen, wide, frame.first_seen(g) + i));
  }
  b.CreateStore(b.getInt8(1), known);
  llvm::Value* const recomputed = frame.array(offsetof(code::NativeFrame, recomputed));
  b.CreateStore(b.getInt8(1), element(b, recomputed, b.getInt8Ty(), g));
  frame.count_group();
  for (const StepIndex dependent : group.dependents) launches.forget_call(dependent);
  for (const DimProgram::Ins& ins : group.program.code) {
    frame.set(ins.dst, ins.op == DimProgram::Op::constant ? number(b, ins.imm)
                                                          : extent(b, ins.op, frame.reg(ins.a), frame.reg(ins.b)));
  }
  b.CreateBr(ready);
  b.SetInsertPoint(ready);
  return true;
}

bool StepCode::operator()(const step::Reserve& reserve) const {
  const Accumulator& acc = plan.accumulators[reserve.accumulator.id];
  llvm::Value* const part = at_least(b, frame.reg(reserve.bytes), 0);
  llvm::Value* const product = b.CreateBinaryIntrinsic(llvm::Intrinsic::umul_with_overflow, part, frame.reg(acc.count));
  llvm::Value* const sum = b.CreateBinaryIntrinsic(llvm::Intrinsic::uadd_with_overflow,
                                                   b.CreateExtractValue(product, 0), at_least(b, part, 64));
  blocks.leave_unless(b.CreateNot(b.CreateOr(b.CreateExtractValue(product, 1), b.CreateExtractValue(sum, 1))), pc);
  blocks.leave_unless_fits(acc.storage, b.CreateExtractValue(sum, 0), pc);
  return true;
}

bool StepCode::operator()(const step::Append& append) const {
  const Accumulator& acc = plan.accumulators[append.accumulator.id];
  const Slot& slot = plan.slot(append.part);
  llvm::Value* const count = frame.reg(acc.count);
  llvm::Value* fits = b.getTrue();
  for (std::size_t i = 0; i < acc.dims.size(); ++i) {
    fits = b.CreateAnd(fits, b.CreateICmpEQ(frame.reg(acc.dims[i]), frame.reg(slot.dims[i])));
  }
  blocks.leave_unless(b.CreateOr(b.CreateICmpSLE(count, number(b, 0)), fits), pc);
  for (std::size_t i = 0; i < acc.dims.size(); ++i) frame.set(acc.dims[i], frame.reg(slot.dims[i]));
  frame.set(acc.count, b.CreateAdd(count, number(b, 1)));
  return true;
}

}  // namespace

void emit_plan(Lanes& lanes, llvm::IRBuilder<>& b, const code::NativePlan& native, llvm::Function& function) {
  const Plan& plan = *native.plan;
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", &function));
  PlanFrame frame(lanes, b, native, function.getArg(0));
  PlanBlocks blocks(b, native, frame, function.getArg(1));
  LaunchEmitter launches(lanes, b, native, frame, blocks);
  for (StepIndex pc = 0; pc < plan.steps.size(); ++pc) {
    b.SetInsertPoint(blocks.of(pc));
    if (!code::has_native_code(plan, plan.steps[pc])) {
      blocks.leave(pc);
    } else if (std::visit(StepCode{plan, lanes, b, frame, blocks, launches, pc}, plan.steps[pc].body)) {
      frame.finish_step();
      b.CreateBr(blocks.of(pc + 1));
    }
  }
  blocks.finish();
}

}  // namespace frazil::jit
