#pragma once

#include <functional>
#include <string>
#include <vector>

#include "debug/compare.h"

namespace frazil::debug {

/// A part of a graph that fails as the whole does.
struct Reduced {
  Graph graph;
  std::vector<Datum> inputs;  ///< in its order
  std::string why;            ///< how it fails: what differs, or the error
};

/// Two ways to run a graph, of which the second one is right.
struct TwoWays {
  Ways got, want;
  Closeness closeness{};
  std::uint64_t most_bytes = 0;  ///< of recorded values
};

/// The smallest part found of a graph whose results differ between two ways, or whose run fails in the first one alone:
/// the node that makes the first value that differs, with those in front of it that are needed for the failure; all
/// else becomes inputs, with the values that the second way gives. Bodies of the node are kept whole. Code::bad_input
/// when the graph does not fail.
Result<Reduced> reduce(const std::shared_ptr<const Graph>& graph, const TwoWays& ways, std::span<const Datum> inputs);

}  // namespace frazil::debug
