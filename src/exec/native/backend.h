#pragma once

#include <string>

#include "code/native/native.h"

namespace frazil::exec {

/// Opens the code generator of this build, libfrazil_jit.so, on the first call. If FRAZIL_CODE_GENERATOR is set, opens
/// only that file. Otherwise looks beside the program or the library, in the folder of installed libraries, and where
/// the dynamic linker looks. Returns Code::unsupported with the reason if there is none or it belongs to another build.
/// Thread-safe. The module stays open.
Result<const code::NativeModule*> native_module();

/// Checks for the code generator as native_module() does, but does not open a file that exists. Logs nothing.
Status has_native_module();

/// Logs a warning that tier auto generates no code, with the reason. Later calls of the process do nothing.
/// Thread-safe.
void warn_of_missing_module(const Fault& reason);
/// Says that the caller reports the missing code generator itself: warn_of_missing_module() does nothing from now on.
/// Thread-safe.
void skip_warning_of_missing_module();

/// Returns "LLVM 19.1.7, /usr/lib/frazil/libfrazil_jit.so", or "none: " and the reason.
std::string describe_native_module();

/// Returns the file of the open code generator; empty if none is open.
std::string native_module_file();

/// Opens the code generator as native_module() does, and returns its version, "LLVM 19.1.7". Logs nothing.
Result<std::string> native_module_version();

}  // namespace frazil::exec
