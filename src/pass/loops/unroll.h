#pragma once

#include "pass/engine/passes.h"

namespace frazil::pass {

/// Inlines regions whose control flow is known: the branch of an If, and the iterations of a Loop if they are few.
Result<std::optional<Graph>> inline_regions(const Graph& graph, const PassOptions& options, std::string& note);
/// Replaces an If by computing both branches and selecting, if that costs less than branching.
Result<std::optional<Graph>> select_sides(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil::pass
