#pragma once

#include <functional>
#include <span>
#include <string>

#include <frazil/error.h>

#include "compat/onnxruntime/include/onnxruntime_c_api.h"

namespace frazil::ort {

/// Returns the code of ONNX Runtime for an error of a load, which programs act on. `bytes` returns the content of the
/// model's file.
OrtErrorCode load_code(const api::Error& error, const std::function<std::string()>& bytes);

}  // namespace frazil::ort
