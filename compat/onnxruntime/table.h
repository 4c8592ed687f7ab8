#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "compat/onnxruntime/include/onnxruntime_c_api.h"

namespace frazil::ort {

/// What a function of the table does.
enum class Kind {
  works,    ///< what ONNX Runtime does
  hint,     ///< succeeds; keeps the value
  ignored,  ///< succeeds; a hint that has no effect
  refused,  ///< fails with a status that names the function
};

struct Function {
  std::string_view name;
  Kind kind;
  std::string_view note;  ///< of a hint: what becomes of it; of a refusal: the reason
  std::size_t offset;     ///< in OrtApi, in bytes
};

/// The functions in the order of the table.
std::span<const Function> functions();
/// What OrtGetApiBase returns.
const OrtApiBase& base();
/// The table that OrtGetApiBase()->GetApi returns for each version.
const OrtApi& table();

}  // namespace frazil::ort
