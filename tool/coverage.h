#pragma once

#include <string>
#include <vector>

namespace frazil::tool {

/// Prints which operators of the models are not available. `paths` are model files, and folders that are searched for
/// *.onnx. Returns kDone if none is missing, else kFailed. Throws Code::bad_input if a path does not exist or a folder
/// has no model, and, after all other models are reported, if a model cannot be read.
int report_coverage(const std::vector<std::string>& paths, bool json);

}  // namespace frazil::tool
