#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace frazil {

/// Reads a NumPy .npy file, versions 1 to 3, either byte order, C or Fortran order (converted), of bool, integers, f2,
/// f4, f8, c8, c16; `S` and `U` arrays become string tensors (UTF-8, trailing NULs dropped as in NumPy). Bytes after
/// the array are ignored, as in NumPy. Code::bad_input, naming the file, for malformed files; Code::unsupported for
/// other dtypes. The memory used is bounded by the file's size.
Result<Tensor> read_npy(const std::string& path);

/// As read_npy, from memory; `name` replaces the file name in messages.
Result<Tensor> npy_from_bytes(std::span<const std::byte> bytes, std::string_view name);

/// Writes version 1.0, C order, little-endian. Code::unsupported for types that NumPy lacks. Strings are written as
/// `U`; Code::bad_input for strings that are not UTF-8 or end in NUL, which `U` cannot represent.
Result<std::string> npy_to_bytes(const Tensor& tensor);
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace frazil
