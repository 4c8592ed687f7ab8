#pragma once

#include "pass/engine/passes.h"

namespace frazil::pass {

/// Constant folding on the reference executor, limited to little work and to results not much larger than the operands.
/// A Concat of constants and of views of constants may be larger: weights that a file has in parts. A node that fails
/// is kept and fails when it runs.
Result<std::optional<Graph>> fold_constants(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil::pass
