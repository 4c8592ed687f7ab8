#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <frazil/array.h>

#include "compat/onnxruntime/include/onnxruntime_c_api.h"

namespace frazil::ort {

/// Returns the type's number at the border.
ONNXTensorElementDataType element_type(api::Dtype dtype);
/// Throws ORT_INVALID_ARGUMENT for a number that no type has.
api::Dtype dtype_of(ONNXTensorElementDataType type);
/// Returns "float", "int64", ... as in "tensor(float)".
const char* name_of(ONNXTensorElementDataType type);
/// Returns how many elements share a byte at the border: 2 for int4, 4 for int2, 1 for types of whole bytes.
std::size_t packing(api::Dtype dtype);
/// Returns the bytes of `count` elements at the border.
std::size_t border_bytes(api::Dtype dtype, std::size_t count);
/// Spreads packed elements to one per byte, and the opposite. The first element is in the low bits. Signed elements are
/// extended.
void unpack(api::Dtype dtype, const std::uint8_t* packed, std::size_t count, std::uint8_t* bytes);
void pack(api::Dtype dtype, const std::uint8_t* bytes, std::size_t count, std::uint8_t* packed);

}  // namespace frazil::ort
