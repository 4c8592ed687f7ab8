#pragma once

#include "ir/graph.h"

namespace frazil {

/// The extents of a request give the symbols of the input types: each must be all of some axis of a tensor input.
/// Code::unsupported names an input whose type reads one that is not.
Status check_input_symbols(const Graph& graph);

}  // namespace frazil
