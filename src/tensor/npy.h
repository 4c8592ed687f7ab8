#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace frazil {

/// Reads a NumPy .npy file of version 1 to 3, in either byte order, in C or Fortran order (converted). Reads bool,
/// integers, f2, f4, f8, c8 and c16. `S` and `U` arrays become string tensors (UTF-8, trailing NULs dropped as in
/// NumPy). Bytes after the array are ignored, as in NumPy. Returns Code::bad_input, naming the file, for malformed
/// files, and Code::unsupported for other dtypes. The memory used is bounded by the file's size.
Result<Tensor> read_npy(const std::string& path);

/// Same as read_npy(), from memory. `name` replaces the file name in messages.
Result<Tensor> npy_from_bytes(std::span<const std::byte> bytes, std::string_view name);

/// Encodes version 1.0, in C order, little-endian. Returns Code::unsupported for types that NumPy lacks. Strings are
/// written as `U`. Returns Code::bad_input for strings that `U` cannot represent: those that are not UTF-8 or end in
/// NUL.
Result<std::string> npy_to_bytes(const Tensor& tensor);
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace frazil
