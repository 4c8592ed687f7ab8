#pragma once

#include "pass/engine/passes.h"

namespace frazil::pass {

/// Replaces composites by their bodies, recursively. Keeps those for which `options.keep` or `keep_for_layout` returns
/// true.
Result<std::optional<Graph>> expand_composites(const Graph& graph, const PassOptions& options, std::string& note);
/// Replaces composites by their bodies, except those for which `options.keep` returns true.
Result<std::optional<Graph>> expand_rest(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil::pass
