#pragma once

#include <string>

#include "code/native.h"

namespace frazil::exec {

/// The code generator of this build, opened on the first call: libfrazil_jit.so beside the program or the library, or
/// in the folder frazil where libraries are installed. Code::unsupported, saying why, where there is none or it belongs
/// to another build. Thread-safe. The module stays open.
Result<const NativeModule*> native_module();

}  // namespace frazil::exec
