#pragma once

#include "pass/engine/passes.h"

namespace frazil::pass {

/// Makes convolutions, and the nodes between them, work on images with channels last, if that saves more than the
/// transposes of images cost.
Result<std::optional<Graph>> choose_layout(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil::pass
