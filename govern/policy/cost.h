#pragma once

#include <cstdint>

#include "govern/policy/type.h"

// The worst-case cost of expressions, from the declared bounds of what they read. A unit is the evaluation of one node,
// about 10 ns; a macro multiplies the cost of its condition by the bound of what it iterates. Costs are doubles, as
// products of bounds exceed integers.
namespace frazil::govern {

/// Returns the cost of comparing or copying bytes, besides that of the node.
inline double cost_of_bytes(double bytes) { return bytes / 64; }
/// Returns the cost of comparing two values of one type.
double cost_of_equal(const ValueType& a, const ValueType& b);
/// Returns the cost of finding a key of at most `bytes` bytes in a map.
double cost_of_key(const ValueType& map, std::uint32_t bytes);
/// Returns the cost of a search in a sorted list of texts.
double cost_of_set(const ValueType& list, std::uint32_t bytes);
/// Returns the cost of matching a text by a pattern of `instructions`.
double cost_of_match(std::uint32_t bytes, std::uint32_t instructions);

}  // namespace frazil::govern
