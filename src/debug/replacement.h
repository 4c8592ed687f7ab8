#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "ir/graph/graph.h"
#include "tensor/datum.h"

namespace frazil::debug {

/// What takes the place of a value, by the number of times that it has been made in a run, from 1 on. A run in progress
/// counts; nothing else may touch it meanwhile.
struct Replacement {
  std::string name;  ///< of what is handed on
  std::map<std::uint64_t, Datum> by_count;
  std::uint64_t count = 0;
};

/// The graph with a node behind each of these values that hands it on, or what replaces it. Such a node keeps the value
/// out of fused kernels' reach.
Result<Graph> with_replacements(const Graph& graph,
                                std::span<const std::pair<Value, std::shared_ptr<Replacement>>> replacements);

}  // namespace frazil::debug
