#pragma once

#include "pass/passes.h"

namespace frazil {

/// Applies algebra_rules() to each node, in one walk from operands to results.
Result<std::optional<Graph>> rewrite_algebra(const Graph& graph, const PassOptions& options, std::string& note);
/// Applies batch_norm_rules() in the same way.
Result<std::optional<Graph>> absorb_batch_norm(const Graph& graph, const PassOptions& options, std::string& note);
/// Applies recovery_rules() in the same way.
Result<std::optional<Graph>> recover_composites(const Graph& graph, const PassOptions& options, std::string& note);
/// Applies late_recovery_rules(), and says what is nearly attention.
Result<std::optional<Graph>> recover_attention(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil
