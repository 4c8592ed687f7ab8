#pragma once

#include "pass/engine/passes.h"

namespace frazil::pass {

/// Replaces composites by their bodies, recursively, except those for which `options.keep` or `keep_for_layout` holds.
Result<std::optional<Graph>> expand_composites(const Graph& graph, const PassOptions& options, std::string& note);
/// Those for which `options.keep` does not hold.
Result<std::optional<Graph>> expand_rest(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil::pass
