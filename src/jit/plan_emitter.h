#pragma once

#include "code/native/native_plan.h"
#include "jit/lanes.h"

namespace frazil::jit {

/// Writes the body of `function`, a NativeSteps that runs the steps of a plan: a block for each step, with real
/// branches between them.
void emit_plan(Lanes& lanes, llvm::IRBuilder<>& builder, const code::NativePlan& native, llvm::Function& function);

}  // namespace frazil::jit
