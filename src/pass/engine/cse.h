#pragma once

#include "pass/engine/passes.h"

namespace frazil::pass {

/// Eliminates common subexpressions. Of nodes with equal operator, operands and attributes, the first visible one
/// replaces the others.
Result<std::optional<Graph>> merge_equal(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil::pass
