#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/governor.h"
#include "ir/graph.h"
#include "tensor/datum.h"

namespace frazil::ref {

/// run_node of ref.h; the current thread's Governor must be `governor`.
Result<std::vector<Datum>> run_one(const Graph& graph, NodeId node, std::span<const std::optional<Datum>> inputs,
                                   Governor& governor);

}  // namespace frazil::ref
