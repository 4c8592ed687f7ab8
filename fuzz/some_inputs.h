#pragma once

#include <optional>
#include <vector>

#include "choices.h"
#include "ir/graph/graph.h"
#include "tensor/datum.h"

namespace frazil::fuzz {

/// Returns small inputs of the graph's types, with symbols from 0 to 4, or nullopt if the types need more than a few
/// thousand elements.
std::optional<std::vector<Datum>> some_inputs(const Graph& graph, Choices& choices);

}  // namespace frazil::fuzz
