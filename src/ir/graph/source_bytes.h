#pragma once

#include <cstddef>

#include "ir/graph/graph.h"

namespace frazil {

/// Returns the approximate size in bytes of a file with this graph, without its tensors.
inline std::size_t source_bytes(const Graph& graph) {
  constexpr std::size_t kPerNode = 64, kPerValue = 16;
  return kPerNode * graph.node_count() + kPerValue * graph.value_count();
}

}  // namespace frazil
