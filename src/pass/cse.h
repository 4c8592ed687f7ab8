#pragma once

#include "pass/passes.h"

namespace frazil {

/// Of nodes with the same operator, operands and attributes the first that is visible serves all.
Result<std::optional<Graph>> merge_equal(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil
