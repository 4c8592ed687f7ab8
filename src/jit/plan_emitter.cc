#include "jit/plan_emitter.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "jit/row_product.h"
#include "jit/tile_emitter.h"
#include "plan/analyse/dataflow.h"

namespace frazil::jit {

static_assert(std::is_standard_layout_v<code::FaultSlot>, "its unit is read at its beginning");

PlanEmitter::PlanEmitter(Lanes& lanes, llvm::IRBuilder<>& builder, const code::NativePlan& native)
    : lanes_(lanes),
      b_(builder),
      native_(native),
      plan_(*native.plan),
      reg_(plan_.registers, nullptr),
      base_(plan_.storages.size(), nullptr),
      reg_changes_(plan_.registers, 0),
      base_changes_(plan_.storages.size(), 0) {
  std::size_t at = 0;
  for (const RegGroup& group : plan_.groups) {
    seen_.push_back(at);
    at += group.sources.size();
  }
}

llvm::BasicBlock* PlanEmitter::block(const char* name) {
  return llvm::BasicBlock::Create(b_.getContext(), name, function_);
}

llvm::Value* PlanEmitter::field(std::size_t offset) {
  return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), frame_, offset);
}

llvm::Value* PlanEmitter::element(llvm::Value* array, llvm::Type* type, std::size_t i) {
  return b_.CreateConstInBoundsGEP1_64(type, array, i);
}

/// Loads an element of an array that nothing changes while the code runs.
llvm::Value* PlanEmitter::fixed(llvm::Value* array, llvm::Type* type, std::size_t i) {
  llvm::LoadInst* const load = b_.CreateLoad(type, element(array, type, i));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
  return load;
}

// ---- registers and addresses that change ----

void PlanEmitter::find_changes() {
  struct Changes {
    PlanEmitter& emitter;
    void reg(Reg r) const {
      if (r != kNoReg) emitter.reg_changes_[r] = 1;
    }
    void slot(SlotId) const {}
    void accumulator(AccumulatorId) const {}
  };
  for (const Step& step : plan_.steps) {
    const auto* evaluate = step.as<step::Evaluate>();
    const bool stays = evaluate != nullptr && evaluate->group == 0;  // else the code is left
    if (code::has_native_code(plan_, step) && !stays) for_definitions(plan_, step, Changes{*this});
    if (const auto* swap = step.as<step::Swap>(); swap != nullptr && code::has_native_code(plan_, step)) {
      base_changes_[plan_.slot(swap->source).storage] = 1;
      base_changes_[plan_.slot(swap->variable).storage] = 1;
    }
  }
}

void PlanEmitter::enter() {
  llvm::Type *const wide = b_.getInt64Ty(), *const pointer = b_.getPtrTy();
  const auto variable = [&](llvm::Type* type, llvm::Value* from) {
    llvm::Value* const made = b_.CreateAlloca(type);
    if (from != nullptr) b_.CreateStore(b_.CreateLoad(type, from), made);
    return made;
  };
  regs_ = b_.CreateLoad(pointer, field(offsetof(code::NativeFrame, regs)));
  bases_ = b_.CreateLoad(pointer, field(offsetof(code::NativeFrame, base)));
  at_ = variable(b_.getInt32Ty(), nullptr);
  left_ = variable(wide, field(offsetof(code::NativeFrame, left)));
  iterations_ = variable(wide, field(offsetof(code::NativeFrame, iterations)));
  changes_ = variable(wide, field(offsetof(code::NativeFrame, groups_recomputed)));
  for (Reg r = 0; r < plan_.registers; ++r) {
    if (reg_changes_[r] != 0) reg_[r] = variable(wide, element(regs_, wide, r));
  }
  for (std::uint32_t s = 0; s < plan_.storages.size(); ++s) {
    if (base_changes_[s] != 0) base_[s] = variable(pointer, element(bases_, pointer, s));
  }
}

