#pragma once

#include <string>

/// The wire format of protocol buffers, for files of a few bytes.
namespace proto {

inline std::string bytes(int field, const std::string& content) {
  return std::string(1, static_cast<char>(field << 3 | 2)) + static_cast<char>(content.size()) + content;
}
inline std::string number(int field, int value) {
  return std::string(1, static_cast<char>(field << 3)) + static_cast<char>(value);
}

}  // namespace proto

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
