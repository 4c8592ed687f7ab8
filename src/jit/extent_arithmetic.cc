#include "jit/extent_arithmetic.h"

#include "jit/emit.h"

namespace frazil::jit {
namespace {

/// Returns a quotient rounded towards minus infinity, or its remainder; 0 for a divisor of 0. Extents are far from the
/// least integer, so that a divisor of -1 cannot overflow.
llvm::Value* quotient(llvm::IRBuilder<>& b, DimProgram::Op op, llvm::Value* x, llvm::Value* y) {
  llvm::Value* const zero = number(b, 0);
  llvm::Value* const none = b.CreateICmpEQ(y, zero);
  llvm::Value* const divisor = b.CreateSelect(none, number(b, 1), y);
  llvm::Value* const bounded = saturated(b, x);
  llvm::Value* const rest = b.CreateSRem(bounded, divisor);
  llvm::Value* const apart = b.CreateICmpNE(b.CreateICmpSLT(rest, zero), b.CreateICmpSLT(divisor, zero));
  llvm::Value* const below = b.CreateAnd(b.CreateICmpNE(rest, zero), apart);
  llvm::Value* const value = op == DimProgram::Op::mod
                                 ? b.CreateSelect(below, b.CreateAdd(rest, divisor), rest)
                                 : b.CreateSub(b.CreateSDiv(bounded, divisor), b.CreateZExt(below, b.getInt64Ty()));
  return b.CreateSelect(none, zero, saturated(b, value));
}

}  // namespace

llvm::Value* saturated(llvm::IRBuilder<>& b, llvm::Value* x) {
  return at_most(b, at_least(b, x, Dim::kMin), Dim::kMax);
}

llvm::Value* extent(llvm::IRBuilder<>& b, DimProgram::Op op, llvm::Value* x, llvm::Value* y) {
  using enum DimProgram::Op;
  const auto checked = [&](llvm::Intrinsic::ID id, llvm::Value* to_largest) {
    llvm::Value* const both = b.CreateBinaryIntrinsic(id, x, y);
    llvm::Value* const limit = b.CreateSelect(to_largest, number(b, Dim::kMax), number(b, Dim::kMin));
    return b.CreateSelect(b.CreateExtractValue(both, 1), limit, saturated(b, b.CreateExtractValue(both, 0)));
  };
  llvm::Value* const zero = number(b, 0);
  switch (op) {
    case add: return checked(llvm::Intrinsic::sadd_with_overflow, b.CreateICmpSGT(y, zero));
    case sub: return checked(llvm::Intrinsic::ssub_with_overflow, b.CreateICmpSLT(y, zero));
    case mul:
      return checked(llvm::Intrinsic::smul_with_overflow,
                     b.CreateICmpEQ(b.CreateICmpSLT(x, zero), b.CreateICmpSLT(y, zero)));
    case min: return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y);
    case max: return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y);
    default: return quotient(b, op, x, y);
  }
}

}  // namespace frazil::jit
