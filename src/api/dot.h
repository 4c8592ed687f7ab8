#pragma once

#include <string>

#include "ir/graph.h"

namespace frazil::api {

/// The graph in Graphviz's language: a box for each node, a cluster for each nested block, types on the edges.
/// Constants of one element stand inside the boxes; larger ones are left out.
std::string dot_of(const Graph& graph);

}  // namespace frazil::api
