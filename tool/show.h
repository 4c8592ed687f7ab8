#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/value/error.h"
#include "tensor/datum.h"

namespace frazil::tool {

/// Finds the value for "NAME", or for a NumPy slice "NAME[0,1:3,:]" of a tensor. A value with the whole text as its
/// name has precedence. Returns Code::bad_input for an invalid slice.
Result<Datum> find_shown(std::string_view text, const std::function<Result<Datum>(std::string_view)>& value);

/// Returns the elements as NumPy prints them, one line per row of the last axis. The middle of large tensors is
/// omitted.
std::string elements_text(const Tensor& tensor);
/// Returns a histogram of the finite elements as lines, with the counts of NaN and infinities. Returns Code::bad_input
/// for strings.
Result<std::string> histogram_text(const Tensor& tensor);

/// Writes an ONNX tensor file if the name ends in .pb, and otherwise a .npy file.
Status save_tensor_file(const std::string& path, const Tensor& tensor);
/// Reads a file of either format.
Result<Tensor> read_tensor_file(const std::string& path);

}  // namespace frazil::tool
