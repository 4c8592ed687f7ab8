#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace frazil::pass {

/// A graph in which one input may replace several inputs of another graph, concatenated along their first axis.
struct JoinedInputs {
  Graph graph;
  std::vector<std::vector<std::uint32_t>> from;  ///< per input: the positions of the inputs that it replaces, in order
};
/// Replaces inputs that a graph only concatenates along their first axis by one input. A caller that gathers these
/// inputs anyway can place them one after the other.
/// Returns nullopt if there are no such inputs.
std::optional<JoinedInputs> join_inputs(const Graph& graph);

}  // namespace frazil::pass