void PlanEmitter::keep() {
  llvm::Type *const wide = b_.getInt64Ty(), *const pointer = b_.getPtrTy();
  const auto store = [&](llvm::Type* type, llvm::Value* variable, llvm::Value* to) {
    b_.CreateStore(b_.CreateLoad(type, variable), to);
  };
  store(wide, left_, field(offsetof(code::NativeFrame, left)));
  store(wide, iterations_, field(offsetof(code::NativeFrame, iterations)));
  store(wide, changes_, field(offsetof(code::NativeFrame, groups_recomputed)));
  for (Reg r = 0; r < plan_.registers; ++r) {
    if (reg_[r] != nullptr) store(wide, reg_[r], element(regs_, wide, r));
  }
  for (std::uint32_t s = 0; s < plan_.storages.size(); ++s) {
    if (base_[s] != nullptr) store(pointer, base_[s], element(bases_, pointer, s));
  }
}

void PlanEmitter::write(llvm::Function& function) {
  function_ = &function;
  frame_ = function.getArg(0);
  find_changes();
  b_.SetInsertPoint(block("entry"));
  enter();
  llvm::BasicBlock* const entry = block("enter");
  b_.CreateBr(entry);
  leave_ = block("leave");
  for (StepIndex i = 0; i < plan_.steps.size(); ++i) blocks_.push_back(block("step"));
  b_.SetInsertPoint(entry);
  llvm::BasicBlock* const nowhere = block("nowhere");
  llvm::SwitchInst* const where = b_.CreateSwitch(function.getArg(1), nowhere);
  for (StepIndex i = 0; i < plan_.steps.size(); ++i) {
    if (native_.enters[i] != 0) where->addCase(b_.getInt32(i), blocks_[i]);
  }
  b_.SetInsertPoint(nowhere);
  b_.CreateStore(function.getArg(1), at_);
  b_.CreateBr(leave_);
  for (StepIndex i = 0; i < plan_.steps.size(); ++i) step(i);
  b_.SetInsertPoint(leave_);
  keep();
  b_.CreateRet(b_.CreateLoad(b_.getInt32Ty(), at_));
}

// ---- exits ----

void PlanEmitter::leave(StepIndex pc) {
  b_.CreateStore(b_.getInt32(pc), at_);
  b_.CreateBr(leave_);
}

void PlanEmitter::leave_unless(llvm::Value* condition, StepIndex pc) {
  llvm::BasicBlock *const on = block("on"), *const off = block("off");
  b_.CreateCondBr(condition, on, off);
  b_.SetInsertPoint(off);
  leave(pc);
  b_.SetInsertPoint(on);
}

void PlanEmitter::done() { b_.CreateStore(b_.CreateSub(b_.CreateLoad(b_.getInt64Ty(), left_), b_.getInt64(1)), left_); }

/// Jumps to a step. A jump back is taken only while enough steps are left for all steps to run once.
void PlanEmitter::go_to(StepIndex from, StepIndex target) {
  if (target <= from) {
    llvm::Value* const left = b_.CreateLoad(b_.getInt64Ty(), left_);
    leave_unless(b_.CreateICmpUGE(left, b_.getInt64(plan_.steps.size())), target);
  }
  b_.CreateBr(blocks_[target]);
}

// ---- registers and addresses ----

llvm::Value* PlanEmitter::reg(Reg r) {
  llvm::Type* const wide = b_.getInt64Ty();
  return reg_[r] != nullptr ? static_cast<llvm::Value*>(b_.CreateLoad(wide, reg_[r])) : fixed(regs_, wide, r);
}

void PlanEmitter::set(Reg r, llvm::Value* value) { b_.CreateStore(value, reg_[r]); }

llvm::Value* PlanEmitter::base(std::uint32_t storage) {
  llvm::Type* const pointer = b_.getPtrTy();
  if (base_[storage] != nullptr) return b_.CreateLoad(pointer, base_[storage]);
  return fixed(bases_, pointer, storage);
}

llvm::Value* PlanEmitter::address(SlotId s) {
  const Slot& slot = plan_.slot(s);
  llvm::Value* const begin = base(slot.storage);
  if (slot.offset == kNoReg) return begin;
  const auto size = static_cast<std::int64_t>(byte_size(slot.elem));
  return b_.CreateGEP(b_.getInt8Ty(), begin, b_.CreateMul(reg(slot.offset), number(size)));
}

