#include "jit/tile_emitter.h"

#include <llvm/IR/Constants.h>

#include "jit/emit.h"

namespace frazil::jit {
namespace {

/// Vectors of an iteration: enough to overlap their latencies, few enough for the registers.
constexpr unsigned kUnroll = 4;
/// Up to so many vectors of a row of known length are written without a loop.
constexpr std::int64_t kWrittenOut = 8;

llvm::Value* constant(const Lanes& lanes, const ScalarIns& ins) {
  llvm::Type* const type = lanes.scalar(ins.type);
  if (ins.type == Elem::f32) return llvm::ConstantFP::get(type, llvm::APFloat(static_cast<float>(ins.real)));
  if (ins.type == Elem::f64) return llvm::ConstantFP::get(type, llvm::APFloat(ins.real));
  const bool truth = ins.type == Elem::boolean;
  return llvm::ConstantInt::get(type, static_cast<std::uint64_t>(truth ? ins.integer != 0 : ins.integer));
}

}  // namespace

void TileEmitter::write() {
  for (std::uint32_t stage = 0; stage < schedule_.stages(); ++stage) {
    for (std::uint32_t i = 0; i < schedule_.size(); ++i) {
      if (schedule_.in_loop(i, stage) && schedule_.is_single(i)) single(i);
    }
    loop(stage);
    for (std::uint32_t i = 0; i < schedule_.size(); ++i) {
      if (schedule_.runs_after(i, stage)) row_operation(i);
    }
  }
}

// ---- one element for the whole row ----

void TileEmitter::single(std::uint32_t i) {
  const FusedIns& in = schedule_.ins(i);
  if (in.is(ScalarOp::constant)) {
    const bool read = !place_.parameters.empty() && place_.parameters[i] != nullptr;
    scalar_[i] = read ? place_.parameters[i] : constant(lanes_, in.scalar);
  } else if (in.is(ScalarOp::load)) {
    scalar_[i] = memory_.load_single(in.scalar.operand);
  } else if (schedule_.quantises(i)) {
    scalar_[i] = quantised(in.scalar);
  } else {
    const ScalarIns& s = in.scalar;
    scalar_[i] = compute(lanes_, b_, schedule_, in, scalar_[s.a], scalar_[s.b], scalar_[s.c]);
  }
  store_single(i);
}

llvm::Value* TileEmitter::quantised(const ScalarIns& ins) {
  const auto all = [&](std::uint32_t a) { return b_.CreateVectorSplat(lanes_.width(), scalar_[a]); };
  llvm::Value* const bytes = lanes_.quantised(b_, ins.type, true, {all(ins.a)}, all(ins.b), all(ins.c));
  return b_.CreateExtractElement(bytes, std::uint64_t{0});
}

void TileEmitter::row_operation(std::uint32_t i) {
  const FusedIns& in = schedule_.ins(i);
  scalar_[i] = lanes_.fold(b_, name_of(in.row), in.scalar.type, memory_.row(in.scalar.a), place_.n);
  store_single(i);
}

/// Stores the results of one element that instruction i gives.
void TileEmitter::store_single(std::uint32_t i) {
  const auto& stores = schedule_.code().stores;
  for (std::uint32_t s = 0; s < stores.size(); ++s) {
    const std::uint32_t k = schedule_.result(s);
    if (stores[s].value != i || schedule_.step(k) != code::InnerStep::one) continue;
    memory_.store_single(k, schedule_.elem(i), scalar_[i]);
  }
}

// ---- loops over vectors ----

/// Writes the loop of a stage, if anything happens in it.
void TileEmitter::loop(std::uint32_t stage) {
  bool any = false;
  for (std::uint32_t i = 0; i < schedule_.size(); ++i) any |= schedule_.in_loop(i, stage) && schedule_.is_kept(i);
  for (std::uint32_t s = 0; s < schedule_.code().stores.size(); ++s) any |= schedule_.stores_in(s, stage);
  if (!any) return;
  VectorEmitter vectors(lanes_, b_, schedule_, memory_, stage, scalar_);
  rounds(vectors);
}

void TileEmitter::rounds(VectorEmitter& vectors) {
  const unsigned width = lanes_.width();
  llvm::Type* const lane = b_.getInt32Ty();
  llvm::SmallVector<llvm::Constant*, 16> numbers;
  for (unsigned i = 0; i < width; ++i) numbers.push_back(b_.getInt32(i));
  llvm::Value* const indices = llvm::ConstantVector::get(numbers);
  const auto mask_of = [&](llvm::Value* left) {
    return b_.CreateICmpULT(indices, b_.CreateVectorSplat(width, b_.CreateTrunc(left, lane)));
  };
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(place_.n)) {
    const std::int64_t n = known->getSExtValue(), whole = n / width;
    if (whole <= kWrittenOut) {
      if (whole > 0) vectors.write(b_.getInt64(0), static_cast<unsigned>(whole), nullptr);
      if (n % width != 0)
        vectors.write(b_.getInt64(static_cast<std::uint64_t>(whole * width)), 1,
                      mask_of(b_.getInt64(static_cast<std::uint64_t>(n % width))));
      return;
    }
  }
  llvm::BasicBlock *const head = block(b_, "round"), *const body = block(b_, "vectors"),
                          *const rest = block(b_, "rest"), *const tail = block(b_, "tail"),
                          *const done = block(b_, "done");
  llvm::BasicBlock* const before = b_.GetInsertBlock();
  llvm::Value* const span = b_.getInt64(static_cast<std::uint64_t>(kUnroll) * width);
  llvm::Value* const end = b_.CreateSub(place_.n, b_.CreateURem(place_.n, span));
  b_.CreateBr(head);

  b_.SetInsertPoint(head);
  llvm::PHINode* const i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(b_.getInt64(0), before);
  b_.CreateCondBr(b_.CreateICmpSLT(i, end), body, rest);
  b_.SetInsertPoint(body);
  vectors.write(i, kUnroll, nullptr);
  i->addIncoming(b_.CreateAdd(i, span), b_.GetInsertBlock());
  b_.CreateBr(head);

  b_.SetInsertPoint(rest);
  llvm::PHINode* const j = b_.CreatePHI(b_.getInt64Ty(), 2);
  j->addIncoming(i, head);
  b_.CreateCondBr(b_.CreateICmpSLT(j, place_.n), tail, done);
  b_.SetInsertPoint(tail);
  vectors.write(j, 1, mask_of(at_most(b_, b_.CreateSub(place_.n, j), width)));
  j->addIncoming(b_.CreateAdd(j, b_.getInt64(width)), b_.GetInsertBlock());
  b_.CreateBr(rest);
  b_.SetInsertPoint(done);
}

}  // namespace frazil::jit
