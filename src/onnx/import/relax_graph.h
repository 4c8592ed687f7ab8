#pragma once

#include <string>
#include <vector>

#include "onnx/read/wire.h"

namespace frazil::onnx {

// Change graphs that ONNX Runtime accepts although ONNX does not. Each change adds a warning.

/// Removes inputs without a name.
Status relax_inputs(GraphParts& graph, std::vector<std::string>& warnings);
/// Removes initializers without a name, and of those with one name all but the last.
Status relax_initializers(GraphParts& graph, std::vector<std::string>& warnings);

}  // namespace frazil::onnx
