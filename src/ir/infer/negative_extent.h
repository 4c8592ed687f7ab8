#pragma once

#include <cstdint>
#include <string>

#include "ir/graph/graph.h"

namespace frazil {

/// "output 'Y' would have the negative extent -1 along axis 2": what is wrong with a node's output, whether inference
/// or a run finds it.
std::string negative_extent(const Graph& graph, Value output, std::int64_t extent, std::size_t axis);

}  // namespace frazil
