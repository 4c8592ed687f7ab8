#pragma once

#include "compat/onnxruntime/include/onnxruntime_c_api.h"

namespace frazil::ort {

/// The object that OrtGetApiBase returns.
const OrtApiBase& base();
/// The table that OrtGetApiBase()->GetApi returns for each version, made of functions.def.
const OrtApi& table();

}  // namespace frazil::ort
