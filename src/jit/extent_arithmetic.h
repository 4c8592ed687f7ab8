#pragma once

#include <llvm/IR/IRBuilder.h>

#include "sym/dim.h"

namespace frazil::jit {

// The arithmetic of extents in generated code, as in sym/saturate.h.

/// Returns x limited to the values of a Dim.
llvm::Value* saturated(llvm::IRBuilder<>& b, llvm::Value* x);
/// Returns the result of an instruction on x and y; not for DimProgram::Op::constant.
llvm::Value* extent(llvm::IRBuilder<>& b, DimProgram::Op op, llvm::Value* x, llvm::Value* y);

}  // namespace frazil::jit
