#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <frazil/frazil.h>
#include <gtest/gtest.h>

#include "compat/onnxruntime/include/onnxruntime_c_api.h"

/// The table of the library under test.
inline const OrtApi& ort() { return *OrtGetApiBase()->GetApi(ORT_API_VERSION); }

/// Expects success.
inline void ok(OrtStatus* status, const std::string& what = {}) {
  if (status == nullptr) return;
  ADD_FAILURE() << what << ": " << ort().GetErrorMessage(status);
  ort().ReleaseStatus(status);
}

/// The code and the text of an error. Success is ORT_OK and "".
struct Refusal {
  OrtErrorCode code = ORT_OK;
  std::string text;
};
inline Refusal refusal(OrtStatus* status) {
  if (status == nullptr) return {};
  Refusal result{ort().GetErrorCode(status), ort().GetErrorMessage(status)};
  ort().ReleaseStatus(status);
  return result;
}

/// Owns a handle.
template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

inline Owned<OrtValue> owned(OrtValue* value) { return {value, ort().ReleaseValue}; }

inline OrtEnv* env() {
  static OrtEnv* const made = [] {
    OrtEnv* result = nullptr;
    ok(ort().CreateEnv(ORT_LOGGING_LEVEL_WARNING, "test", &result));
    return result;
  }();
  return made;
}

inline Owned<OrtSessionOptions> session_options() {
  OrtSessionOptions* options = nullptr;
  ok(ort().CreateSessionOptions(&options));
  return {options, ort().ReleaseSessionOptions};
}

inline Owned<OrtSession> session_of(const std::string& bytes, const OrtSessionOptions* options = nullptr) {
  OrtSession* session = nullptr;
  ok(ort().CreateSessionFromArray(env(), bytes.data(), bytes.size(), options, &session), "load");
  return {session, ort().ReleaseSession};
}

/// The bytes of a model of Frazil as an ONNX file.
inline std::string bytes_of(const frazil::Model& model) {
  const std::string path = testing::TempDir() + "frazil_compat_" + std::to_string(::getpid()) + ".onnx";
  model.save(path);
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  std::string bytes(std::filesystem::file_size(path), '\0');
  EXPECT_EQ(std::fread(bytes.data(), 1, bytes.size(), file), bytes.size());
  std::fclose(file);
  std::filesystem::remove(path);
  return bytes;
}

template <class T>
constexpr ONNXTensorElementDataType type_of();
template <>
constexpr ONNXTensorElementDataType type_of<float>() {
  return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
}
template <>
constexpr ONNXTensorElementDataType type_of<double>() {
  return ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
}
template <>
constexpr ONNXTensorElementDataType type_of<std::int64_t>() {
  return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
}
template <>
constexpr ONNXTensorElementDataType type_of<std::uint8_t>() {
  return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
}

/// A tensor over `data`.
template <class T>
Owned<OrtValue> tensor(std::vector<T>& data, const std::vector<std::int64_t>& shape,
                       ONNXTensorElementDataType type = type_of<T>()) {
  OrtValue* value = nullptr;
  ok(ort().CreateTensorWithDataAsOrtValue(nullptr, data.data(), data.size() * sizeof(T), shape.data(), shape.size(),
                                          type, &value));
  return owned(value);
}

/// The elements of a tensor.
template <class T>
std::vector<T> read(const OrtValue* value) {
  const void* data = nullptr;
  ok(ort().GetTensorData(value, &data));
  std::size_t bytes = 0;
  ok(ort().GetTensorSizeInBytes(value, &bytes));
  const T* const first = static_cast<const T*>(data);
  return {first, first + bytes / sizeof(T)};
}

inline std::vector<std::int64_t> shape_of(const OrtValue* value) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  ok(ort().GetTensorTypeAndShape(value, &info));
  std::size_t count = 0;
  ok(ort().GetDimensionsCount(info, &count));
  std::vector<std::int64_t> shape(count);
  ok(ort().GetDimensions(info, shape.data(), count));
  ort().ReleaseTensorTypeAndShapeInfo(info);
  return shape;
}

using Feeds = std::vector<std::pair<const char*, const OrtValue*>>;

/// Runs the session, and gives the outputs of these names in `out`, which may hold values to write in place.
inline OrtStatus* run(OrtSession* session, const Feeds& feeds, const std::vector<const char*>& outputs,
                      std::vector<OrtValue*>& out, const OrtRunOptions* options = nullptr) {
  std::vector<const char*> names;
  std::vector<const OrtValue*> values;
  for (const auto& [name, value] : feeds) {
    names.push_back(name);
    values.push_back(value);
  }
  out.resize(outputs.size());
  return ort().Run(session, options, names.data(), values.data(), names.size(), outputs.data(), outputs.size(),
                   out.data());
}

/// Runs the session, and returns its one output.
inline Owned<OrtValue> run(OrtSession* session, const Feeds& feeds, const char* output = "y") {
  std::vector<OrtValue*> out;
  ok(run(session, feeds, {output}, out), "run");
  return owned(out.at(0));
}