llvm::Value* PlanEmitter::capacity(std::uint32_t storage) {
  llvm::Value* const all = b_.CreateLoad(b_.getPtrTy(), field(offsetof(code::NativeFrame, capacities)));
  return b_.CreateLoad(b_.getInt64Ty(), element(all, b_.getInt8Ty(), storage * native_.capacity_step));
}

llvm::Value* PlanEmitter::integer(SlotId s, std::uint32_t i) {
  const Elem elem = plan_.slot(s).elem;
  llvm::Type* const type = lanes_.scalar(elem);
  llvm::Value* const x = b_.CreateAlignedLoad(type, element(address(s), type, i), llvm::Align(1));
  return elem == Elem::boolean ? b_.CreateZExt(b_.CreateICmpNE(x, b_.getInt8(0)), b_.getInt64Ty())
                               : b_.CreateSExt(x, b_.getInt64Ty());
}

llvm::Value* PlanEmitter::largest(llvm::Value* x, std::int64_t least) {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, number(least));
}

void PlanEmitter::fits(std::uint32_t storage, llvm::Value* bytes, StepIndex pc) {
  leave_unless(b_.CreateICmpULE(bytes, capacity(storage)), pc);
}

void PlanEmitter::fits_results(const std::vector<SlotId>& slots, StepIndex pc) {
  for (const SlotId s : slots) {
    if (!s || plan_.storage(s).place != Place::growing || plan_.storage(s).bytes == kNoReg) continue;
    fits(plan_.slot(s).storage, largest(reg(plan_.storage(s).bytes), 64), pc);
  }
}

// ---- steps ----

/// A visitor that writes the code of a step. The builder is in the step's block. Returns true if the next step follows.
struct StepCode {
  PlanEmitter& e;
  StepIndex pc;
  llvm::IRBuilder<>& b = e.b_;

