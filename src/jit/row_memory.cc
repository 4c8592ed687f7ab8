#include "jit/row_memory.h"

#include <llvm/IR/Constants.h>

namespace frazil::jit {

llvm::Value* RowMemory::load_single(std::uint32_t k) {
  const Elem stored = schedule_.stored_elem(k);
  llvm::Value* const x = b_.CreateAlignedLoad(lanes_.scalar(stored), place_.at[k], llvm::Align(1));
  return lanes_.converted(b_, stored, compute_elem(stored), x);
}

void RowMemory::store_single(std::uint32_t k, Elem from, llvm::Value* x) {
  b_.CreateAlignedStore(lanes_.converted(b_, from, schedule_.stored_elem(k), x), place_.at[k], llvm::Align(1));
}

llvm::Value* RowMemory::load(std::uint32_t k, llvm::Value* first, llvm::Value* mask) {
  const Elem stored = schedule_.stored_elem(k);
  llvm::Type* const type = lanes_.vector(stored);
  llvm::Value* const x = schedule_.step(k) == code::InnerStep::strided
                             ? b_.CreateMaskedGather(type, lane_pointers(k, first), llvm::Align(1), mask,
                                                     llvm::Constant::getNullValue(type))
                             : load_dense(place_.at[k], stored, first, mask);
  return lanes_.converted(b_, stored, compute_elem(stored), x);
}

void RowMemory::store(std::uint32_t k, llvm::Value* first, Elem from, llvm::Value* x, llvm::Value* mask) {
  const Elem stored = schedule_.stored_elem(k);
  llvm::Value* const converted = lanes_.converted(b_, from, stored, x);
  if (schedule_.step(k) == code::InnerStep::strided) {
    b_.CreateMaskedScatter(converted, lane_pointers(k, first), llvm::Align(1), mask);
  } else {
    store_dense(place_.at[k], stored, first, converted, mask);
  }
}

llvm::Value* RowMemory::row(std::uint32_t i) {
  return schedule_.is_in_place(i) ? place_.at[schedule_.ins(i).scalar.operand] : buffer(i);
}

llvm::Value* RowMemory::load_row(std::uint32_t i, llvm::Value* first, llvm::Value* mask) {
  return load_dense(row(i), schedule_.elem(i), first, mask);
}

void RowMemory::keep(std::uint32_t i, llvm::Value* first, llvm::Value* x, llvm::Value* mask) {
  store_dense(buffer(i), schedule_.elem(i), first, x, mask);
}

llvm::Value* RowMemory::buffer(std::uint32_t i) {
  const std::uint32_t number = schedule_.code().body[i].buffer;
  return b_.CreateGEP(b_.getInt8Ty(), place_.scratch, b_.CreateMul(place_.stride, b_.getInt64(number)));
}

llvm::Value* RowMemory::lane_pointers(std::uint32_t k, llvm::Value* first) {
  llvm::SmallVector<llvm::Constant*, 16> numbers;
  for (unsigned i = 0; i < lanes_.width(); ++i) numbers.push_back(b_.getInt64(i));
  const auto splat = [&](llvm::Value* x) { return b_.CreateVectorSplat(lanes_.width(), x); };
  llvm::Value* const indices = b_.CreateAdd(splat(first), llvm::ConstantVector::get(numbers));
  return b_.CreateGEP(b_.getInt8Ty(), place_.at[k], b_.CreateMul(indices, splat(place_.steps[k])));
}

llvm::Value* RowMemory::load_dense(llvm::Value* base, Elem elem, llvm::Value* first, llvm::Value* mask) {
  llvm::Type* const type = lanes_.vector(elem);
  llvm::Value* const from = b_.CreateGEP(lanes_.scalar(elem), base, first);
  if (mask == nullptr) return b_.CreateAlignedLoad(type, from, llvm::Align(1));
  return b_.CreateMaskedLoad(type, from, llvm::Align(1), mask, llvm::Constant::getNullValue(type));
}

void RowMemory::store_dense(llvm::Value* base, Elem elem, llvm::Value* first, llvm::Value* x, llvm::Value* mask) {
  llvm::Value* const to = b_.CreateGEP(lanes_.scalar(elem), base, first);
  if (mask == nullptr) {
    b_.CreateAlignedStore(x, to, llvm::Align(1));
  } else {
    b_.CreateMaskedStore(x, to, llvm::Align(1), mask);
  }
}

}  // namespace frazil::jit
