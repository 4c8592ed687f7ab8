#pragma once

#include <cstddef>
#include <vector>

#include "base/value/error.h"
#include "ir/graph/graph.h"

namespace frazil {

/// Two axes of a graph's inputs whose extents are one symbol. The first one is the first axis with this symbol.
struct EqualAxes {
  std::size_t first_input = 0, first_axis = 0;
  std::size_t input = 0, axis = 0;
};

/// Returns the axes of inputs that repeat a symbol, in the order of the inputs. Extents that are expressions are left
/// out.
std::vector<EqualAxes> equal_axes(const Graph& graph);
/// Returns the same graph in which each of these axes has a symbol of its own with the same bounds. Fails if a node
/// does not allow such inputs.
Result<Graph> with_own_extents(const Graph& graph, const std::vector<EqualAxes>& axes);

}  // namespace frazil
