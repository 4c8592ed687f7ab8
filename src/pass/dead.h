#pragma once

#include "pass/passes.h"

namespace frazil {

/// Removes nodes that no result of the graph or of a body that runs depends on. They do not run without this pass
/// either, and fail nothing.
Result<std::optional<Graph>> remove_dead(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil
