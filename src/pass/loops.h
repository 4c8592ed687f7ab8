#pragma once

#include "pass/passes.h"

namespace frazil {

/// A product of one step's slice with a weight becomes a slice of one product of all steps, made before the loop. Only
/// where the loop takes every slice and the product can fail nothing.
Result<std::optional<Graph>> hoist_projections(const Graph& graph, const PassOptions& options, std::string& note);
/// Moves nodes that give the same in every iteration in front of the loop.
Result<std::optional<Graph>> move_invariants(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil
