#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <frazil/model.h>

namespace frazil::api {

/// The smallest and the largest value of an extent.
struct ExtentRange {
  std::int64_t least = 0, most = 0;
};

/// A part of a model whose work or memory has no bound.
struct Unbounded {
  std::string where;  ///< "node 'Loop_3' (Loop)", "value 'y'"
  std::string why;    ///< "the number of iterations depends on data"
};

/// Upper bounds of a run of a model, over all of its paths. A part without a bound adds nothing to the numbers.
struct WorstCase {
  double operations = 0;   ///< scalar operations; a multiplication and an addition of a product are two
  double nanoseconds = 0;  ///< a prediction of their time on one core, by the table of `frazil tune`, with a margin
  std::vector<Unbounded> unbounded_work;
  std::uint64_t memory_bytes = 0;  ///< of values between nodes, and of values that grow, such as a KV cache
  std::uint64_t output_bytes = 0;
  std::vector<Unbounded> unbounded_memory;
  bool bounded() const { return unbounded_work.empty() && unbounded_memory.empty(); }
};

/// Returns bounds for all inputs whose extents are in `extents`, by their names in Port::dims, without running the
/// model. The name of an input that is one integer, such as a number of iterations, gives the range of its value. Of
/// the branches of an If, the one with the most work counts. The body of a Loop counts once for each possible
/// iteration.
///
/// Not bounded are: extents without a range, extents and trip counts that only data determine, models called by
/// frazil.Call, and custom operators. The memory leaves out weights, inputs, and the buffers that kernels use while
/// they run. It is that of the plan of a new session; tier 2 may use more for constant extents. Throws Code::bad_input
/// for a name that no extent or input has and for a range that is empty or begins below 0.
WorstCase worst_case(const Model& model, const std::map<std::string, ExtentRange>& extents = {});

}  // namespace frazil::api
