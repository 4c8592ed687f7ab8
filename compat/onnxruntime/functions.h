#pragma once

#include <type_traits>

#include "compat/onnxruntime/include/onnxruntime_c_api.h"

namespace frazil::ort {

// The functions of the table that are not generated from functions.def.
#define WORKS(NAME) std::remove_pointer_t<decltype(OrtApi::NAME)> NAME;
#define HINT(NAME, WHAT) WORKS(NAME)
#define IGNORED(NAME, WHY)
#define REFUSED(NAME, CODE, REASON)
#include "compat/onnxruntime/functions.def"
#undef WORKS
#undef HINT
#undef IGNORED
#undef REFUSED

}  // namespace frazil::ort
