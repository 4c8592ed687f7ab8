#pragma once

#include <string>

#include "base/value/error.h"
#include "code/native/native.h"

namespace frazil::jit {

/// Returns the object file, or the LLVM IR, that the request asks for. Thread-safe: each call has its own context.
/// Fails with Code::unsupported if there is no code generator for it.
Result<std::string> compile(const code::NativeRequest& request);
Result<std::string> compile_plan(const code::NativePlanRequest& request);

}  // namespace frazil::jit
