#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/limits/execution_limits.h"
#include "ir/graph/graph.h"
#include "tensor/datum.h"

namespace frazil::ref {

/// Implements run_node() of ref.h. `execution_limits` must be the current thread's ExecutionLimits.
Result<std::vector<Datum>> run_one(const Graph& graph, NodeId node, std::span<const std::optional<Datum>> inputs,
                                   ExecutionLimits& execution_limits);

}  // namespace frazil::ref
