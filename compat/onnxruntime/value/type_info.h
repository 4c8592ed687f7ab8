#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <frazil/model.h>

#include "compat/onnxruntime/include/onnxruntime_c_api.h"
#include "compat/onnxruntime/value/dims.h"

/// The element type and extents of a tensor.
struct OrtTensorTypeAndShapeInfo {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  bool has_shape = true;
  frazil::ort::Dims dims;            ///< -1: an extent that is not known before a run
  std::vector<std::string> symbols;  ///< the texts of unknown extents; as long as `dims`, or empty if all are ""
};

struct OrtTypeInfo;

/// A type holds another one. The pointer is shared because copies of types are immutable.
struct OrtSequenceTypeInfo {
  std::shared_ptr<const OrtTypeInfo> element;
};
struct OrtMapTypeInfo {
  ONNXTensorElementDataType key = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::shared_ptr<const OrtTypeInfo> value;
};
struct OrtOptionalTypeInfo {
  std::shared_ptr<const OrtTypeInfo> contained;
};

/// The type of a value. The member of its kind counts.
struct OrtTypeInfo {
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  OrtTensorTypeAndShapeInfo tensor;
  OrtSequenceTypeInfo sequence;
  OrtMapTypeInfo map;
  OrtOptionalTypeInfo optional;
};

namespace frazil::ort {

OrtTypeInfo type_of(const api::Port& port);
OrtTypeInfo type_of(const api::Array& array);
OrtTypeInfo tensor_type(OrtTensorTypeAndShapeInfo tensor);
/// Returns "tensor(float)", "seq(map(int64,tensor(float)))", ...
std::string text_of(const OrtTypeInfo& type);

}  // namespace frazil::ort
