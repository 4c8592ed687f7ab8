#include <llvm/Config/llvm-config.h>

#include "code/native/native.h"
#include "code_version.h"
#include "jit/compiler.h"

/// The symbol that exec/native/backend.h looks up in this module.
extern "C" [[gnu::visibility("default")]] const frazil::code::NativeModule FRAZIL_NATIVE_MODULE;
const frazil::code::NativeModule FRAZIL_NATIVE_MODULE{.version = "LLVM " LLVM_VERSION_STRING,
                                                      .compile = &frazil::jit::compile,
                                                      .compile_plan = &frazil::jit::compile_plan};
