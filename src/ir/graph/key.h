#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/graph/graph.h"

namespace frazil {

/// The bytes of a part of a graph, as a key for tables. Equal bytes mean equal parts.
class Key {
 public:
  Key& add(std::uint64_t number);
  /// Adds the text with its length.
  Key& add(std::string_view text);
  /// Adds a tensor: a small one with its elements, a large one by type and address.
  Key& add(const Tensor& tensor);
  /// Adds all attribute values of the node.
  Key& add_attributes(const Node& node);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace frazil
