#pragma once

#include <string>

#include "ir/graph.h"

namespace frazil::api {

/// The graph as Graphviz input: a box for each node, a cluster for each nested block, types on the edges. Constants
/// with one element are shown in the boxes; larger ones are omitted.
std::string dot_of(const Graph& graph);

}  // namespace frazil::api
