#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "plan/model/plan.h"

namespace frazil {

/// Ranges of extents by the names of their symbols, and of the only element of integer inputs by the names of these.
using ExtentRanges = std::map<std::string, Bounds, std::less<>>;

/// Returns whether a range of this name has an effect.
bool has_extent(const Graph& graph, std::string_view name);

/// A part of a graph whose work or memory has no bound.
struct Unbounded {
  std::string where;  ///< "node 'Loop_3' (Loop)"; "value 'y'"
  std::string why;    ///< "the number of iterations depends on data"
  bool operator==(const Unbounded&) const = default;
};

/// An upper bound of the work of one run, over all paths and all extents in the ranges.
struct WorstWork {
  double operations = 0;   ///< scalar operations; an exponential counts as one
  double nanoseconds = 0;  ///< a prediction on one core, by kernel::tuning(), of the time when nothing disturbs it
  std::vector<Unbounded> unbounded;
};

/// Adds the work of all nodes. Of the branches of an If, the one with the most work counts; the body of a Loop counts
/// as often as its trip count allows. Operators that other models or programs compute are unbounded. Symbols without a
/// range have the bounds of the graph.
WorstWork worst_work(const Graph& graph, const ExtentRanges& ranges);

/// An upper bound of the memory of one run, over the same.
struct WorstMemory {
  std::uint64_t arena = 0;    ///< bytes of values that a session keeps, and of values that grow
  std::uint64_t outputs = 0;  ///< bytes of outputs
  std::vector<Unbounded> unbounded;
};

/// Evaluates the sizes of a plan for ranges. The memory that kernels use while they run, which is at most a few panels
/// of an operand on each thread, is not included.
WorstMemory worst_memory(const Plan& plan, const ExtentRanges& ranges);

}  // namespace frazil
