#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "tensor/datum.h"

namespace frazil::fuzz {

/// How two results differ beyond the rounding of one operation.
std::optional<std::string> usual_difference(const Datum& got, const Datum& want);

/// Whether a difference of one run can be the work of rounding, or one of extents that nothing tells: made when there
/// is one.
class Excuse {
 public:
  Excuse(const Graph& graph, const std::vector<Datum>& inputs);

  /// With other rounding the reference executor itself would not end like this.
  bool excuses_outcome(const Result<std::vector<Datum>>& want) const;
  /// What is left of the difference of output `i`.
  std::optional<std::string> difference(std::size_t i, const Datum& got, const Datum& want) const;

 private:
  std::vector<Result<std::vector<Datum>>> outcomes_;
  double largest_ = 0;
  bool has_regions_ = false;
};

/// Whether `fault` of the reference executor is only missed because nobody asked for what fails: tier 0 has no step for
/// the node that the fault names, or ends with it when every result is asked for.
bool is_lazy(const Graph& graph, const std::vector<Datum>& inputs, const Fault& fault);

}  // namespace frazil::fuzz
