// Functions of the table that kernels of custom operators call.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "compat/onnxruntime/custom/kernel.h"
#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/memory.h"
#include "compat/onnxruntime/pairs.h"
#include "compat/onnxruntime/status.h"
#include "compat/onnxruntime/value/element_types.h"

namespace frazil::ort {
namespace {

const OrtOpAttr* find_attribute(const OrtNode& node, std::string_view name) {
  const auto found = std::ranges::find_if(node.attributes, [&](const auto& one) { return one->name == name; });
  return found == node.attributes.end() ? nullptr : found->get();
}

template <class T>
const T& attribute(const OrtKernelInfo* info, const char* name) {
  require(info, "info");
  require(name, "name");
  const OrtOpAttr* const found = find_attribute(*info->node, name);
  if (found == nullptr) fail(ORT_FAIL, "node '{}' ({}) has no attribute '{}'", info->node->name, info->node->op, name);
  const T* const value = std::get_if<T>(&found->value);
  if (value == nullptr) {
    fail(ORT_FAIL, "node '{}' ({}), attribute '{}': its kind is another one", info->node->name, info->node->op, name);
  }
  return *value;
}

template <class T>
void copy_list(const std::vector<T>& values, T* out, std::size_t* size) {
  require(size, "size");
  const std::size_t room = std::exchange(*size, values.size());
  if (out == nullptr) return;
  if (room < values.size()) fail(ORT_INVALID_ARGUMENT, "the list has {} elements, the buffer {}", values.size(), room);
  std::ranges::copy(values, out);
}

template <class List>
const auto& element(const List& list, std::size_t index, const char* what) {
  if (index >= list.size()) fail(ORT_INVALID_ARGUMENT, "{} {} of {}", what, index, list.size());
  return list[index];
}

}  // namespace

// ---- the node of a kernel ----

OrtStatus* KernelInfoGetAttribute_float(const OrtKernelInfo* info, const char* name, float* out) {
  return guarded([&] { *out = attribute<float>(info, name); });
}
OrtStatus* KernelInfoGetAttribute_int64(const OrtKernelInfo* info, const char* name, std::int64_t* out) {
  return guarded([&] { *out = attribute<std::int64_t>(info, name); });
}
OrtStatus* KernelInfoGetAttribute_string(const OrtKernelInfo* info, const char* name, char* out, std::size_t* size) {
  return guarded([&] { copy_text(attribute<std::string>(info, name), out, size); });
}
OrtStatus* KernelInfoGetAttributeArray_float(const OrtKernelInfo* info, const char* name, float* out,
                                             std::size_t* size) {
  return guarded([&] { copy_list(attribute<std::vector<float>>(info, name), out, size); });
}
OrtStatus* KernelInfoGetAttributeArray_int64(const OrtKernelInfo* info, const char* name, std::int64_t* out,
                                             std::size_t* size) {
  return guarded([&] { copy_list(attribute<std::vector<std::int64_t>>(info, name), out, size); });
}
OrtStatus* KernelInfoGetAttributeArray_string(const OrtKernelInfo* info, const char* name, OrtAllocator* allocator,
                                              char*** out, std::size_t* size) {
  return guarded([&] {
    require(allocator, "allocator");
    const auto& texts = attribute<std::vector<std::string>>(info, name);
    *size = texts.size();
    *out = texts.empty() ? nullptr : static_cast<char**>(allocate(*allocator, texts.size() * sizeof(char*)));
    std::ranges::transform(texts, *out, [&](const std::string& text) { return allocate_text(*allocator, text); });
  });
}
OrtStatus* KernelInfoGetAttribute_tensor(const OrtKernelInfo* info, const char* name, OrtAllocator*, OrtValue** out) {
  return guarded([&] { *out = value_of(attribute<ValueHandle>(info, name).get()->operand()).release(); });
}

OrtStatus* KernelInfo_GetInputCount(const OrtKernelInfo* info, std::size_t* out) {
  return guarded([&] { *out = info->node->inputs.size(); });
}
OrtStatus* KernelInfo_GetOutputCount(const OrtKernelInfo* info, std::size_t* out) {
  return guarded([&] { *out = info->node->outputs.size(); });
}
OrtStatus* KernelInfo_GetInputName(const OrtKernelInfo* info, std::size_t index, char* out, std::size_t* size) {
  return guarded([&] { copy_text(element(info->node->inputs, index, "input"), out, size); });
}
OrtStatus* KernelInfo_GetOutputName(const OrtKernelInfo* info, std::size_t index, char* out, std::size_t* size) {
  return guarded([&] { copy_text(element(info->node->outputs, index, "output"), out, size); });
}
OrtStatus* KernelInfo_GetInputTypeInfo(const OrtKernelInfo* info, std::size_t index, OrtTypeInfo** type_info) {
  return guarded([&] { *type_info = new OrtTypeInfo(element(info->inputs, index, "input")); });
}
OrtStatus* KernelInfo_GetOutputTypeInfo(const OrtKernelInfo* info, std::size_t index, OrtTypeInfo** type_info) {
  return guarded([&] { *type_info = new OrtTypeInfo(element(info->outputs, index, "output")); });
}
OrtStatus* KernelInfoGetConstantInput_tensor(const OrtKernelInfo* info, std::size_t index, int* is_constant,
                                             const OrtValue** out) {
  return guarded([&] {
    *out = element(info->constants, index, "input").get();
    *is_constant = *out != nullptr ? 1 : 0;
  });
}
OrtStatus* KernelInfo_GetNodeName(const OrtKernelInfo* info, char* out, std::size_t* size) {
  return guarded([&] { copy_text(info->node->name, out, size); });
}
OrtStatus* KernelInfo_GetOperatorDomain(const OrtKernelInfo* info, char* out, std::size_t* size) {
  return guarded([&] { copy_text(info->node->domain, out, size); });
}
OrtStatus* KernelInfo_GetOperatorType(const OrtKernelInfo* info, char* out, std::size_t* size) {
  return guarded([&] { copy_text(info->node->op, out, size); });
}
OrtStatus* KernelInfo_GetOperatorSinceVersion(const OrtKernelInfo*, int* out) {
  return guarded([&] { *out = 1; });
}
OrtStatus* KernelInfo_GetConfigEntries(const OrtKernelInfo* info, OrtKeyValuePairs** out) {
  return guarded([&] {
    *out = new OrtKeyValuePairs{.entries = info->config};
    (*out)->update();
  });
}
OrtStatus* KernelInfo_GetLogger(const OrtKernelInfo* info, const OrtLogger** logger) {
  return guarded([&] { *logger = &info->logger; });
}
OrtStatus* KernelInfoGetAllocator(const OrtKernelInfo*, OrtMemType, OrtAllocator** out) {
  return guarded([&] { *out = &default_allocator(); });
}
OrtStatus* CopyKernelInfo(const OrtKernelInfo* info, OrtKernelInfo** info_copy) {
  return guarded([&] { *info_copy = new OrtKernelInfo(*info); });
}
void ReleaseKernelInfo(OrtKernelInfo* input) { delete input; }

// ---- one call ----

OrtStatus* KernelContext_GetInputCount(const OrtKernelContext* context, std::size_t* out) {
  return guarded([&] { *out = context->inputs.size(); });
}
OrtStatus* KernelContext_GetOutputCount(const OrtKernelContext* context, std::size_t* out) {
  return guarded([&] { *out = context->outputs.size(); });
}
OrtStatus* KernelContext_GetInput(const OrtKernelContext* context, std::size_t index, const OrtValue** out) {
  return guarded([&] { *out = element(context->inputs, index, "input").get(); });
}
OrtStatus* KernelContext_GetOutput(OrtKernelContext* context, std::size_t index, const std::int64_t* dim_values,
                                   std::size_t dim_count, OrtValue** out) {
  return guarded([&] {
    element(context->outputs, index, "output");
    const api::Dtype dtype = dtype_of(element(context->info->outputs, index, "output").tensor.type);
    auto& value = context->outputs[index];
    value = std::make_unique<OrtValue>(api::Array(dtype, sizes_of(view(checked_dims(dim_values, dim_count)))));
    *out = value.get();
  });
}
OrtStatus* KernelContext_GetLogger(const OrtKernelContext* context, const OrtLogger** logger) {
  return guarded([&] { *logger = &context->info->logger; });
}
OrtStatus* KernelContext_GetAllocator(const OrtKernelContext*, const OrtMemoryInfo*, OrtAllocator** out) {
  return guarded([&] { *out = &default_allocator(); });
}
OrtStatus* KernelContext_GetScratchBuffer(const OrtKernelContext* context, const OrtMemoryInfo*,
                                          std::size_t count_or_bytes, void** out) {
  return guarded([&] {
    auto& scratch = const_cast<OrtKernelContext*>(context)->scratch;  // the call owns the buffer
    scratch.emplace_back(allocate(default_allocator(), count_or_bytes), &std::free);
    *out = scratch.back().get();
  });
}
OrtStatus* KernelContext_ParallelFor(const OrtKernelContext*, void (*fn)(void*, std::size_t), std::size_t total,
                                     std::size_t, void* usr_data) {
  return guarded([&] {
    for (std::size_t i = 0; i < total; ++i) fn(usr_data, i);
  });
}
OrtStatus* KernelContext_GetSyncStream(const OrtKernelContext*, OrtSyncStream** out) {
  return guarded([&] { *out = nullptr; });
}
OrtStatus* KernelContext_GetPreallocatedOutput(const OrtKernelContext*, std::size_t, OrtValue** out) {
  return guarded([&] { *out = nullptr; });
}

// ---- shapes ----

OrtStatus* ShapeInferContext_GetInputCount(const OrtShapeInferContext* context, std::size_t* out) {
  return guarded([&] { *out = context->inputs.size(); });
}
OrtStatus* ShapeInferContext_GetInputTypeShape(const OrtShapeInferContext* context, std::size_t index,
                                               OrtTensorTypeAndShapeInfo** info) {
  return guarded([&] {
    // The context keeps the object: programs do not release it.
    *info = const_cast<OrtTensorTypeAndShapeInfo*>(&element(context->inputs, index, "input"));
  });
}
OrtStatus* ShapeInferContext_GetAttribute(const OrtShapeInferContext* context, const char* attr_name,
                                          const OrtOpAttr** attr) {
  return guarded([&] {
    require(attr_name, "attr_name");
    *attr = find_attribute(*context->node, attr_name);
    if (*attr == nullptr) fail(ORT_INVALID_ARGUMENT, "node '{}' has no attribute '{}'", context->node->name, attr_name);
  });
}
OrtStatus* ShapeInferContext_SetOutputTypeShape(const OrtShapeInferContext* context, std::size_t index,
                                                const OrtTensorTypeAndShapeInfo* info) {
  return guarded([&] {
    require(info, "info");
    element(context->outputs, index, "output");
    const_cast<OrtShapeInferContext*>(context)->outputs[index] = *info;  // the interface has it const
  });
}

}  // namespace frazil::ort
