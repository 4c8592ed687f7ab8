#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"

namespace frazil::api {

/// The marks by which a comparison extends the drawing of a graph.
struct DotMarks {
  std::map<std::uint32_t, std::string_view> colors;  ///< colors of nodes, by number
  std::vector<std::string> removed;                  ///< titles of nodes that the graph does not have
};

/// Returns the graph as Graphviz input: a box for each node, a cluster for each nested block, types on the edges.
/// Constants with one element are shown in the boxes; larger ones are omitted.
std::string dot_of(const Graph& graph, const DotMarks& marks = {});

}  // namespace frazil::api
