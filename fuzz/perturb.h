#pragma once

#include "ir/graph.h"

namespace frazil::fuzz {

/// The same graph where rounding happens otherwise: what arithmetic takes and gives is moved by a few units in its last
/// place, at random each time it runs. How much the results move then says how much of a difference between two
/// executors is rounding.
Result<Graph> with_rounding_noise(const Graph& graph);

/// Begins another sequence of moves on this thread.
void seed_noise(std::uint64_t seed);
/// The largest finite magnitude that went through arithmetic since then.
double largest_seen();

}  // namespace frazil::fuzz
