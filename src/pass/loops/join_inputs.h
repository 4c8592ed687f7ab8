#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace frazil::pass {

/// A graph some of whose inputs are several of another graph's, one after the other.
struct JoinedInputs {
  Graph graph;
  std::vector<std::vector<std::uint32_t>> from;  ///< by input: positions of the inputs that it has, in order
};
/// Inputs that a graph only concatenates along their first axis become one: who has to gather them anyway lays them one
/// behind the other.
/// Nothing where there are none.
std::optional<JoinedInputs> join_inputs(const Graph& graph);

}  // namespace frazil::pass
