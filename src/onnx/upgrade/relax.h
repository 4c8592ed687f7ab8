#pragma once

#include <string>
#include <vector>

#include "onnx/upgrade/upgrade.h"

namespace frazil::onnx {

// Rewrite nodes that ONNX does not allow and ONNX Runtime runs, and those that ONNX leaves open. Warn unless only a run
// shows it.

/// Rewrites a node of the file, before upgrade():
/// - Constant loses inputs, and all attributes but the first that is a value.
/// - An empty `auto_pad` is removed.
/// - Inputs that must be lists, but that no kernel of ONNX Runtime checks, are flattened: Compress (condition),
///   GroupNormalization (scale, bias), SplitToSequence (split).
Status relax_form(Draft& draft, std::vector<std::string>& warnings);

/// Rewrites an upgraded node:
/// - Concat loses inputs without elements whose other extents contradict those of the rest.
/// - Reductions and Squeeze lose axes that a constant repeats. Reductions of a scalar lose all axes. Squeeze treats
///   axes without elements as absent.
/// - Compress reads at most as many elements of its condition as the axis has.
/// - LayerNormalization loses attributes that it does not have.
/// - Split ignores a `num_outputs` that is not the number of its outputs.
/// - Cast of floats to integers of at most 16 bits, and to u32, keeps the low bits of a larger integer type.
Status relax(Draft& draft, std::vector<std::string>& warnings);

}  // namespace frazil::onnx
