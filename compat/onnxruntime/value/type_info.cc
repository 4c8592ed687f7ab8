#include "compat/onnxruntime/value/type_info.h"

#include <algorithm>
#include <limits>
#include <ranges>
#include <utility>

#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/status.h"
#include "compat/onnxruntime/value/element_types.h"

namespace frazil::ort {
namespace {

using Shared = std::shared_ptr<const OrtTypeInfo>;

Shared shared(OrtTypeInfo type) { return std::make_shared<const OrtTypeInfo>(std::move(type)); }

/// The text of an extent as the file has it; without a shape in the file, as Frazil infers it.
std::string symbol_of(const api::Port& port, std::size_t axis) {
  if (port.declared && axis < port.declared->size()) return (*port.declared)[axis];
  const std::string& inferred = port.dims[axis];
  return inferred == "?" ? "" : inferred;
}

OrtTensorTypeAndShapeInfo tensor_of(const api::Port& port) {
  OrtTensorTypeAndShapeInfo tensor{.type = element_type(port.dtype), .has_shape = port.ranked};
  if (!port.ranked) return tensor;
  tensor.dims = dims_of(port.extents);
  for (std::size_t axis = 0; axis < port.extents.size(); ++axis) {
    tensor.symbols.push_back(port.extents[axis] >= 0 ? "" : symbol_of(port, axis));
  }
  return tensor;
}

OrtTypeInfo type_without_optional(const api::Port& port) {
  switch (port.kind) {
    case api::Array::Kind::tensor: return tensor_type(tensor_of(port));
    case api::Array::Kind::sequence: {
      OrtTypeInfo type{.kind = ONNX_TYPE_SEQUENCE};
      if (port.item != nullptr) type.sequence.element = shared(type_of(*port.item));
      return type;
    }
    case api::Array::Kind::map: {
      OrtTypeInfo type{.kind = ONNX_TYPE_MAP};
      type.map.key = element_type(port.dtype);
      if (port.item != nullptr) type.map.value = shared(type_of(*port.item));
      return type;
    }
    case api::Array::Kind::none: break;
  }
  return {};
}

OrtTypeInfo map_type(const api::Array& array) {
  OrtTypeInfo type{.kind = ONNX_TYPE_MAP};
  const auto entries = array.entries();
  if (entries.empty()) return type;
  type.map.key = element_type(entries.front().first.dtype());
  OrtTypeInfo value = type_of(entries.front().second);
  value.tensor.dims.clear();
  type.map.value = shared(std::move(value));
  return type;
}

OrtTypeInfo sequence_type(const api::Array& array) {
  OrtTypeInfo type{.kind = ONNX_TYPE_SEQUENCE};
  const auto items = array.items();
  type.sequence.element = shared(items.empty() ? tensor_type({.has_shape = false}) : type_of(items.front()));
  return type;
}

template <class Part>
void cast(const OrtTypeInfo* type, ONNXType kind, const Part& part, const Part** out) {
  *out = type->kind == kind ? &part : nullptr;
}

OrtTypeInfo* copy_of(const Shared& type) {
  if (type == nullptr) fail(ORT_FAIL, "the type of the element is not known");
  return new OrtTypeInfo(*type);
}

}  // namespace

OrtTypeInfo tensor_type(OrtTensorTypeAndShapeInfo tensor) {
  return {.kind = ONNX_TYPE_TENSOR, .tensor = std::move(tensor)};
}

OrtTypeInfo type_of(const api::Port& port) {
  OrtTypeInfo type = type_without_optional(port);
  if (!port.optional || port.has_default) return type;
  OrtTypeInfo optional{.kind = ONNX_TYPE_OPTIONAL};
  optional.optional.contained = shared(std::move(type));
  return optional;
}

OrtTypeInfo type_of(const api::Array& array) {
  switch (array.kind()) {
    case api::Array::Kind::tensor:
      return tensor_type({.type = element_type(array.dtype()), .dims = dims_of(array.sizes())});
    case api::Array::Kind::sequence: return sequence_type(array);
    case api::Array::Kind::map: return map_type(array);
    case api::Array::Kind::none: break;
  }
  return {};
}

std::string text_of(const OrtTypeInfo& type) {
  const auto inner = [](const Shared& part) { return part == nullptr ? std::string("?") : text_of(*part); };
  switch (type.kind) {
    case ONNX_TYPE_TENSOR: return fmt::format("tensor({})", name_of(type.tensor.type));
    case ONNX_TYPE_SEQUENCE: return fmt::format("seq({})", inner(type.sequence.element));
    case ONNX_TYPE_MAP: return fmt::format("map({},{})", name_of(type.map.key), inner(type.map.value));
    case ONNX_TYPE_OPTIONAL: return fmt::format("optional({})", inner(type.optional.contained));
    default: return "unknown";
  }
}

// ---- types ----

OrtStatus* GetOnnxTypeFromTypeInfo(const OrtTypeInfo* type_info, ONNXType* out) {
  return guarded([&] { *out = type_info->kind; });
}
OrtStatus* CastTypeInfoToTensorInfo(const OrtTypeInfo* type_info, const OrtTensorTypeAndShapeInfo** out) {
  return guarded([&] { cast(type_info, ONNX_TYPE_TENSOR, type_info->tensor, out); });
}
OrtStatus* CastTypeInfoToMapTypeInfo(const OrtTypeInfo* type_info, const OrtMapTypeInfo** out) {
  return guarded([&] { cast(type_info, ONNX_TYPE_MAP, type_info->map, out); });
}
OrtStatus* CastTypeInfoToSequenceTypeInfo(const OrtTypeInfo* type_info, const OrtSequenceTypeInfo** out) {
  return guarded([&] { cast(type_info, ONNX_TYPE_SEQUENCE, type_info->sequence, out); });
}
OrtStatus* CastTypeInfoToOptionalTypeInfo(const OrtTypeInfo* type_info, const OrtOptionalTypeInfo** out) {
  return guarded([&] { cast(type_info, ONNX_TYPE_OPTIONAL, type_info->optional, out); });
}
OrtStatus* GetDenotationFromTypeInfo(const OrtTypeInfo*, const char** const denotation, std::size_t* len) {
  return guarded([&] {
    *denotation = "";
    *len = 0;
  });
}
OrtStatus* GetMapKeyType(const OrtMapTypeInfo* map_type_info, ONNXTensorElementDataType* out) {
  return guarded([&] { *out = map_type_info->key; });
}
OrtStatus* GetMapValueType(const OrtMapTypeInfo* map_type_info, OrtTypeInfo** type_info) {
  return guarded([&] { *type_info = copy_of(map_type_info->value); });
}
OrtStatus* GetSequenceElementType(const OrtSequenceTypeInfo* sequence_type_info, OrtTypeInfo** type_info) {
  return guarded([&] { *type_info = copy_of(sequence_type_info->element); });
}
OrtStatus* GetOptionalContainedTypeInfo(const OrtOptionalTypeInfo* optional_type_info, OrtTypeInfo** out) {
  return guarded([&] { *out = copy_of(optional_type_info->contained); });
}
void ReleaseTypeInfo(OrtTypeInfo* input) { delete input; }
void ReleaseMapTypeInfo(OrtMapTypeInfo*) {}  // parts of a type, which is released as a whole
void ReleaseSequenceTypeInfo(OrtSequenceTypeInfo*) {}

// ---- element type and extents ----

OrtStatus* CreateTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo** out) {
  return guarded([&] { *out = new OrtTensorTypeAndShapeInfo; });
}
OrtStatus* SetTensorElementType(OrtTensorTypeAndShapeInfo* info, ONNXTensorElementDataType type) {
  return guarded([&] { info->type = type; });
}
OrtStatus* SetDimensions(OrtTensorTypeAndShapeInfo* info, const std::int64_t* dim_values, std::size_t dim_count) {
  return guarded([&] {
    info->dims.assign(dim_values, dim_values + dim_count);
    info->symbols.clear();
    info->has_shape = true;
  });
}
OrtStatus* SetSymbolicDimensions(OrtTensorTypeAndShapeInfo* info, const char* dim_params[],
                                 std::size_t dim_params_length) {
  return guarded([&] {
    if (dim_params_length != info->dims.size()) {
      fail(ORT_INVALID_ARGUMENT, "SetSymbolicDimensions: {} texts for {} axes", dim_params_length, info->dims.size());
    }
    info->symbols.clear();
    for (std::size_t i = 0; i < dim_params_length; ++i) {
      info->symbols.emplace_back(dim_params[i] == nullptr ? "" : dim_params[i]);
    }
  });
}
OrtStatus* GetTensorElementType(const OrtTensorTypeAndShapeInfo* info, ONNXTensorElementDataType* out) {
  return guarded([&] { *out = info->type; });
}
OrtStatus* GetDimensionsCount(const OrtTensorTypeAndShapeInfo* info, std::size_t* out) {
  return guarded([&] { *out = info->dims.size(); });
}
OrtStatus* GetDimensions(const OrtTensorTypeAndShapeInfo* info, std::int64_t* dim_values,
                         std::size_t dim_values_length) {
  return guarded([&] { std::ranges::copy(info->dims | std::views::take(dim_values_length), dim_values); });
}
OrtStatus* GetSymbolicDimensions(const OrtTensorTypeAndShapeInfo* info, const char* dim_params[],
                                 std::size_t dim_params_length) {
  return guarded([&] {
    for (std::size_t i = 0; i < dim_params_length; ++i) {
      dim_params[i] = i < info->symbols.size() ? info->symbols[i].c_str() : "";
    }
  });
}
OrtStatus* GetTensorShapeElementCount(const OrtTensorTypeAndShapeInfo* info, std::size_t* out) {
  return guarded([&] {
    std::size_t count = 1;
    for (const std::int64_t extent : info->dims) {
      if (extent < 0) fail(ORT_FAIL, "the number of elements is not known: an extent is open");
      if (__builtin_mul_overflow(count, static_cast<std::size_t>(extent), &count)) {
        fail(ORT_FAIL, "the number of elements is more than {}", std::numeric_limits<std::size_t>::max());
      }
    }
    *out = count;
  });
}
bool TensorTypeAndShape_HasShape(const OrtTensorTypeAndShapeInfo* info) { return info->has_shape; }
void ReleaseTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo* input) { delete input; }

}  // namespace frazil::ort