  bool operator()(const step::Launch& launch) const {
    e.launch(pc, launch);
    return true;
  }
  bool operator()(const step::Evaluate& evaluate) const;
  bool operator()(const step::Branch& branch) const {
    llvm::Value* const x = b.CreateAlignedLoad(b.getInt8Ty(), e.address(branch.condition), llvm::Align(1));
    return fork(b.CreateICmpNE(x, b.getInt8(0)), branch.target);
  }
  bool operator()(const step::LeaveAt& l) const {
    return fork(b.CreateICmpSLT(e.reg(l.counter), e.reg(l.limit)), l.target);
  }
  /// Branches to the next step if the condition holds, else to `target`.
  bool fork(llvm::Value* condition, StepIndex target) const {
    e.done();
    llvm::BasicBlock* const other = e.block("other");
    b.CreateCondBr(condition, e.blocks_[pc + 1], other);
    b.SetInsertPoint(other);
    e.go_to(pc, target);
    return false;
  }
  bool operator()(const step::Again& again) const {
    b.CreateStore(b.CreateAdd(b.CreateLoad(b.getInt64Ty(), e.iterations_), b.getInt64(1)), e.iterations_);
    return jump(again.target);
  }
  bool operator()(const step::Jump& j) const { return jump(j.target); }
  bool jump(StepIndex target) const {
    e.done();
    e.go_to(pc, target);
    return false;
  }
  bool operator()(const step::Set& s) const {
    e.set(s.to, e.number(s.number));
    return true;
  }
  bool operator()(const step::Add& a) const {
    e.set(a.to, b.CreateAdd(e.reg(a.to), e.number(a.number)));
    return true;
  }
  bool operator()(const step::Assign& assign) const {
    std::vector<llvm::Value*> values;
    for (const auto& copy : assign.copies) values.push_back(e.reg(copy.from));
    for (std::size_t i = 0; i < values.size(); ++i) e.set(assign.copies[i].to, values[i]);
    return true;
  }
  bool operator()(const step::Check& check) const {
    e.leave_unless(b.CreateICmpEQ(e.reg(check.a), e.reg(check.b)), pc);
    return true;
  }
  bool operator()(const step::Guard& guard) const {
    e.leave_unless(b.CreateICmpEQ(e.reg(guard.predicate), e.number(guard.expected)), pc);
    return true;
  }
  bool operator()(const step::Swap& swap) const {
    const std::uint32_t one = e.plan_.slot(swap.source).storage, other = e.plan_.slot(swap.variable).storage;
    llvm::Value *const x = e.base(one), *const y = e.base(other);
    b.CreateStore(y, e.base_[one]);
    b.CreateStore(x, e.base_[other]);
    return true;
  }
  bool operator()(const step::Load& load) const {
    e.set(load.to, e.integer(load.from, 0));
    return true;
  }
  bool operator()(const step::Pick& pick) const {
    llvm::Value *const i = e.integer(pick.index, 0), *const extent = e.reg(pick.extent);
    e.leave_unless(b.CreateAnd(b.CreateICmpSGE(i, b.CreateNeg(extent)), b.CreateICmpSLT(i, extent)), pc);
    e.set(pick.to, b.CreateSelect(b.CreateICmpSLT(i, e.number(0)), b.CreateAdd(i, extent), i));
    return true;
  }
  bool operator()(const step::Bind& bind) const {
    for (const auto& element : bind.elements) e.set(element.to, e.saturated(e.integer(bind.from, element.element)));
    return true;
  }
  bool operator()(const step::Store& store) const {
    e.fits_results({store.to}, pc);
    llvm::Type* const type = e.lanes_.scalar(e.plan_.slot(store.to).elem);
    llvm::Value* const to = e.address(store.to);
    for (std::size_t i = 0; i < store.elements.size(); ++i) {
      b.CreateAlignedStore(b.CreateTrunc(e.reg(store.elements[i]), type), e.element(to, type, i), llvm::Align(1));
    }
    return true;
  }
  bool operator()(const step::Reserve& reserve) const;
  bool operator()(const step::Reset& reset) const {
    const Accumulator& acc = e.plan_.accumulators[reset.accumulator.id];
    e.fits(acc.storage, e.number(64), pc);
    e.set(acc.count, e.number(0));
    for (const Reg r : acc.dims) e.set(r, e.number(0));
    return true;
  }
  bool operator()(const step::Append& append) const;
  /// Other steps have no code; see has_native_code().
  bool operator()(const auto&) const {
    e.leave(pc);
    return false;
  }
};

bool StepCode::operator()(const step::Evaluate& evaluate) const {
  const std::uint32_t g = evaluate.group;
  const RegGroup& group = e.plan_.groups[g];
  llvm::Type* const wide = b.getInt64Ty();
  llvm::Value* const known =
      e.element(b.CreateLoad(b.getPtrTy(), e.field(offsetof(code::NativeFrame, known))), b.getInt8Ty(), g);
  llvm::Value* const seen = b.CreateLoad(b.getPtrTy(), e.field(offsetof(code::NativeFrame, seen)));
  llvm::Value* same = b.CreateICmpNE(b.CreateLoad(b.getInt8Ty(), known), b.getInt8(0));
  for (std::size_t i = 0; i < group.sources.size(); ++i) {
    llvm::Value* const before = b.CreateLoad(wide, e.element(seen, wide, e.seen_[g] + i));
    same = b.CreateAnd(same, b.CreateICmpEQ(before, e.reg(group.sources[i])));
  }
  if (g == 0) {
    e.leave_unless(same, pc);
    return true;
  }
  llvm::BasicBlock *const stale = e.block("stale"), *const ready = e.block("ready");
  b.CreateCondBr(same, ready, stale);
  b.SetInsertPoint(stale);
  for (std::size_t i = 0; i < group.sources.size(); ++i) {
    b.CreateStore(e.reg(group.sources[i]), e.element(seen, wide, e.seen_[g] + i));
  }
  b.CreateStore(b.getInt8(1), known);
  llvm::Value* const recomputed = b.CreateLoad(b.getPtrTy(), e.field(offsetof(code::NativeFrame, recomputed)));
  b.CreateStore(b.getInt8(1), e.element(recomputed, b.getInt8Ty(), g));
  b.CreateStore(b.CreateAdd(b.CreateLoad(wide, e.changes_), b.getInt64(1)), e.changes_);
  for (const StepIndex dependent : group.dependents) {
    const auto* const launch = e.plan_.steps[dependent].as<step::Launch>();
    const auto& body = e.native_.bodies[dependent];
    if (launch == nullptr || (body && !body->product)) continue;
    b.CreateStore(llvm::ConstantPointerNull::get(b.getPtrTy()), e.call_of(dependent));
  }
  e.program(group.program);
  b.CreateBr(ready);
  b.SetInsertPoint(ready);
  return true;
}

