#pragma once

#include "pass/passes.h"

namespace frazil {

/// Computes nodes of constants on the reference executor, where that is little work and the results are not much larger
/// than what they are made of. A node that fails stays, and fails when it runs.
Result<std::optional<Graph>> fold_constants(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil
