#pragma once

#include "pass/passes.h"

namespace frazil {

/// Replaces composites by their bodies, recursively, except those for which `options.keep` holds.
Result<std::optional<Graph>> expand_composites(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil
