#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <protozero/pbf_writer.hpp>

// Fields of protobuf messages as bytes; a message is their concatenation.
namespace frazil::test {

/// A string, bytes, a packed list or an inner message.
inline std::string field(unsigned tag, std::string_view value) {
  std::string bytes;
  protozero::pbf_writer(bytes).add_bytes(tag, value.data(), value.size());
  return bytes;
}
inline std::string integer(unsigned tag, std::int64_t value) {
  std::string bytes;
  protozero::pbf_writer(bytes).add_int64(tag, value);
  return bytes;
}
inline std::string integers(unsigned tag, const std::vector<std::int64_t>& values) {
  std::string bytes;
  protozero::pbf_writer(bytes).add_packed_int64(tag, values.begin(), values.end());
  return bytes;
}
template <class T>
std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

/// An InferInputTensor of a ModelInferRequest.
inline std::string input(std::string_view name, std::string_view datatype, const std::vector<std::int64_t>& shape,
                         std::string_view more = {}) {
  return field(5, field(1, name) + field(2, datatype) + integers(3, shape) + std::string(more));
}
/// An entry of a map of parameters; `value` is an InferParameter.
inline std::string parameter(unsigned map, std::string_view key, std::string_view value) {
  return field(map, field(1, key) + field(2, value));
}

}  // namespace frazil::test
