#pragma once

#include <string>

#include "code/native/native.h"

namespace frazil::exec {

/// Opens the code generator of this build, libfrazil_jit.so, on the first call. If FRAZIL_CODE_GENERATOR is set, opens
/// only that file. Otherwise looks beside the program or the library, in the folder of installed libraries, and where
/// the dynamic linker looks. Returns Code::unsupported with the reason if there is none or it belongs to another build.
/// The first such call of a build that has a code generator logs a warning, unless a function below has reported the
/// reason. Thread-safe. The module stays open.
Result<const code::NativeModule*> native_module();

/// Checks for the code generator as native_module() does, but does not open a file that exists. Logs nothing.
Status has_native_module();

/// Returns "LLVM 19.1.7, /usr/lib/frazil/libfrazil_jit.so", or "none: " and the reason. Logs nothing.
std::string describe_native_module();

/// Opens the code generator as native_module() does, and returns its version, "LLVM 19.1.7". Logs nothing.
Result<std::string> native_module_version();

}  // namespace frazil::exec
