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

/// Two backends that run a graph. The second one is taken as correct.
struct BackendPair {
  Backend got, want;
  Closeness closeness{};
  std::uint64_t max_bytes = 0;  ///< limit for the recorded values
};

/// Returns the smallest part found of a graph whose results differ between two backends, or whose run fails only in the
/// first backend. It contains the node that makes the first value that differs, and the earlier nodes that the failure
/// needs. All else becomes inputs, with the values of the second backend. Bodies of the node are kept whole. Returns
/// Code::bad_input if the graph does not fail.
Result<Reduced> reduce(const std::shared_ptr<const Graph>& graph, const BackendPair& ways,
                       std::span<const Datum> inputs);

}  // namespace frazil::debug
