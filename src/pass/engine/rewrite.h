#pragma once

#include "pass/engine/passes.h"

namespace frazil::pass {

/// Applies algebra_rules() to each node from operands to results, in up to four walks.
Result<std::optional<Graph>> rewrite_algebra(const Graph& graph, const PassOptions& options, std::string& note);
/// Applies conv_rules(). They absorb BatchNormalization, scales and offsets per channel into a convolution, or into two
/// numbers per channel.
Result<std::optional<Graph>> absorb_batch_norm(const Graph& graph, const PassOptions& options, std::string& note);
/// Applies recovery_rules() in the same way.
Result<std::optional<Graph>> recover_composites(const Graph& graph, const PassOptions& options, std::string& note);
/// Applies late_recovery_rules() and expands composites without a kernel. `note` also reports near matches of
/// attention.
Result<std::optional<Graph>> recover_attention(const Graph& graph, const PassOptions& options, std::string& note);

}  // namespace frazil::pass
