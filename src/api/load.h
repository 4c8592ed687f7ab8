#pragma once

#include <string>

#include "base/value/error.h"
#include "onnx/import/import.h"

namespace frazil::api {

/// Reads the graph of a file: an ONNX model, or a package made by `frazil compile`. A model may also come from a pipe,
/// of at most LoadLimits::memory_bytes; then it has no external data. Errors are those of import_onnx() and
/// exec::open_package(); their text contains `path`.
Result<Graph> load_file(const std::string& path, const ImportOptions& options);

}  // namespace frazil::api
