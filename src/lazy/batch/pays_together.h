#pragma once

#include "ir/graph/graph.h"

namespace frazil::lazy {

/// Whether requests that run a graph together (GraphWalk) save more than that costs them, by what work takes on this
/// machine: weights that products of few rows read are read once for all, and each piece between branches and loops is
/// recorded and found. Depends on the graph and the machine alone, not on requests.
bool pays_together(const Graph& graph);

}  // namespace frazil::lazy
