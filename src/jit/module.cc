#include <llvm/Config/llvm-config.h>

#include "code/native.h"
#include "jit/compiler.h"

/// What exec/backend.h looks up in this module.
extern "C" [[gnu::visibility("default")]] const frazil::NativeModule frazil_native_module;
const frazil::NativeModule frazil_native_module{.abi = frazil::kNativeAbi,
                                                .version = "LLVM " LLVM_VERSION_STRING,
                                                .compile = &frazil::jit::compile,
                                                .compile_plan = &frazil::jit::compile_plan};
