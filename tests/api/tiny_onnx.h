#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The wire format of protocol buffers, for small files.
namespace proto {

inline std::string varint(std::uint64_t value) {
  std::string text;
  for (; value > 127; value >>= 7) text += static_cast<char>(value | 128);
  return text + static_cast<char>(value);
}
inline std::string bytes(unsigned field, const std::string& content) {
  return varint(field << 3 | 2) + varint(content.size()) + content;
}
inline std::string number(unsigned field, std::int64_t value) {
  return varint(field << 3) + varint(static_cast<std::uint64_t>(value));
}

}  // namespace proto

/// The messages of ONNX files.
namespace onnx_file {

using proto::bytes, proto::number;

constexpr std::int64_t kF32 = 1, kI64 = 7, kBool = 9;

/// A dimension: a number, or the text of dim_param, or neither. `denotation` may be empty.
inline std::string extent(const std::string& text, const std::string& denotation = {}) {
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  const std::string value = is_number ? number(1, std::stoll(text)) : text.empty() ? "" : bytes(2, text);
  return bytes(1, value + (denotation.empty() ? "" : bytes(3, denotation)));
}
inline std::string type_of(std::int64_t elem, const std::vector<std::string>& extents) {
  std::string shape;
  for (const std::string& text : extents) shape += extent(text);
  return bytes(1, number(1, elem) + bytes(2, shape));
}
inline std::string port(const std::string& name, const std::string& type = {}) {
  return bytes(1, name) + (type.empty() ? "" : bytes(2, type));
}
inline std::string f32(const std::string& name, const std::vector<std::string>& extents) {
  return port(name, type_of(kF32, extents));
}
inline std::string node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output,
                        const std::string& more = {}) {
  std::string message;
  for (const std::string& input : inputs) message += bytes(1, input);
  return message + bytes(2, output) + bytes(4, op) + more;
}
/// An attribute of a node that is an integer.
inline std::string integer(const std::string& name, std::int64_t value) {
  return bytes(5, bytes(1, name) + number(3, value) + number(20, 2));
}
/// An initializer of integers.
inline std::string integers(const std::string& name, const std::vector<std::int64_t>& values) {
  std::string message = number(1, static_cast<std::int64_t>(values.size())) + number(2, kI64) + bytes(8, name);
  for (const std::int64_t value : values) message += number(7, value);
  return message;
}

/// An initializer f32[2] at byte `offset` of a file of external data.
inline std::string external(const std::string& name, const std::string& location, int offset) {
  const auto entry = [](const std::string& key, const std::string& value) {
    return bytes(13, bytes(1, key) + bytes(2, value));
  };
  return number(1, 2) + number(2, kF32) + bytes(8, name) + entry("location", location) +
         entry("offset", std::to_string(offset)) + entry("length", "8") + number(14, 1);
}

struct Graph {
  std::vector<std::string> nodes, inputs, outputs, initializers = {};
};
inline std::string model(const Graph& graph, std::int64_t ir_version = 9, std::int64_t opset = 18,
                         const std::string& more = {}) {
  std::string message;
  for (const std::string& one : graph.nodes) message += bytes(1, one);
  message += bytes(2, "g");
  for (const std::string& one : graph.initializers) message += bytes(5, one);
  for (const std::string& one : graph.inputs) message += bytes(11, one);
  for (const std::string& one : graph.outputs) message += bytes(12, one);
  return (ir_version == 0 ? "" : number(1, ir_version)) + bytes(8, number(2, opset)) + bytes(7, message) + more;
}

}  // namespace onnx_file

/// An ONNX file of one node, y = Neg(x) on f32[2], which declares y to have `declared` elements. `more` are further
/// fields of the model.
inline std::string negating_onnx(int declared = 2, const std::string& more = {}) {
  using namespace proto;
  const auto port = [](const std::string& name, int extent) {
    return bytes(1, name) + bytes(2, bytes(1, number(1, 1) + bytes(2, bytes(1, number(1, extent)))));
  };
  const std::string node = bytes(1, "x") + bytes(2, "y") + bytes(4, "Neg");
  const std::string graph = bytes(1, node) + bytes(2, "g") + bytes(10, "of the graph") + bytes(11, port("x", 2)) +
                            bytes(12, port("y", declared));
  return number(1, 9) + bytes(8, number(2, 13)) + bytes(7, graph) + more;
}
