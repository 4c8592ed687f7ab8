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

/// The values that replace a value, by the number of times that it has been made in a run, from 1 on. A run in progress
/// counts in it; nothing else may access it meanwhile.
struct Replacement {
  std::string name;  ///< name of the forwarded value
  std::map<std::uint64_t, Datum> by_count;
  std::uint64_t count = 0;
};

/// Returns the graph with a node after each of these values, which forwards the value or its replacement. Fused kernels
/// cannot absorb a value with such a node.
Result<Graph> with_replacements(const Graph& graph,
                                std::span<const std::pair<Value, std::shared_ptr<Replacement>>> replacements);

}  // namespace frazil::debug
