#pragma once

#include "pass/engine/passes.h"

namespace frazil::pass {

/// Gives a Loop that runs while a carried counter is below a limit an iteration count instead of the condition. Slices
/// in such a Loop use its iteration number.
Result<std::optional<Graph>> count_iterations(const Graph& graph, const PassOptions& options, std::string& note);
/// Replaces the product of each iteration's slice with a weight by a slice of one product computed before the loop.
/// Applies only when the loop takes every slice and the product cannot fail.
Result<std::optional<Graph>> hoist_projections(const Graph& graph, const PassOptions& options, std::string& note);
/// Moves loop-invariant code: nodes with the same result in every iteration move before the loop.
Result<std::optional<Graph>> move_invariants(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil::pass
