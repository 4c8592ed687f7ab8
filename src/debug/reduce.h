#pragma once

#include <functional>
#include <string>
#include <vector>

#include "debug/compare.h"

namespace frazil::debug {

/// A part of a graph that fails like the whole graph.
struct Reduced {
  Graph graph;
  std::vector<Datum> inputs;  ///< in the graph's order
  std::string why;            ///< what differs, or the error
};

/// Two ways to run a graph. The second one is taken as correct.
struct TwoWays {
  Ways got, want;
  Closeness closeness{};
  std::uint64_t most_bytes = 0;  ///< limit for the recorded values
};

/// Returns the smallest part found of a graph whose results differ between two ways, or whose run fails only in the
/// first way. It contains the node that makes the first value that differs, and the earlier nodes that the failure
/// needs. All else becomes inputs, with the values of the second way. Bodies of the node are kept whole. Returns
/// Code::bad_input if the graph does not fail.
Result<Reduced> reduce(const std::shared_ptr<const Graph>& graph, const TwoWays& ways, std::span<const Datum> inputs);

}  // namespace frazil::debug
