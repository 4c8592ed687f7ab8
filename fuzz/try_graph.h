#pragma once

#include <cstdint>

#include "ir/graph/graph.h"

namespace frazil::fuzz {

/// Checks an accepted graph: verification, round trip through text, planning, and runs on the reference executor and on
/// tier 0 with small inputs. The results are not compared. A violation ends the process as a finding.
void try_graph(const Graph& graph, std::uint64_t seed);

}  // namespace frazil::fuzz
