#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace frazil::fuzz {

/// A graph that was accepted must hold together: verify, text and back, a plan, a run on the reference and one on
/// tier 0 with small inputs. What such runs give is not compared. Ends the process as a finding otherwise.
void try_graph(const Graph& graph, std::uint64_t seed);

}  // namespace frazil::fuzz
