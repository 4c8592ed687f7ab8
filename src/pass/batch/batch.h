#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "ir/graph/graph.h"

namespace frazil::pass {

/// How the nodes of a graph were batched.
struct BatchCounts {
  std::size_t by_rule = 0;  ///< one node, or a few, work on the whole batch
  std::size_t by_loop = 0;  ///< a Scan runs the node on one element after the other
  std::size_t shared = 0;   ///< the same for each element: computed once
};

/// The graph that runs `graph` on each element of a batch and stacks the results: `inputs` (positions among the graph's
/// inputs, tensors of known rank) get an axis 0 of one symbolic extent named `axis`, and so do all results. The other
/// inputs are the same for every element. Extents must agree between elements, a difference fails the run. A node that
/// draws random numbers draws anew for each element.
/// Code::unsupported names the node that gives a value which cannot be stacked: a sequence, an optional or a map, or
/// one whose rank depends on the element.
Result<Graph> batch(const Graph& graph, std::span<const std::size_t> inputs, BatchCounts* counts = nullptr,
                    std::string_view axis = "batch");

}  // namespace frazil::pass
