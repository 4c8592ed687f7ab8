#pragma once

#include "pass/passes.h"

namespace frazil {

/// A Loop that goes on while a carried counter is below a limit gets a number of iterations instead of the condition,
/// and takes its slices at its own counter.
Result<std::optional<Graph>> count_iterations(const Graph& graph, const PassOptions& options, std::string& note);
/// A product of one step's slice with a weight becomes a slice of one product of all steps, made before the loop. Only
/// where the loop takes every slice and the product can fail nothing.
Result<std::optional<Graph>> hoist_projections(const Graph& graph, const PassOptions& options, std::string& note);
/// Moves nodes that give the same in every iteration in front of the loop.
Result<std::optional<Graph>> move_invariants(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil
