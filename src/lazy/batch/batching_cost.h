#pragma once

#include "ir/graph/graph.h"

namespace frazil::lazy {

/// Returns whether running a graph for several requests together (GraphWalk) saves more time than it costs on this
/// machine. Products of few rows then read their weights once for all requests, but each piece between branches and
/// loops is recorded and looked up. Depends on the graph and the machine alone, not on requests.
bool is_batching_profitable(const Graph& graph);

}  // namespace frazil::lazy
