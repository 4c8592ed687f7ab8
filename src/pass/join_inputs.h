#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace frazil {

/// A graph some of whose inputs are several of another graph's, one after the other.
struct JoinedInputs {
  Graph graph;
  std::vector<std::vector<std::uint32_t>> from;  ///< by input: positions of the inputs that it has, in order
};
/// Vectors that a graph only concatenates become one input: who has to gather them anyway lays them side by side.
/// Nothing where there are none.
std::optional<JoinedInputs> join_inputs(const Graph& graph);

}  // namespace frazil
