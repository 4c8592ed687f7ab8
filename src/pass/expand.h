#pragma once

#include "pass/passes.h"

namespace frazil {

/// Replaces composites by their bodies, again and again, except those that `options.keep` wants whole.
Result<std::optional<Graph>> expand_composites(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil
