#pragma once

#include <span>
#include <vector>

#include "ir/graph/graph.h"
#include "tensor/datum.h"

namespace frazil::ref {

/// Returns the graph's inputs with defaults filled in, checked against their types. Code::bad_input names the input.
Result<std::vector<Datum>> bind_inputs(const Graph& graph, std::span<const Datum> inputs);

}  // namespace frazil::ref