bool StepCode::operator()(const step::Reserve& reserve) const {
  const Accumulator& acc = e.plan_.accumulators[reserve.accumulator.id];
  llvm::Value* const part = e.largest(e.reg(reserve.bytes), 0);
  llvm::Value* const product = b.CreateBinaryIntrinsic(llvm::Intrinsic::umul_with_overflow, part, e.reg(acc.count));
  llvm::Value* const sum = b.CreateBinaryIntrinsic(llvm::Intrinsic::uadd_with_overflow,
                                                   b.CreateExtractValue(product, 0), e.largest(part, 64));
  e.leave_unless(b.CreateNot(b.CreateOr(b.CreateExtractValue(product, 1), b.CreateExtractValue(sum, 1))), pc);
  e.fits(acc.storage, b.CreateExtractValue(sum, 0), pc);
  return true;
}

bool StepCode::operator()(const step::Append& append) const {
  const Accumulator& acc = e.plan_.accumulators[append.accumulator.id];
  const Slot& slot = e.plan_.slot(append.part);
  llvm::Value* const count = e.reg(acc.count);
  llvm::Value* fits = b.getTrue();
  for (std::size_t i = 0; i < acc.dims.size(); ++i) {
    fits = b.CreateAnd(fits, b.CreateICmpEQ(e.reg(acc.dims[i]), e.reg(slot.dims[i])));
  }
  e.leave_unless(b.CreateOr(b.CreateICmpSLE(count, e.number(0)), fits), pc);
  for (std::size_t i = 0; i < acc.dims.size(); ++i) e.set(acc.dims[i], e.reg(slot.dims[i]));
  e.set(acc.count, b.CreateAdd(count, e.number(1)));
  return true;
}

void PlanEmitter::step(StepIndex pc) {
  const Step& step = plan_.steps[pc];
  b_.SetInsertPoint(blocks_[pc]);
  if (!code::has_native_code(plan_, step)) return leave(pc);
  if (!std::visit(StepCode{*this, pc}, step.body)) return;
  done();
  b_.CreateBr(blocks_[pc + 1]);
}

void PlanEmitter::launch(StepIndex pc, const step::Launch& launch) {
  if (!native_.bodies[pc]) return call(pc, launch);
  const code::NativeBody& body = *native_.bodies[pc];
  for (const code::KnownRegister& known : native_.guards[pc]) {
    leave_unless(b_.CreateICmpEQ(reg(known.reg), number(known.value)), pc);
  }
  if (body.product) prepared_call(pc);
  fits_results(launch.out, pc);
  std::vector<llvm::Value*> in, out;
  for (const SlotId s : launch.in) in.push_back(address_or_null(s));
  for (const SlotId s : launch.out) out.push_back(address_or_null(s));
  if (body.product) {
    llvm::Value* const made = out[body.product->into];
    product(pc, *body.product, in, made);
    const OperandRange& behind = body.product->behind;
    in = {in.begin() + behind.first, in.begin() + behind.first + behind.count};
    in.insert(in.begin(), made);
  }
  in.insert(in.end(), out.begin(), out.end());
  if (body.code != nullptr) loops(body, std::move(in), body.extents.size());
}

