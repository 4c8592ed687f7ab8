#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"

namespace frazil::api {

/// What a comparison shows beside the graph.
struct DotMarks {
  std::map<std::uint32_t, std::string_view> colors;  ///< of nodes, by number
  std::vector<std::string> removed;                  ///< what nodes that the graph does not have were
};

/// The graph as Graphviz input: a box for each node, a cluster for each nested block, types on the edges. Constants
/// with one element are shown in the boxes; larger ones are omitted.
std::string dot_of(const Graph& graph, const DotMarks& marks = {});

}  // namespace frazil::api
