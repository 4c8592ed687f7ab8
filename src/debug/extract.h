#pragma once

#include <set>
#include <span>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"
#include "tensor/datum.h"

namespace frazil::debug {

/// The result of extract().
struct Extracted {
  Graph graph;
  std::vector<Value> inputs;  ///< values of `from`, in the order of the inputs
};
/// Makes a graph of these nodes alone, in their order, with their bodies. Every other value that they use becomes an
/// input. Its type is that of its value in `given`, or else its type in the graph. `results` are outputs. Returns
/// Code::unsupported for a type that has no meaning outside of its graph.
Result<Extracted> extract(const Graph& from, const std::set<std::uint32_t>& nodes,
                          std::span<const std::pair<Value, Datum>> given, std::span<const Value> results);

}  // namespace frazil::debug
