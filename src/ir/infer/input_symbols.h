#pragma once

#include "ir/graph/graph.h"

namespace frazil {

/// Checks that the extents of a request determine the symbols of the input types: each symbol must be the whole extent
/// of some axis of a tensor input. Otherwise returns Code::unsupported, naming the input.
Status check_input_symbols(const Graph& graph);

}  // namespace frazil
