#pragma once

#include "ir/graph/graph.h"

namespace frazil::fuzz {

/// Returns the same graph with perturbed rounding. Operands and results of arithmetic are changed randomly by a few
/// units in the last place in each run. The spread of the results shows how much of a difference between two executors
/// may be rounding.
Result<Graph> with_rounding_noise(const Graph& graph);

/// Starts another sequence of perturbations on this thread.
void seed_noise(std::uint64_t seed);
/// Returns the largest finite magnitude used in arithmetic since seed_noise().
double largest_seen();

}  // namespace frazil::fuzz
