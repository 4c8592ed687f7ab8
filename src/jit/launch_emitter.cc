#include "jit/launch_emitter.h"

#include <cstddef>
#include <type_traits>

#include <llvm/IR/Constants.h>

#include "jit/emit.h"
#include "jit/row_product.h"
#include "jit/tile_emitter.h"

namespace frazil::jit {

static_assert(std::is_standard_layout_v<code::FaultSlot>, "its unit is read at its beginning");

namespace {

/// Returns whether a step is in a loop.
bool in_loop(const Plan& plan, StepIndex pc) {
  for (StepIndex i = pc; i < plan.steps.size(); ++i) {
    const auto* again = plan.steps[i].as<step::BackEdge>();
    if (again != nullptr && again->target <= pc) return true;
  }
  return false;
}

}  // namespace

void LaunchEmitter::write(StepIndex pc, const step::Launch& launch) {
  native_.bodies[pc] ? body(pc, launch, *native_.bodies[pc]) : call(pc, launch);
}

void LaunchEmitter::forget_call(StepIndex pc) {
  const auto* const launch = native_.plan->steps[pc].as<step::Launch>();
  const auto& body = native_.bodies[pc];
  if (launch == nullptr || (body && !body->product)) return;
  b_.CreateStore(llvm::ConstantPointerNull::get(b_.getPtrTy()), call_of(pc));
}

void LaunchEmitter::body(StepIndex pc, const step::Launch& launch, const code::NativeBody& body) {
  for (const code::KnownRegister& known : native_.guards[pc]) {
    blocks_.leave_unless(b_.CreateICmpEQ(frame_.reg(known.reg), number(b_, known.value)), pc);
  }
  if (body.product) prepared_call(pc);
  blocks_.leave_unless_fit(launch.out, pc);
  std::vector<llvm::Value*> in, out;
  for (const SlotId s : launch.in) in.push_back(frame_.address_or_null(s));
  for (const SlotId s : launch.out) out.push_back(frame_.address_or_null(s));
  if (body.product) {
    llvm::Value* const made = out[body.product->into];
    product(pc, *body.product, in, made);
    const OperandRange& behind = body.product->epilogue;
    in = {in.begin() + behind.first, in.begin() + behind.first + behind.count};
    in.insert(in.begin(), made);
  }
  in.insert(in.end(), out.begin(), out.end());
  if (body.code != nullptr) loops(body, std::move(in), body.extents.size());
}

llvm::Value* LaunchEmitter::call_of(StepIndex pc) {
  llvm::Value* const calls = frame_.array(offsetof(code::NativeFrame, calls));
  return element(b_, calls, b_.getInt8Ty(), pc * sizeof(code::NativeCall));
}

/// Returns the function that the session has prepared for the step. The code is left if there is none.
llvm::Value* LaunchEmitter::prepared_call(StepIndex pc) {
  llvm::Value* const run =
      b_.CreateLoad(b_.getPtrTy(), element(b_, call_of(pc), b_.getInt8Ty(), offsetof(code::NativeCall, run)));
  blocks_.leave_unless(b_.CreateICmpNE(run, llvm::ConstantPointerNull::get(b_.getPtrTy())), pc);
  return run;
}

/// Emits the code of a product. Its packed operand is in the state that the session has prepared.
void LaunchEmitter::product(StepIndex pc, const code::NativeProduct& product, const std::vector<llvm::Value*>& in,
                            llvm::Value* out) {
  RowProductPlace place{.a = in[product.a], .b = in[product.b], .c = out};
  if (product.bias != kNone) place.bias = in[product.bias];
  if (product.addend != kNone) place.addend = in[product.addend];
  if (product.packed_at != 0) {
    const std::size_t at = offsetof(code::NativeCall, call) + offsetof(code::Call, state);
    llvm::Value* const state = b_.CreateLoad(b_.getPtrTy(), element(b_, call_of(pc), b_.getInt8Ty(), at));
    place.b = b_.CreateLoad(b_.getPtrTy(), element(b_, state, b_.getInt8Ty(), product.packed_at));
  }
  RowProduct(lanes_, b_, product).write(place, in_loop(*native_.plan, pc));
}

/// Calls the kernel as the session has prepared it.
void LaunchEmitter::call(StepIndex pc, const step::Launch& launch) {
  llvm::Type *const pointer = b_.getPtrTy(), *const wide = b_.getInt64Ty();
  llvm::Value* const prepared = call_of(pc);
  const auto member = [&](std::size_t offset) { return element(b_, prepared, b_.getInt8Ty(), offset); };
  llvm::Value* const run = prepared_call(pc);
  blocks_.leave_unless_fit(launch.out, pc);
  llvm::Value* const pointers = frame_.array(offsetof(code::NativeFrame, pointers));
  std::size_t k = 0;
  for (const auto* list : {&launch.in, &launch.out}) {
    for (const SlotId s : *list) b_.CreateStore(frame_.address_or_null(s), element(b_, pointers, pointer, k++));
  }
  auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, wide, wide}, false);
  b_.CreateCall(type, run,
                {member(offsetof(code::NativeCall, call)), frame_.field(offsetof(code::NativeFrame, worker)),
                 number(b_, 0), b_.CreateLoad(wide, member(offsetof(code::NativeCall, units)))});
  llvm::Value* const slot =
      b_.CreateLoad(pointer, member(offsetof(code::NativeCall, call) + offsetof(code::Call, fault)));
  blocks_.leave_unless(b_.CreateICmpEQ(b_.CreateLoad(wide, slot), number(b_, code::FaultSlot::kNone)), pc);
}

/// Writes the `loop` innermost loops over rows.
void LaunchEmitter::loops(const code::NativeBody& body, std::vector<llvm::Value*> at, std::size_t loop) {
  if (loop == 0) {
    RowPlace place{.at = std::move(at), .steps = {}, .n = number(b_, body.n), .scratch = nullptr, .stride = nullptr};
    for (const std::int64_t bytes : body.inner) place.steps.push_back(number(b_, bytes));
    if (body.scratch_bytes != 0) {
      place.scratch = frame_.array(offsetof(code::NativeFrame, worker) + offsetof(code::Worker, scratch));
      place.stride = number(b_, static_cast<std::int64_t>(body.stride));
    }
    return TileEmitter(lanes_, b_, *body.code, body.form, place).write();
  }
  llvm::BasicBlock *const before = b_.GetInsertBlock(), *const round = block(b_, "row"),
                          *const after = block(b_, "rows");
  b_.CreateBr(round);
  b_.SetInsertPoint(round);
  llvm::PHINode* const i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(number(b_, 0), before);
  for (std::size_t k = 0; k < at.size(); ++k) {
    at[k] = b_.CreateGEP(b_.getInt8Ty(), at[k], b_.CreateMul(i, number(b_, body.steps[loop - 1][k])));
  }
  loops(body, std::move(at), loop - 1);
  llvm::Value* const next = b_.CreateAdd(i, number(b_, 1));
  i->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, number(b_, body.extents[loop - 1])), round, after);
  b_.SetInsertPoint(after);
}

}  // namespace frazil::jit
