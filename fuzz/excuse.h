#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "tensor/datum.h"

namespace frazil::fuzz {

/// Returns how two results differ beyond the rounding of one operation; nullopt if they do not.
std::optional<std::string> usual_difference(const Datum& got, const Datum& want);

/// Decides whether a difference in one run can be caused by rounding, or by extents that types do not determine.
/// Created only when there is a difference.
class Excuse {
 public:
  Excuse(const Graph& graph, const std::vector<Datum>& inputs);

  /// Returns true if other rounding would change the outcome of the reference executor itself.
  bool excuses_outcome(const Result<std::vector<Datum>>& want) const;
  /// Returns the unexplained difference of output `i`.
  std::optional<std::string> difference(std::size_t i, const Datum& got, const Datum& want) const;

 private:
  std::vector<Result<std::vector<Datum>>> outcomes_;
  double largest_ = 0;
  bool has_regions_ = false;
};

/// Returns true if tier 0 does not report `fault` of the reference executor only because the result was not requested.
/// That is the case if tier 0 has no step for the faulty node, or reports the fault when all results are requested.
bool is_lazy(const Graph& graph, const std::vector<Datum>& inputs, const Fault& fault);

}  // namespace frazil::fuzz
