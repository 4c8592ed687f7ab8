#pragma once

#include <set>

#include "onnx/import/frames.h"
#include "onnx/import/import.h"

namespace frazil::onnx {

/// Defines the inputs of the main graph. Returns the names of the initializers that are defaults of inputs; the others
/// are constants, even if an input has their name.
Result<std::set<std::string_view>> define_inputs(Frame& main, Graph& graph, const Source& source,
                                                 const ImportOptions& options, std::int64_t ir_version);

}  // namespace frazil::onnx
