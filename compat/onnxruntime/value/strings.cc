// Functions of the table for tensors of strings.
#include <cstring>
#include <string>

#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/status.h"
#include "compat/onnxruntime/value/value.h"

namespace frazil::ort {
namespace {

void expect_strings(const OrtValue* value) {
  if (tensor(value).dtype() != api::Dtype::string) fail(ORT_INVALID_ARGUMENT, "the value is not a tensor(string)");
}

std::span<const std::string> read(const OrtValue* value) {
  expect_strings(value);
  return value->strings();
}

std::span<std::string> write(OrtValue* value) {
  expect_strings(value);
  return value->strings();
}

template <class Strings>
auto& element(Strings strings, std::size_t index) {
  if (index >= strings.size()) {
    fail(ORT_INVALID_ARGUMENT, "element {} of a tensor with {} elements", index, strings.size());
  }
  return strings[index];
}

}  // namespace

OrtStatus* FillStringTensor(OrtValue* value, const char* const* s, std::size_t s_len) {
  return guarded([&] {
    const std::span<std::string> strings = write(value);
    if (s_len != strings.size()) {
      fail(ORT_INVALID_ARGUMENT, "{} texts for a tensor with {} elements", s_len, strings.size());
    }
    for (std::size_t i = 0; i < s_len; ++i) strings[i] = s[i];
  });
}
OrtStatus* FillStringTensorElement(OrtValue* value, const char* s, std::size_t index) {
  return guarded([&] { element(write(value), index) = s; });
}
OrtStatus* GetResizedStringTensorElementBuffer(OrtValue* value, std::size_t index, std::size_t length_in_bytes,
                                               char** buffer) {
  return guarded([&] {
    std::string& text = element(write(value), index);
    text.resize(length_in_bytes);
    *buffer = text.data();
  });
}
OrtStatus* GetStringTensorDataLength(const OrtValue* value, std::size_t* len) {
  return guarded([&] {
    std::size_t bytes = 0;
    for (const std::string& text : read(value)) bytes += text.size();
    *len = bytes;
  });
}
OrtStatus* GetStringTensorContent(const OrtValue* value, void* s, std::size_t s_len, std::size_t* offsets,
                                  std::size_t offsets_len) {
  return guarded([&] {
    const std::span<const std::string> strings = read(value);
    if (offsets_len < strings.size()) {
      fail(ORT_INVALID_ARGUMENT, "{} offsets for a tensor with {} elements", offsets_len, strings.size());
    }
    std::size_t at = 0;
    for (std::size_t i = 0; i < strings.size(); ++i) {
      if (strings[i].size() > s_len - at) fail(ORT_INVALID_ARGUMENT, "the buffer of {} bytes is too small", s_len);
      offsets[i] = at;
      std::memcpy(static_cast<char*>(s) + at, strings[i].data(), strings[i].size());
      at += strings[i].size();
    }
  });
}
OrtStatus* GetStringTensorElementLength(const OrtValue* value, std::size_t index, std::size_t* out) {
  return guarded([&] { *out = element(read(value), index).size(); });
}
OrtStatus* GetStringTensorElement(const OrtValue* value, std::size_t s_len, std::size_t index, void* s) {
  return guarded([&] {
    const std::string& text = element(read(value), index);
    if (s_len < text.size()) fail(ORT_INVALID_ARGUMENT, "the text has {} bytes, the buffer {}", text.size(), s_len);
    std::memcpy(s, text.data(), text.size());
  });
}

}  // namespace frazil::ort
