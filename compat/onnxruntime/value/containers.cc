// Functions of the table for sequences and maps.
#include <cstring>
#include <utility>
#include <vector>

#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/status.h"
#include "compat/onnxruntime/value/value.h"

namespace frazil::ort {
namespace {

using api::Array;

/// Returns element i of a tensor as a scalar.
Array scalar_at(const Array& tensor, std::size_t i) {
  Array scalar(tensor.dtype(), {});
  if (tensor.dtype() == api::Dtype::string) {
    scalar.mutable_values<std::string>()[0] = tensor.values<std::string>()[i];
    return scalar;
  }
  const std::size_t bytes = api::byte_size(tensor.dtype());
  std::memcpy(scalar.mutable_data(), static_cast<const std::byte*>(tensor.data()) + i * bytes, bytes);
  return scalar;
}

/// Returns scalars of one type as a tensor with one axis. Its type is `otherwise` if the list is empty.
Array joined(const std::vector<Array>& scalars, api::Dtype otherwise) {
  const api::Dtype dtype = scalars.empty() ? otherwise : scalars.front().dtype();
  Array tensor(dtype, {static_cast<std::int64_t>(scalars.size())});
  const std::size_t bytes = api::byte_size(dtype);
  void* const to = tensor.mutable_data();
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    if (scalars[i].dtype() != dtype || scalars[i].count() != 1) {
      fail(ORT_NOT_IMPLEMENTED, "a map whose values are not scalars of one type cannot be read as two tensors");
    }
    if (dtype == api::Dtype::string)
      static_cast<std::string*>(to)[i] = scalars[i].values<std::string>()[0];
    else
      std::memcpy(static_cast<std::byte*>(to) + i * bytes, scalars[i].data(), bytes);
  }
  return tensor;
}

Array map_of(const OrtValue* keys, const OrtValue* values) {
  const Array key_tensor = tensor(keys, "in").operand();
  const Array value_tensor = tensor(values, "in").operand();
  if (key_tensor.count() != value_tensor.count()) {
    fail(ORT_INVALID_ARGUMENT, "a map of {} keys and {} values", key_tensor.count(), value_tensor.count());
  }
  std::vector<std::pair<Array, Array>> entries;
  for (std::size_t i = 0; i < static_cast<std::size_t>(key_tensor.count()); ++i) {
    entries.emplace_back(scalar_at(key_tensor, i), scalar_at(value_tensor, i));
  }
  return Array::map(entries);
}

/// Part 0 of a map is its keys, part 1 its values.
Array part_of_map(const Array& map, int index) {
  if (index != 0 && index != 1)
    fail(ORT_INVALID_ARGUMENT, "a map has the parts 0 (keys) and 1 (values), not {}", index);
  std::vector<Array> parts;
  for (const auto& [key, value] : map.entries()) parts.push_back(index == 0 ? key : value);
  return joined(parts, index == 0 ? api::Dtype::i64 : api::Dtype::f32);
}

Array part_of(const Array& array, int index) {
  if (array.kind() == Array::Kind::map) return part_of_map(array, index);
  if (array.kind() != Array::Kind::sequence) fail(ORT_INVALID_ARGUMENT, "the value is not a sequence or a map");
  std::vector<Array> items = array.items();
  if (index < 0 || static_cast<std::size_t>(index) >= items.size()) {
    fail(ORT_INVALID_ARGUMENT, "element {} of a sequence of {}", index, items.size());
  }
  return std::move(items[static_cast<std::size_t>(index)]);
}

}  // namespace

OrtStatus* GetValue(const OrtValue* value, int index, OrtAllocator*, OrtValue** out) {
  return guarded([&] {
    require(value, "value");
    if (value->is_tensor()) fail(ORT_INVALID_ARGUMENT, "the value is not a sequence or a map");
    *out = value_of(part_of(value->array(), index)).release();
  });
}

OrtStatus* GetValueCount(const OrtValue* value, std::size_t* out) {
  return guarded([&] {
    require(value, "value");
    if (value->is_tensor()) fail(ORT_INVALID_ARGUMENT, "the value is not a sequence or a map");
    *out = value->array().kind() == Array::Kind::map ? 2 : value->array().items().size();
  });
}

OrtStatus* CreateValue(const OrtValue* const* in, std::size_t num_values, ONNXType value_type, OrtValue** out) {
  return guarded([&] {
    if (num_values == 0) fail(ORT_FAIL, "CreateValue: at least one value is needed");
    if (value_type == ONNX_TYPE_MAP) {
      if (num_values != 2) fail(ORT_FAIL, "CreateValue: a map is made of keys and values, not of {}", num_values);
      *out = new OrtValue(map_of(in[0], in[1]));
      return;
    }
    if (value_type != ONNX_TYPE_SEQUENCE) fail(ORT_FAIL, "CreateValue makes sequences and maps only");
    std::vector<Array> items;
    for (std::size_t i = 0; i < num_values; ++i) {
      require(in[i], "in");
      items.push_back(owned(in[i]->operand()));
    }
    *out = new OrtValue(Array::sequence(items));
  });
}

}  // namespace frazil::ort
