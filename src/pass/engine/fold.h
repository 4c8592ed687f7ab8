#pragma once

#include "pass/engine/passes.h"

namespace frazil::pass {

/// Folds constants on the reference executor. Work is limited, and results must not be much larger than the operands. A
/// Concat of constants and of views of constants may be larger, since files may store a weight in parts. A node that
/// fails is kept, and fails when it runs.
Result<std::optional<Graph>> fold_constants(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil::pass
