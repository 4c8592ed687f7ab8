#include "jit/row_product.h"

#include <algorithm>

#include <llvm/IR/Constants.h>

#include "base/value/extents.h"
#include "kernel/contract/float_gemm.h"

namespace frazil::jit {

namespace {

constexpr unsigned kSums = 8;  ///< sums of all chains and columns, which hide the latency of an addition
/// The sizes of B, in bytes, for which the columns are traversed in alternating directions. The L1 cache then keeps a
/// part of B between runs.
constexpr std::int64_t kTurnsFrom = 24 << 10, kTurnsTo = 128 << 10;

}  // namespace

void RowProduct::write(const RowProductPlace& place, bool again) {
  place_ = place;
  const auto width = static_cast<std::int64_t>(lanes_.width());
  const std::int64_t bytes = product_.k * product_.n * static_cast<std::int64_t>(sizeof(float));
  const bool turns = again && bytes >= kTurnsFrom && bytes <= kTurnsTo;
  const unsigned most = kSums / static_cast<unsigned>(chains_) / (turns ? 2 : 1);
  const auto tile_at = [&](std::int64_t column) {
    const std::int64_t left = ceil_div(product_.n - column, width);
    tile(column, static_cast<unsigned>(std::min<std::int64_t>(most, left)));
  };
  const std::int64_t step = most * width, count = ceil_div(product_.n, step);
  const auto forwards = [&] {
    for (std::int64_t t = 0; t < count; ++t) tile_at(t * step);
  };
  const auto backwards = [&] {
    for (std::int64_t t = count; t-- > 0;) tile_at(t * step);
  };
  turns ? in_turns(forwards, backwards) : forwards();
}

/// Writes code that runs `one` and `other` in turn, each time that it is reached.
void RowProduct::in_turns(llvm::function_ref<void()> one, llvm::function_ref<void()> other) {
  llvm::Function* const function = b_.GetInsertBlock()->getParent();
  llvm::BasicBlock& entry = function->getEntryBlock();
  llvm::IRBuilder<> first(&entry, entry.begin());
  llvm::Value* const turn = first.CreateAlloca(first.getInt1Ty());
  first.CreateStore(first.getFalse(), turn);
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function); };
  llvm::BasicBlock *const odd = block("odd"), *const even = block("even"), *const after = block("turned");
  llvm::Value* const now = b_.CreateLoad(b_.getInt1Ty(), turn);
  b_.CreateStore(b_.CreateNot(now), turn);
  b_.CreateCondBr(now, odd, even);
  b_.SetInsertPoint(even);
  one();
  b_.CreateBr(after);
  b_.SetInsertPoint(odd);
  other();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void RowProduct::tile(std::int64_t column, unsigned vectors) {
  Sums all = sums(column, vectors);
  for (std::size_t half = all.size() / 2; half > 0; half /= 2) {
    for (std::size_t s = 0; s < half; ++s) {
      for (unsigned v = 0; v < vectors; ++v) all[s][v] = b_.CreateFAdd(all[s][v], all[s + half][v]);
    }
  }
  for (unsigned v = 0; v < vectors; ++v) {
    const std::int64_t at = column + static_cast<std::int64_t>(v) * lanes_.width();
    llvm::Value* const x = finished(all[0][v], at);
    llvm::Value *const to = element(place_.c, number(at)), *const some = mask(at);
    if (some == nullptr) {
      b_.CreateAlignedStore(x, to, llvm::Align(1));
    } else {
      b_.CreateMaskedStore(x, to, llvm::Align(1), some);
    }
  }
}

