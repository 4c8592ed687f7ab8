#pragma once

#include "pass/engine/passes.h"

namespace frazil::pass {

/// Eliminates dead code: removes nodes on which no result of the graph or of a running body depends, and that have no
/// effects. Executors would not run them either, so no error is lost.
Result<std::optional<Graph>> remove_dead(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil::pass
