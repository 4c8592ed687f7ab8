#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/value/error.h"
#include "tensor/datum.h"

namespace frazil::tool {

/// "NAME", or "NAME[0,1:3,:]" for a part of a tensor as in NumPy; negative numbers count from the end. A value whose
/// own name is the whole text comes first. Code::bad_input for a part that does not fit.
Result<Datum> find_shown(std::string_view text, const std::function<Result<Datum>(std::string_view)>& value);

/// The elements, a line for each of the last axis, as NumPy prints them; large tensors without their middle.
std::string elements_text(const Tensor& tensor);
/// A histogram of the finite elements in lines, with the counts of NaN and infinite ones. Code::bad_input for strings.
Result<std::string> histogram_text(const Tensor& tensor);

/// Writes a file as NumPy does; as ONNX does where its name ends in .pb.
Status save_tensor_file(const std::string& path, const Tensor& tensor);
/// Reads such a file.
Result<Tensor> read_tensor_file(const std::string& path);

}  // namespace frazil::tool
