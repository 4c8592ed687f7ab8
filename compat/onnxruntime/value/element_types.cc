#include "compat/onnxruntime/value/element_types.h"

#include <algorithm>

#include "compat/onnxruntime/status.h"

namespace frazil::ort {
namespace {

struct Row {
  ONNXTensorElementDataType type;
  api::Dtype dtype;
  const char* name;
  std::size_t packing = 1;
};

constexpr Row kRows[] = {
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, api::Dtype::f32, "float"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, api::Dtype::u8, "uint8"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, api::Dtype::i8, "int8"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, api::Dtype::u16, "uint16"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, api::Dtype::i16, "int16"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, api::Dtype::i32, "int32"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, api::Dtype::i64, "int64"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, api::Dtype::string, "string"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, api::Dtype::boolean, "bool"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, api::Dtype::f16, "float16"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, api::Dtype::f64, "double"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, api::Dtype::u32, "uint32"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, api::Dtype::u64, "uint64"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64, api::Dtype::c64, "complex64"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128, api::Dtype::c128, "complex128"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, api::Dtype::bf16, "bfloat16"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN, api::Dtype::f8e4m3fn, "float8e4m3fn"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ, api::Dtype::f8e4m3fnuz, "float8e4m3fnuz"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2, api::Dtype::f8e5m2, "float8e5m2"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ, api::Dtype::f8e5m2fnuz, "float8e5m2fnuz"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4, api::Dtype::u4, "uint4", 2},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4, api::Dtype::i4, "int4", 2},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1, api::Dtype::f4e2m1, "float4e2m1", 2},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2, api::Dtype::u2, "uint2", 4},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2, api::Dtype::i2, "int2", 4},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0, api::Dtype::f8e8m0, "float8e8m0"},
};

// Rows are in the order of their numbers, from 1.
const Row* row_of(ONNXTensorElementDataType type) {
  const auto index = static_cast<std::size_t>(type) - 1;
  return index < std::size(kRows) ? &kRows[index] : nullptr;
}

const Row& row_of(api::Dtype dtype) { return *std::ranges::find(kRows, dtype, &Row::dtype); }

}  // namespace

ONNXTensorElementDataType element_type(api::Dtype dtype) { return row_of(dtype).type; }

api::Dtype dtype_of(ONNXTensorElementDataType type) {
  const Row* const row = row_of(type);
  if (row == nullptr) fail(ORT_INVALID_ARGUMENT, "{} is not an element type of tensors", static_cast<int>(type));
  return row->dtype;
}

const char* name_of(ONNXTensorElementDataType type) {
  const Row* const row = row_of(type);
  return row == nullptr ? "undefined" : row->name;
}

std::size_t packing(api::Dtype dtype) {
  switch (dtype) {
    case api::Dtype::i4:
    case api::Dtype::u4:
    case api::Dtype::f4e2m1:
    case api::Dtype::i2:
    case api::Dtype::u2: return row_of(dtype).packing;
    default: return 1;
  }
}

std::size_t border_bytes(api::Dtype dtype, std::size_t count) {
  const std::size_t packed = packing(dtype);
  return packed == 1 ? count * api::byte_size(dtype) : (count + packed - 1) / packed;
}

void unpack(api::Dtype dtype, const std::uint8_t* packed, std::size_t count, std::uint8_t* bytes) {
  const std::size_t per_byte = packing(dtype);
  const unsigned bits = 8 / static_cast<unsigned>(per_byte);
  const auto mask = static_cast<std::uint8_t>((1u << bits) - 1);
  const bool is_signed = dtype == api::Dtype::i4 || dtype == api::Dtype::i2;
  const auto sign = static_cast<std::uint8_t>(1u << (bits - 1));
  for (std::size_t i = 0; i < count; ++i) {
    const auto shift = static_cast<unsigned>(i % per_byte) * bits;
    auto value = static_cast<std::uint8_t>((packed[i / per_byte] >> shift) & mask);
    if (is_signed && (value & sign) != 0) value = static_cast<std::uint8_t>(value | ~mask);
    bytes[i] = value;
  }
}

void pack(api::Dtype dtype, const std::uint8_t* bytes, std::size_t count, std::uint8_t* packed) {
  const std::size_t per_byte = packing(dtype);
  const unsigned bits = 8 / static_cast<unsigned>(per_byte);
  const auto mask = static_cast<std::uint8_t>((1u << bits) - 1);
  std::fill_n(packed, (count + per_byte - 1) / per_byte, std::uint8_t{0});
  for (std::size_t i = 0; i < count; ++i) {
    const auto shift = static_cast<unsigned>(i % per_byte) * bits;
    packed[i / per_byte] = static_cast<std::uint8_t>(packed[i / per_byte] | ((bytes[i] & mask) << shift));
  }
}

}  // namespace frazil::ort
