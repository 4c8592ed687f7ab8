#pragma once

#include <string>

#include "base/value/error.h"
#include "onnx/import/import.h"

namespace frazil::api {

/// The graph in a file: an ONNX model, or a package that frazil compile made. Errors as import_onnx() and
/// exec::open_package() have them.
Result<Graph> load_file(const std::string& path, const ImportOptions& options);

}  // namespace frazil::api
