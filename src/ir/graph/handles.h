#pragma once

#include <compare>
#include <cstdint>

namespace frazil {

/// 32-bit indices into a Graph's tables.
struct Value {
  std::uint32_t id = ~0u;
  auto operator<=>(const Value&) const = default;
  explicit operator bool() const { return id != ~0u; }
};
struct NodeId {
  std::uint32_t id = ~0u;
  auto operator<=>(const NodeId&) const = default;
  explicit operator bool() const { return id != ~0u; }
};
/// Block 0 is the graph's main block; the others are bodies of region nodes.
struct BlockId {
  std::uint32_t id = ~0u;
  auto operator<=>(const BlockId&) const = default;
  explicit operator bool() const { return id != ~0u; }
};

}  // namespace frazil
