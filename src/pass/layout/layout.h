#pragma once

#include "pass/engine/passes.h"

namespace frazil::pass {

/// Convolutions, and the nodes between them, work on images whose last axis is the channels, where that saves more than
/// the images that have to be turned cost.
Result<std::optional<Graph>> choose_layout(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil::pass
