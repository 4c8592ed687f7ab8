// Functions of the table that make tensors and read them.
#include <algorithm>
#include <cstring>

#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/memory.h"
#include "compat/onnxruntime/status.h"
#include "compat/onnxruntime/value/element_types.h"
#include "compat/onnxruntime/value/type_info.h"
#include "compat/onnxruntime/value/value.h"

namespace frazil::ort {
namespace {

std::unique_ptr<OrtValue> allocated(OrtAllocator& allocator, api::Dtype dtype, Dims sizes) {
  if (dtype == api::Dtype::string) return std::make_unique<OrtValue>(api::Array(dtype, sizes_of(view(sizes))));
  std::size_t count = 1;
  for (const std::int64_t extent : sizes) count *= static_cast<std::size_t>(extent);
  const std::size_t bytes = border_bytes(dtype, count);
  void* const data = allocate(allocator, bytes);
  std::unique_ptr<OrtValue> value;
  try {
    value = std::make_unique<OrtValue>(dtype, std::move(sizes), data, bytes);
  } catch (...) {
    allocator.Free(&allocator, data);
    throw;
  }
  value->own(allocator);
  return value;
}

/// Returns the element at `location` in row-major order.
std::size_t position(std::span<const std::int64_t> sizes, const std::int64_t* location, std::size_t count) {
  if (count != sizes.size()) fail(ORT_INVALID_ARGUMENT, "TensorAt: {} indices for {} axes", count, sizes.size());
  std::size_t at = 0;
  for (std::size_t axis = 0; axis < count; ++axis) {
    if (location[axis] < 0 || location[axis] >= sizes[axis]) {
      fail(ORT_INVALID_ARGUMENT, "TensorAt: index {} of axis {} is outside of 0 to {}", location[axis], axis,
           sizes[axis] - 1);
    }
    at = at * static_cast<std::size_t>(sizes[axis]) + static_cast<std::size_t>(location[axis]);
  }
  return at;
}

const OrtValue& of_whole_bytes(const OrtValue* value) {
  const OrtValue& checked = tensor(value);
  if (checked.dtype() == api::Dtype::string || packing(checked.dtype()) != 1) {
    fail(ORT_INVALID_ARGUMENT, "the elements of a tensor({}) have no addresses",
         name_of(element_type(checked.dtype())));
  }
  return checked;
}

}  // namespace

OrtStatus* CreateTensorAsOrtValue(OrtAllocator* allocator, const std::int64_t* shape, std::size_t shape_len,
                                  ONNXTensorElementDataType type, OrtValue** out) {
  return guarded([&] {
    require(allocator, "allocator");
    require(out, "out");
    *out = allocated(*allocator, dtype_of(type), checked_dims(shape, shape_len)).release();
  });
}

OrtStatus* CreateTensorWithDataAsOrtValue(const OrtMemoryInfo*, void* p_data, std::size_t p_data_len,
                                          const std::int64_t* shape, std::size_t shape_len,
                                          ONNXTensorElementDataType type, OrtValue** out) {
  return guarded([&] {
    require(out, "out");
    const api::Dtype dtype = dtype_of(type);
    if (dtype == api::Dtype::string) {
      fail(ORT_INVALID_ARGUMENT, "a tensor of strings has memory of its own: use CreateTensorAsOrtValue");
    }
    *out = new OrtValue(dtype, checked_dims(shape, shape_len), p_data, p_data_len);
  });
}

OrtStatus* CreateTensorWithDataAndDeleterAsOrtValue(OrtAllocator* deleter, void* p_data, std::size_t p_data_len,
                                                    const std::int64_t* shape, std::size_t shape_len,
                                                    ONNXTensorElementDataType type, OrtValue** out) {
  return guarded([&] {
    require(deleter, "deleter");
    OrtValue* value = nullptr;
    check(CreateTensorWithDataAsOrtValue(nullptr, p_data, p_data_len, shape, shape_len, type, &value));
    value->own(*deleter);
    *out = value;
  });
}

OrtStatus* IsTensor(const OrtValue* value, int* out) {
  return guarded([&] {
    require(value, "value");
    *out = value->is_tensor() ? 1 : 0;
  });
}
OrtStatus* IsSparseTensor(const OrtValue*, int* out) {
  return guarded([&] { *out = 0; });
}
OrtStatus* HasValue(const OrtValue* value, int* out) {
  return guarded([&] {
    require(value, "value");
    *out = value->is_tensor() || !value->array().empty() ? 1 : 0;
  });
}

OrtStatus* GetTensorMutableData(OrtValue* value, void** out) {
  return guarded([&] { *out = tensor(value).data(); });
}
OrtStatus* GetTensorData(const OrtValue* value, const void** out) {
  return guarded([&] { *out = tensor(value).data(); });
}
OrtStatus* TensorAt(OrtValue* value, const std::int64_t* location_values, std::size_t location_values_count,
                    void** out) {
  return guarded([&] {
    const OrtValue& checked = of_whole_bytes(value);
    const std::size_t at = position(checked.sizes(), location_values, location_values_count);
    *out = static_cast<std::byte*>(checked.data()) + at * api::byte_size(checked.dtype());
  });
}
OrtStatus* GetTensorSizeInBytes(const OrtValue* value, std::size_t* out) {
  return guarded([&] {
    const OrtValue& checked = tensor(value);
    if (checked.dtype() == api::Dtype::string) fail(ORT_INVALID_ARGUMENT, "a tensor of strings has no size in bytes");
    *out = border_bytes(checked.dtype(), checked.count());
  });
}
OrtStatus* GetTensorMemoryInfo(const OrtValue* value, const OrtMemoryInfo** out) {
  return guarded([&] {
    tensor(value);
    *out = &cpu_memory();
  });
}

OrtStatus* GetTensorTypeAndShape(const OrtValue* value, OrtTensorTypeAndShapeInfo** out) {
  return guarded([&] {
    const OrtValue& checked = tensor(value);
    *out = new OrtTensorTypeAndShapeInfo{.type = element_type(checked.dtype()), .dims = dims_of(checked.sizes())};
  });
}
OrtStatus* GetTensorElementTypeAndShapeDataReference(const OrtValue* value, ONNXTensorElementDataType* type,
                                                     const std::int64_t** dims, std::size_t* dims_count) {
  return guarded([&] {
    const OrtValue& checked = tensor(value);
    *type = element_type(checked.dtype());
    *dims = checked.sizes().empty() ? nullptr : checked.sizes().data();
    *dims_count = checked.sizes().size();
  });
}
OrtStatus* GetTypeInfo(const OrtValue* value, OrtTypeInfo** out) {
  return guarded([&] {
    require(value, "value");
    *out = value->is_tensor()
               ? new OrtTypeInfo(tensor_type({.type = element_type(value->dtype()), .dims = dims_of(value->sizes())}))
               : new OrtTypeInfo(type_of(value->array()));
  });
}
OrtStatus* GetValueType(const OrtValue* value, ONNXType* out) {
  return guarded([&] {
    require(value, "value");
    *out = value->is_tensor() ? ONNX_TYPE_TENSOR : type_of(value->array()).kind;
  });
}

OrtStatus* CopyTensors(const OrtEnv*, const OrtValue* const* sources, OrtValue* const* targets, OrtSyncStream*,
                       std::size_t num_tensors) {
  return guarded([&] {
    for (std::size_t i = 0; i < num_tensors; ++i)
      copy_elements(tensor(sources[i]), *targets[i], fmt::format("tensor {}", i));
  });
}

void ReleaseValue(OrtValue* input) {
  if (input != nullptr) input->release();
}

}  // namespace frazil::ort
