#pragma once

#include <functional>

#include "ir/graph.h"

namespace frazil {

/// Replaces composites by their bodies, again and again, except those that `keep` wants whole.
Result<Graph> expand_composites(const Graph& graph, const std::function<bool(const Graph&, NodeId)>& keep);

}  // namespace frazil
