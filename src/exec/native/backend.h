#pragma once

#include <string>

#include "code/native/native.h"

namespace frazil::exec {

/// The code generator of this build, opened on the first call: libfrazil_jit.so, the file that FRAZIL_CODE_GENERATOR
/// names; else beside the program or the library, in the folder of installed libraries, or where the dynamic linker
/// looks. Code::unsupported, saying why, if there is none or it belongs to another build. The first such call of a
/// build that has a code generator logs a warning. Thread-safe. The module stays open.
Result<const code::NativeModule*> native_module();

/// As native_module(), without opening a file that is there.
Status has_native_module();

/// "LLVM 19.1.7, /usr/lib/frazil/libfrazil_jit.so", or "none: " and why.
std::string describe_native_module();

}  // namespace frazil::exec
