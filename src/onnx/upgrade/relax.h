#pragma once

#include <string>
#include <vector>

#include "onnx/upgrade/upgrade.h"

namespace frazil::onnx {

/// Rewrites an upgraded node that ONNX does not allow and ONNX Runtime runs. Warns unless only a run shows it:
/// - Concat loses inputs without elements whose other extents contradict those of the rest.
/// - Reductions and Squeeze lose axes that a constant repeats.
/// - Compress reads at most as many elements of its condition as the axis has.
Status relax(Draft& draft, std::vector<std::string>& warnings);

}  // namespace frazil::onnx
