#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "ir/graph/graph.h"

namespace frazil {

/// Compares values of a graph with their counterparts in its rewritten form, whose Scope extends that of the graph.
/// Both graphs must outlive it.
class TypeMatcher {
 public:
  TypeMatcher(const Graph& from, const Graph& to) : from_(from), to_(to) {}

  /// Returns true if types, elements that inference knows, and constants are the same.
  bool matches(Value old, Value now) const;
  /// Returns true if the lists have the same length and their values match in pairs.
  bool matches(std::span<const Value> old, std::span<const Value> now) const;
  /// Returns true if inference would give a copy of a node with inputs `now` the types of the original: the inputs
  /// match, and the node has no symbols of its own. Requires that types assume nothing at the node.
  bool infers_same(NodeId old, std::span<const Value> now);

 private:
  bool is_settled(Dim d);

  const Graph& from_;
  const Graph& to_;
  std::unordered_map<std::uint64_t, bool> settled_;  // by the bits of a Dim
};

}  // namespace frazil
