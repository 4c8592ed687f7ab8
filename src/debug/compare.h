#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "debug/debugger.h"
#include "debug/sites.h"

namespace frazil::debug {

/// The values that a run made, in order.
struct Recording {
  struct Made {
    std::string name;
    std::string node;  ///< "node 'conv_1' (Conv)"; empty: unknown
    std::vector<std::int64_t> iterations;
    Datum value;
  };
  std::vector<Made> values;
  Status status;  ///< outcome of the run
};

/// Runs a graph and keeps every value that the run makes, and its results. The recording's status is Code::limit if
/// they take more than `max_bytes`.
Result<Recording> record(const std::shared_ptr<const Graph>& graph, const Backend& ways, std::span<const Datum> inputs,
                         std::uint64_t max_bytes);

struct Closeness {
  double rtol = 1e-3;
  double atol = 1e-7;
  double of_largest = 1e-5;  ///< fraction of a tensor's largest magnitude that is added to atol, because sums cancel
};

struct Difference {
  std::string name, node;
  std::vector<std::int64_t> iterations;
  std::string what;  ///< one line
};

struct Comparison {
  std::optional<Difference> first;               ///< in the order of `a`
  std::size_t compared = 0, apart = 0;           ///< values that both sides have, and those of them that differ
  std::size_t both = 0, only_a = 0, only_b = 0;  ///< names that both sides or only one of them have
  /// Returns true if too few values have a counterpart for a result: less than half of the side that has fewer.
  bool inconclusive() const { return both == 0 || both < std::min(only_a, only_b); }
};

/// Compares values of the same name, the k-th with the k-th. If one side has made a value more often (a pass has moved
/// it out of a loop), compares the last ones.
Comparison compare(const Recording& a, const Recording& b, const Closeness& closeness);

}  // namespace frazil::debug
