#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "tensor/datum.h"

namespace frazil::fuzz {

/// How two results differ beyond the rounding of one operation.
std::optional<std::string> usual_difference(const Datum& got, const Datum& want);

/// Decides whether a difference in one run can be caused by rounding, or by extents that types do not determine.
/// Created only when there is a difference.
class Excuse {
 public:
  Excuse(const Graph& graph, const std::vector<Datum>& inputs);

  /// Whether the reference executor itself would end differently with other rounding.
  bool excuses_outcome(const Result<std::vector<Datum>>& want) const;
  /// The difference of output `i` that remains unexplained.
  std::optional<std::string> difference(std::size_t i, const Datum& got, const Datum& want) const;

 private:
  std::vector<Result<std::vector<Datum>>> outcomes_;
  double largest_ = 0;
  bool has_regions_ = false;
};

/// Whether tier 0 does not report `fault` of the reference executor only because the result was not requested: tier 0
/// has no step for the faulty node, or reports the fault when every result is requested.
bool is_lazy(const Graph& graph, const std::vector<Datum>& inputs, const Fault& fault);

}  // namespace frazil::fuzz
