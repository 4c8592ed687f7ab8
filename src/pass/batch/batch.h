#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "ir/graph/graph.h"

namespace frazil::pass {

/// The number of nodes for each way of batching.
struct BatchCounts {
  std::size_t by_rule = 0;  ///< one node, or a few, process the whole batch
  std::size_t by_loop = 0;  ///< a Scan runs the node on one element after the other
  std::size_t shared = 0;   ///< equal for all elements: computed once
};

/// Returns the graph that runs `graph` on each element of a batch and stacks the results.
/// `inputs` are positions of graph inputs, which must be tensors of known rank. These inputs and all results get an
/// axis 0 of one symbolic extent named `axis`. The other inputs are the same for every element.
/// Extents must agree between elements; a difference fails the run. A node that draws random numbers draws separately
/// for each element.
/// Returns Code::unsupported for a value that cannot be stacked: a sequence, an optional, a map, or one whose rank
/// depends on the element. The message names the node that makes the value.
Result<Graph> batch(const Graph& graph, std::span<const std::size_t> inputs, BatchCounts* counts = nullptr,
                    std::string_view axis = "batch");

}  // namespace frazil::pass
