#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <frazil/array.h>

#include "tool/error.h"

namespace frazil::tool {

using api::Array;

/// Finds the value for "NAME", or for a NumPy slice "NAME[0,1:3,:]" of a tensor. A value with the whole text as its
/// name has precedence. Throws Code::bad_input for an invalid slice.
Array find_shown(std::string_view text, const std::function<Array(std::string_view)>& value);

/// Returns the elements as NumPy prints them, one line per row of the last axis. The middle of large tensors is
/// omitted.
std::string elements_text(const Array& tensor);
/// Returns a histogram of the finite elements as lines, with the counts of NaN and infinities. Throws Code::bad_input
/// for strings.
std::string histogram_text(const Array& tensor);

/// Writes an ONNX tensor file if the name ends in .pb, and otherwise a .npy file.
void save_tensor_file(const std::string& path, const Array& tensor);
/// Reads a file of either format.
Array read_tensor_file(const std::string& path);

}  // namespace frazil::tool