llvm::Value* PlanEmitter::address_or_null(SlotId s) {
  return s ? address(s) : llvm::ConstantPointerNull::get(b_.getPtrTy());
}

llvm::Value* PlanEmitter::call_of(StepIndex pc) {
  llvm::Value* const calls = b_.CreateLoad(b_.getPtrTy(), field(offsetof(code::NativeFrame, calls)));
  return element(calls, b_.getInt8Ty(), pc * sizeof(code::NativeCall));
}

/// Returns the function that the session has prepared for the step. The code is left if there is none.
llvm::Value* PlanEmitter::prepared_call(StepIndex pc) {
  llvm::Value* const run =
      b_.CreateLoad(b_.getPtrTy(), element(call_of(pc), b_.getInt8Ty(), offsetof(code::NativeCall, run)));
  leave_unless(b_.CreateICmpNE(run, llvm::ConstantPointerNull::get(b_.getPtrTy())), pc);
  return run;
}

bool PlanEmitter::in_loop(StepIndex pc) const {
  for (StepIndex i = pc; i < plan_.steps.size(); ++i) {
    const auto* again = plan_.steps[i].as<step::Again>();
    if (again != nullptr && again->target <= pc) return true;
  }
  return false;
}

/// Emits the code of a product. Its packed operand is in the state that the session has prepared.
void PlanEmitter::product(StepIndex pc, const code::NativeProduct& product, const std::vector<llvm::Value*>& in,
                          llvm::Value* out) {
  RowProductPlace place{.a = in[product.a], .b = in[product.b], .c = out};
  if (product.bias != kNone) place.bias = in[product.bias];
  if (product.addend != kNone) place.addend = in[product.addend];
  if (product.packed_at != 0) {
    const std::size_t at = offsetof(code::NativeCall, call) + offsetof(code::Call, state);
    llvm::Value* const state = b_.CreateLoad(b_.getPtrTy(), element(call_of(pc), b_.getInt8Ty(), at));
    place.b = b_.CreateLoad(b_.getPtrTy(), element(state, b_.getInt8Ty(), product.packed_at));
  }
  RowProduct(lanes_, b_, product).write(place, in_loop(pc));
}

/// Calls the kernel as the session has prepared it.
void PlanEmitter::call(StepIndex pc, const step::Launch& launch) {
  llvm::Type *const pointer = b_.getPtrTy(), *const wide = b_.getInt64Ty();
  llvm::Value* const prepared = call_of(pc);
  const auto member = [&](std::size_t offset) { return element(prepared, b_.getInt8Ty(), offset); };
  llvm::Value* const run = prepared_call(pc);
  fits_results(launch.out, pc);
  llvm::Value* const pointers = b_.CreateLoad(pointer, field(offsetof(code::NativeFrame, pointers)));
  std::size_t k = 0;
  for (const auto* list : {&launch.in, &launch.out}) {
    for (const SlotId s : *list) b_.CreateStore(address_or_null(s), element(pointers, pointer, k++));
  }
  auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, wide, wide}, false);
  b_.CreateCall(type, run,
                {member(offsetof(code::NativeCall, call)), field(offsetof(code::NativeFrame, worker)), number(0),
                 b_.CreateLoad(wide, member(offsetof(code::NativeCall, units)))});
  llvm::Value* const slot =
      b_.CreateLoad(pointer, member(offsetof(code::NativeCall, call) + offsetof(code::Call, fault)));
  leave_unless(b_.CreateICmpEQ(b_.CreateLoad(wide, slot), number(code::FaultSlot::kNone)), pc);
}

