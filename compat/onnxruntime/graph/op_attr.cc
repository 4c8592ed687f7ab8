// Functions of the table for attributes.
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/graph/graph.h"
#include "compat/onnxruntime/status.h"

namespace frazil::ort {
namespace {

OrtOpAttrType attribute_type(const OrtOpAttr& attribute) {
  static constexpr OrtOpAttrType kTypes[] = {ORT_OP_ATTR_INT,   ORT_OP_ATTR_FLOAT,  ORT_OP_ATTR_STRING,
                                             ORT_OP_ATTR_INTS,  ORT_OP_ATTR_FLOATS, ORT_OP_ATTR_STRINGS,
                                             ORT_OP_ATTR_TENSOR};
  return kTypes[attribute.value.index()];
}

decltype(OrtOpAttr::value) value_from(const void* data, std::size_t len, OrtOpAttrType type) {
  const auto list = [&]<class T>(const T* first) { return std::vector<T>(first, first + len); };
  switch (type) {
    case ORT_OP_ATTR_INT: return *static_cast<const std::int64_t*>(data);
    case ORT_OP_ATTR_FLOAT: return *static_cast<const float*>(data);
    case ORT_OP_ATTR_STRING: return std::string(static_cast<const char*>(data), len);
    case ORT_OP_ATTR_INTS: return list(static_cast<const std::int64_t*>(data));
    case ORT_OP_ATTR_FLOATS: return list(static_cast<const float*>(data));
    case ORT_OP_ATTR_STRINGS: {
      const char* const* const texts = static_cast<const char* const*>(data);
      return std::vector<std::string>(texts, texts + len);
    }
    case ORT_OP_ATTR_TENSOR: {
      const auto* const value = static_cast<const OrtValue*>(data);
      return ValueHandle(tensor(value, "data").share());
    }
    default: fail(ORT_INVALID_ARGUMENT, "attributes of type {} cannot be made", static_cast<int>(type));
  }
}

/// Copies `bytes` bytes to `to`, which has `len`. `*out` is the number that is needed.
void put(const void* from, std::size_t bytes, void* to, std::size_t len, std::size_t* out) {
  *out = bytes;
  if (len < bytes) fail(ORT_INVALID_ARGUMENT, "the attribute needs {} bytes, the buffer has {}", bytes, len);
  if (bytes != 0) std::memcpy(to, from, bytes);
}

/// The bytes of an attribute for ReadOpAttr: texts end with a zero.
struct Reader {
  void* data;
  std::size_t len;
  std::size_t* out;

  template <class T>
  void operator()(const T& value) const
    requires std::is_arithmetic_v<T>
  {
    put(&value, sizeof value, data, len, out);
  }
  template <class T>
  void operator()(const std::vector<T>& values) const {
    put(values.data(), values.size() * sizeof(T), data, len, out);
  }
  void operator()(const std::string& text) const { put(text.c_str(), text.size() + 1, data, len, out); }
  void operator()(const std::vector<std::string>& texts) const {
    std::string all;
    for (const std::string& text : texts) all.append(text.c_str(), text.size() + 1);
    put(all.data(), all.size(), data, len, out);
  }
  void operator()(const ValueHandle&) const {
    fail(ORT_INVALID_ARGUMENT, "the attribute is a tensor: use OpAttr_GetTensorAttributeAsOrtValue");
  }
};

}  // namespace

OrtStatus* CreateOpAttr(const char* name, const void* data, int len, OrtOpAttrType type, OrtOpAttr** op_attr) {
  return guarded([&] {
    require(name, "name");
    if (len != 0) require(data, "data");
    if (len < 0) fail(ORT_INVALID_ARGUMENT, "attribute '{}' has {} elements", name, len);
    *op_attr = new OrtOpAttr{name, value_from(data, static_cast<std::size_t>(len), type)};
  });
}
void ReleaseOpAttr(OrtOpAttr* input) { delete input; }

OrtStatus* ReadOpAttr(const OrtOpAttr* op_attr, OrtOpAttrType type, void* data, std::size_t len, std::size_t* out) {
  return guarded([&] {
    require(op_attr, "op_attr");
    if (attribute_type(*op_attr) != type) {
      fail(ORT_INVALID_ARGUMENT, "attribute '{}' is of type {}, not of type {}", op_attr->name,
           static_cast<int>(attribute_type(*op_attr)), static_cast<int>(type));
    }
    std::visit(Reader{data, len, out}, op_attr->value);
  });
}
OrtStatus* OpAttr_GetType(const OrtOpAttr* attribute, OrtOpAttrType* out) {
  return guarded([&] {
    require(attribute, "attribute");
    *out = attribute_type(*attribute);
  });
}
OrtStatus* OpAttr_GetName(const OrtOpAttr* attribute, const char** out) {
  return guarded([&] {
    require(attribute, "attribute");
    *out = attribute->name.c_str();
  });
}
OrtStatus* OpAttr_GetTensorAttributeAsOrtValue(const OrtOpAttr* attribute, OrtValue** out) {
  return guarded([&] {
    require(attribute, "attribute");
    const auto* const value = std::get_if<ValueHandle>(&attribute->value);
    if (value == nullptr) fail(ORT_INVALID_ARGUMENT, "attribute '{}' is not a tensor", attribute->name);
    *out = value->get()->share();
  });
}

}  // namespace frazil::ort