/// Returns the chains of a tile after all steps of k.
RowProduct::Sums RowProduct::sums(std::int64_t column, unsigned vectors) {
  llvm::Type* const type = lanes_.vector(Elem::f32);
  const std::int64_t whole = product_.k / chains_ * chains_;
  Sums all(static_cast<std::size_t>(chains_), std::vector<llvm::Value*>(vectors, llvm::Constant::getNullValue(type)));
  if (whole > 0) {
    llvm::Function* const function = b_.GetInsertBlock()->getParent();
    llvm::BasicBlock* const before = b_.GetInsertBlock();
    llvm::BasicBlock *const steps = llvm::BasicBlock::Create(b_.getContext(), "steps", function),
                            *const after = llvm::BasicBlock::Create(b_.getContext(), "summed", function);
    b_.CreateBr(steps);
    b_.SetInsertPoint(steps);
    llvm::PHINode* const i = b_.CreatePHI(b_.getInt64Ty(), 2);
    i->addIncoming(number(0), before);
    std::vector<llvm::PHINode*> carried;
    for (auto& chain : all) {
      for (llvm::Value*& sum : chain) {
        carried.push_back(b_.CreatePHI(type, 2));
        carried.back()->addIncoming(sum, before);
        sum = carried.back();
      }
    }
    for (std::size_t s = 0; s < all.size(); ++s) {
      step(all, s, b_.CreateAdd(i, number(static_cast<std::int64_t>(s))), column);
    }
    std::size_t at = 0;
    for (const auto& chain : all) {
      for (llvm::Value* const sum : chain) carried[at++]->addIncoming(sum, steps);
    }
    llvm::Value* const next = b_.CreateAdd(i, number(chains_));
    i->addIncoming(next, steps);
    b_.CreateCondBr(b_.CreateICmpSLT(next, number(whole)), steps, after);
    b_.SetInsertPoint(after);
  }
  for (std::int64_t i = whole; i < product_.k; ++i) step(all, static_cast<std::size_t>(i - whole), number(i), column);
  return all;
}

/// Adds step i of k to a chain.
void RowProduct::step(Sums& sums, std::size_t chain, llvm::Value* i, std::int64_t column) {
  constexpr std::int64_t kPanel = kernel::kPanelCols;
  llvm::Value* const from = element(place_.a, b_.CreateMul(i, number(product_.a_step)));
  llvm::Value* const x = b_.CreateAlignedLoad(b_.getFloatTy(), from, llvm::Align(1));
  llvm::Value* const factor = b_.CreateVectorSplat(lanes_.width(), x);
  llvm::Value* const row = element(place_.b, b_.CreateMul(i, number(product_.b_row)));
  for (llvm::Value*& sum : sums[chain]) {
    llvm::Value* const b = element(row, number(column / kPanel * product_.b_panel + column % kPanel));
    sum = lanes_.multiply_add(b_, factor, load(b, column), sum);
    column += lanes_.width();
  }
}

llvm::Value* RowProduct::finished(llvm::Value* sum, std::int64_t column) {
  if (place_.bias != nullptr) sum = b_.CreateFAdd(sum, load(element(place_.bias, number(column)), column));
  if (place_.addend != nullptr) sum = b_.CreateFAdd(sum, load(element(place_.addend, number(column)), column));
  return leaky_relu(sum);
}

/// Does the same as kernel::leaky_relu().
llvm::Value* RowProduct::leaky_relu(llvm::Value* x) {
  if (product_.negative_slope == 1) return x;
  llvm::Constant* const zero = llvm::Constant::getNullValue(x->getType());
  if (product_.negative_slope == 0) return b_.CreateSelect(b_.CreateFCmpOLE(x, zero), zero, x);
  llvm::Value* const negative_slope = llvm::ConstantFP::get(x->getType(), llvm::APFloat(product_.negative_slope));
  return b_.CreateSelect(b_.CreateFCmpOLT(x, zero), b_.CreateFMul(x, negative_slope), x);
}

llvm::Value* RowProduct::load(llvm::Value* from, std::int64_t column) {
  llvm::Type* const type = lanes_.vector(Elem::f32);
  llvm::Value* const some = mask(column);
  if (some == nullptr) return b_.CreateAlignedLoad(type, from, llvm::Align(1));
  return b_.CreateMaskedLoad(type, from, llvm::Align(1), some, llvm::Constant::getNullValue(type));
}

/// Returns the mask of the columns from `column` on that exist, or null if all lanes have one.
llvm::Value* RowProduct::mask(std::int64_t column) {
  const std::int64_t left = product_.n - column;
  if (left >= lanes_.width()) return nullptr;
  llvm::SmallVector<llvm::Constant*, 16> lanes;
  for (std::int64_t i = 0; i < lanes_.width(); ++i) lanes.push_back(b_.getInt1(i < left));
  return llvm::ConstantVector::get(lanes);
}

}  // namespace frazil::jit