/// Writes the `loop` innermost loops over rows.
void PlanEmitter::loops(const code::NativeBody& body, std::vector<llvm::Value*> at, std::size_t loop) {
  if (loop == 0) {
    RowPlace place{.at = std::move(at), .steps = {}, .n = number(body.n), .scratch = nullptr, .stride = nullptr};
    for (const std::int64_t bytes : body.inner) place.steps.push_back(number(bytes));
    if (body.scratch_bytes != 0) {
      place.scratch =
          b_.CreateLoad(b_.getPtrTy(), field(offsetof(code::NativeFrame, worker) + offsetof(code::Worker, scratch)));
      place.stride = number(static_cast<std::int64_t>(body.stride));
    }
    return TileEmitter(lanes_, b_, *body.code, body.form).row(place);
  }
  llvm::BasicBlock *const before = b_.GetInsertBlock(), *const round = block("row"), *const after = block("rows");
  b_.CreateBr(round);
  b_.SetInsertPoint(round);
  llvm::PHINode* const i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(number(0), before);
  for (std::size_t k = 0; k < at.size(); ++k) {
    at[k] = b_.CreateGEP(b_.getInt8Ty(), at[k], b_.CreateMul(i, number(body.steps[loop - 1][k])));
  }
  loops(body, std::move(at), loop - 1);
  llvm::Value* const next = b_.CreateAdd(i, number(1));
  i->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, number(body.extents[loop - 1])), round, after);
  b_.SetInsertPoint(after);
}

// ---- arithmetic of extents, as in sym/saturate.h ----

llvm::Value* PlanEmitter::saturated(llvm::Value* x) {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, largest(x, Dim::kMin), number(Dim::kMax));
}

void PlanEmitter::program(const DimProgram& program) {
  for (const DimProgram::Ins& ins : program.code) {
    set(ins.dst, ins.op == DimProgram::Op::constant ? number(ins.imm) : arithmetic(ins.op, reg(ins.a), reg(ins.b)));
  }
}

llvm::Value* PlanEmitter::arithmetic(DimProgram::Op op, llvm::Value* a, llvm::Value* b) {
  using enum DimProgram::Op;
  const auto checked = [&](llvm::Intrinsic::ID id, llvm::Value* to_largest) {
    llvm::Value* const both = b_.CreateBinaryIntrinsic(id, a, b);
    llvm::Value* const limit = b_.CreateSelect(to_largest, number(Dim::kMax), number(Dim::kMin));
    return b_.CreateSelect(b_.CreateExtractValue(both, 1), limit, saturated(b_.CreateExtractValue(both, 0)));
  };
  llvm::Value* const zero = number(0);
  switch (op) {
    case add: return checked(llvm::Intrinsic::sadd_with_overflow, b_.CreateICmpSGT(b, zero));
    case sub: return checked(llvm::Intrinsic::ssub_with_overflow, b_.CreateICmpSLT(b, zero));
    case mul:
      return checked(llvm::Intrinsic::smul_with_overflow,
                     b_.CreateICmpEQ(b_.CreateICmpSLT(a, zero), b_.CreateICmpSLT(b, zero)));
    case min: return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
    case max: return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
    default: return quotient(op, a, b);
  }
}

/// Returns a quotient rounded towards minus infinity, or its remainder; 0 for a divisor of 0. Extents are far from the
/// least integer, so that a divisor of -1 cannot overflow.
llvm::Value* PlanEmitter::quotient(DimProgram::Op op, llvm::Value* a, llvm::Value* b) {
  llvm::Value* const zero = number(0);
  llvm::Value* const none = b_.CreateICmpEQ(b, zero);
  llvm::Value* const divisor = b_.CreateSelect(none, number(1), b);
  llvm::Value* const bounded = saturated(a);
  llvm::Value* const rest = b_.CreateSRem(bounded, divisor);
  llvm::Value* const apart = b_.CreateICmpNE(b_.CreateICmpSLT(rest, zero), b_.CreateICmpSLT(divisor, zero));
  llvm::Value* const below = b_.CreateAnd(b_.CreateICmpNE(rest, zero), apart);
  llvm::Value* const value = op == DimProgram::Op::mod
                                 ? b_.CreateSelect(below, b_.CreateAdd(rest, divisor), rest)
                                 : b_.CreateSub(b_.CreateSDiv(bounded, divisor), b_.CreateZExt(below, b_.getInt64Ty()));
  return b_.CreateSelect(none, zero, saturated(value));
}

}  // namespace frazil::jit
