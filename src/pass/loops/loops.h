#pragma once

#include "pass/engine/passes.h"

namespace frazil::pass {

/// A Loop that runs while a carried counter is below a limit gets an iteration count instead of the condition, and
/// slices at its own iteration number.
Result<std::optional<Graph>> count_iterations(const Graph& graph, const PassOptions& options, std::string& note);
/// Replaces the product of each iteration's slice with a weight by a slice of one product computed before the loop.
/// Applies only when the loop takes every slice and the product cannot fail.
Result<std::optional<Graph>> hoist_projections(const Graph& graph, const PassOptions& options, std::string& note);
/// Loop-invariant code motion: moves nodes with the same result in every iteration before the loop.
Result<std::optional<Graph>> move_invariants(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil::pass
