#pragma once

#include "pass/passes.h"

namespace frazil {

/// Puts in place what a region surely runs: the branch of an If, and the iterations of a Loop where they are few.
Result<std::optional<Graph>> inline_regions(const Graph& graph, const PassOptions& options, std::string& note);
/// Computes both sides of an If and chooses, where that is less work than to branch.
Result<std::optional<Graph>> select_sides(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil
