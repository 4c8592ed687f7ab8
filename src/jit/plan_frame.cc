#include "jit/plan_frame.h"

#include <cstddef>

#include <llvm/IR/Constants.h>

#include "jit/emit.h"
#include "plan/analyse/dataflow.h"

namespace frazil::jit {
namespace {

/// The registers and storages that steps with code change.
struct Changes {
  std::vector<std::uint8_t> regs, bases;
};

/// A visitor of definitions that marks registers.
struct MarkRegisters {
  std::vector<std::uint8_t>& regs;
  void reg(Reg r) const {
    if (r != kNoReg) regs[r] = 1;
  }
  void slot(SlotId) const {}
  void accumulator(AccumulatorId) const {}
};

Changes changes_of(const Plan& plan) {
  Changes changes{.regs = std::vector<std::uint8_t>(plan.registers, 0),
                  .bases = std::vector<std::uint8_t>(plan.storages.size(), 0)};
  for (const Step& step : plan.steps) {
    const auto* evaluate = step.as<step::Evaluate>();
    const bool stays = evaluate != nullptr && evaluate->group == 0;  // else the code is left
    if (code::has_native_code(plan, step) && !stays) for_definitions(plan, step, MarkRegisters{changes.regs});
    if (const auto* swap = step.as<step::Swap>(); swap != nullptr && code::has_native_code(plan, step)) {
      changes.bases[plan.slot(swap->source).storage] = 1;
      changes.bases[plan.slot(swap->variable).storage] = 1;
    }
  }
  return changes;
}

/// Loads an element of an array that nothing changes while the code runs.
llvm::Value* load_fixed(llvm::IRBuilder<>& b, llvm::Value* array, llvm::Type* type, std::size_t i) {
  llvm::LoadInst* const load = b.CreateLoad(type, element(b, array, type, i));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
  return load;
}

}  // namespace

PlanFrame::PlanFrame(const Lanes& lanes, llvm::IRBuilder<>& builder, const code::NativePlan& native, llvm::Value* frame)
    : lanes_(lanes),
      b_(builder),
      plan_(*native.plan),
      capacity_step_(native.capacity_step),
      frame_(frame),
      reg_(plan_.registers, nullptr),
      base_(plan_.storages.size(), nullptr) {
  std::size_t at = 0;
  for (const RegGroup& group : plan_.groups) {
    seen_.push_back(at);
    at += group.sources.size();
  }
  llvm::Type *const wide = b_.getInt64Ty(), *const pointer = b_.getPtrTy();
  const auto variable = [&](llvm::Type* type, llvm::Value* from) {
    llvm::Value* const made = b_.CreateAlloca(type);
    b_.CreateStore(b_.CreateLoad(type, from), made);
    return made;
  };
  regs_ = array(offsetof(code::NativeFrame, regs));
  bases_ = array(offsetof(code::NativeFrame, base));
  exit_ = b_.CreateAlloca(b_.getInt32Ty());
  left_ = variable(wide, field(offsetof(code::NativeFrame, left)));
  iterations_ = variable(wide, field(offsetof(code::NativeFrame, iterations)));
  groups_ = variable(wide, field(offsetof(code::NativeFrame, groups_recomputed)));
  const Changes changes = changes_of(plan_);
  for (Reg r = 0; r < plan_.registers; ++r) {
    if (changes.regs[r] != 0) reg_[r] = variable(wide, element(b_, regs_, wide, r));
  }
  for (std::uint32_t s = 0; s < plan_.storages.size(); ++s) {
    if (changes.bases[s] != 0) base_[s] = variable(pointer, element(b_, bases_, pointer, s));
  }
}

void PlanFrame::keep() {
  llvm::Type *const wide = b_.getInt64Ty(), *const pointer = b_.getPtrTy();
  const auto store = [&](llvm::Type* type, llvm::Value* variable, llvm::Value* to) {
    b_.CreateStore(b_.CreateLoad(type, variable), to);
  };
  store(wide, left_, field(offsetof(code::NativeFrame, left)));
  store(wide, iterations_, field(offsetof(code::NativeFrame, iterations)));
  store(wide, groups_, field(offsetof(code::NativeFrame, groups_recomputed)));
  for (Reg r = 0; r < plan_.registers; ++r) {
    if (reg_[r] != nullptr) store(wide, reg_[r], element(b_, regs_, wide, r));
  }
  for (std::uint32_t s = 0; s < plan_.storages.size(); ++s) {
    if (base_[s] != nullptr) store(pointer, base_[s], element(b_, bases_, pointer, s));
  }
}

llvm::Value* PlanFrame::field(std::size_t offset) { return element(b_, frame_, b_.getInt8Ty(), offset); }

void PlanFrame::finish_step() { b_.CreateStore(b_.CreateSub(left(), b_.getInt64(1)), left_); }

void PlanFrame::increment(llvm::Value* variable) {
  b_.CreateStore(b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), variable), b_.getInt64(1)), variable);
}

llvm::Value* PlanFrame::reg(Reg r) {
  llvm::Type* const wide = b_.getInt64Ty();
  return reg_[r] != nullptr ? static_cast<llvm::Value*>(b_.CreateLoad(wide, reg_[r])) : load_fixed(b_, regs_, wide, r);
}

llvm::Value* PlanFrame::base(std::uint32_t storage) {
  llvm::Type* const pointer = b_.getPtrTy();
  if (base_[storage] != nullptr) return b_.CreateLoad(pointer, base_[storage]);
  return load_fixed(b_, bases_, pointer, storage);
}

void PlanFrame::swap(std::uint32_t storage, std::uint32_t other) {
  llvm::Value *const x = base(storage), *const y = base(other);
  b_.CreateStore(y, base_[storage]);
  b_.CreateStore(x, base_[other]);
}

llvm::Value* PlanFrame::address(SlotId s) {
  const Slot& slot = plan_.slot(s);
  llvm::Value* const begin = base(slot.storage);
  if (slot.offset == kNoReg) return begin;
  const auto size = static_cast<std::int64_t>(byte_size(slot.elem));
  return b_.CreateGEP(b_.getInt8Ty(), begin, b_.CreateMul(reg(slot.offset), number(b_, size)));
}

llvm::Value* PlanFrame::address_or_null(SlotId s) {
  return s ? address(s) : llvm::ConstantPointerNull::get(b_.getPtrTy());
}

llvm::Value* PlanFrame::integer(SlotId s, std::uint32_t i) {
  const Elem elem = plan_.slot(s).elem;
  llvm::Type* const type = lanes_.scalar(elem);
  llvm::Value* const x = b_.CreateAlignedLoad(type, element(b_, address(s), type, i), llvm::Align(1));
  return elem == Elem::boolean ? b_.CreateZExt(b_.CreateICmpNE(x, b_.getInt8(0)), b_.getInt64Ty())
                               : b_.CreateSExt(x, b_.getInt64Ty());
}

llvm::Value* PlanFrame::has_room(std::uint32_t storage, llvm::Value* bytes) {
  llvm::Value* const all = array(offsetof(code::NativeFrame, capacities));
  llvm::Value* const capacity =
      b_.CreateLoad(b_.getInt64Ty(), element(b_, all, b_.getInt8Ty(), storage * capacity_step_));
  return b_.CreateICmpULE(bytes, capacity);
}

}  // namespace frazil::jit
