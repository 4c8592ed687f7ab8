#pragma once

#include <cstddef>
#include <cstdint>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

// Short forms of what emitters write at the position of a builder.
namespace frazil::jit {

inline llvm::Value* number(llvm::IRBuilder<>& b, std::int64_t n) { return b.getInt64(static_cast<std::uint64_t>(n)); }
/// Returns the address of element i.
inline llvm::Value* element(llvm::IRBuilder<>& b, llvm::Value* array, llvm::Type* type, std::size_t i) {
  return b.CreateConstInBoundsGEP1_64(type, array, i);
}
inline llvm::Value* at_least(llvm::IRBuilder<>& b, llvm::Value* x, std::int64_t least) {
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, number(b, least));
}
inline llvm::Value* at_most(llvm::IRBuilder<>& b, llvm::Value* x, std::int64_t most) {
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, number(b, most));
}
/// Adds a block to the function that is being written.
inline llvm::BasicBlock* block(llvm::IRBuilder<>& b, const char* name) {
  return llvm::BasicBlock::Create(b.getContext(), name, b.GetInsertBlock()->getParent());
}

}  // namespace frazil::jit
