#pragma once

#include <set>
#include <span>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"
#include "tensor/datum.h"

namespace frazil::debug {

/// A graph of these nodes alone, in their order, with the bodies of those that have some. Every other value that they
/// use becomes an input: of the type of its value in `given`, or else of its type in the graph. `results` are outputs.
/// Code::unsupported where a type cannot be told outside of its graph.
struct Extracted {
  Graph graph;
  std::vector<Value> inputs;  ///< of `from`, in the order of the inputs
};
Result<Extracted> extract(const Graph& from, const std::set<std::uint32_t>& nodes,
                          std::span<const std::pair<Value, Datum>> given, std::span<const Value> results);

}  // namespace frazil::debug
