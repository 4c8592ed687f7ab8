#pragma once

#include <cstdint>
#include <string>

#include "ir/graph/graph.h"

namespace frazil {

/// Returns an error text such as "output 'Y' would have the negative extent -1 along axis 2". Inference and runs share
/// it.
std::string negative_extent(const Graph& graph, Value output, std::int64_t extent, std::size_t axis);

}  // namespace frazil
