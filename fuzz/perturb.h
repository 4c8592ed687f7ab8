#pragma once

#include "ir/graph/graph.h"

namespace frazil::fuzz {

/// The same graph with perturbed rounding: operands and results of arithmetic are changed by a few units in the last
/// place, at random in each run. The spread of the results shows how much of a difference between two executors can be
/// rounding.
Result<Graph> with_rounding_noise(const Graph& graph);

/// Starts another sequence of perturbations on this thread.
void seed_noise(std::uint64_t seed);
/// The largest finite magnitude used in arithmetic since seed_noise().
double largest_seen();

}  // namespace frazil::fuzz
