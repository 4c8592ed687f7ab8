#pragma once

#include <vector>

#include "plan/model/plan.h"

namespace frazil {

/// The most steps that run at the same time.
inline constexpr std::uint32_t kMaxConcurrent = 8;

/// Finds consecutive launch steps that may run at the same time. None of them defines extents
/// or writes memory that another one reads or writes. Kernels of the host run all of them, and their memory exists
/// before the first one runs.
class ConcurrentSteps {
 public:
  /// The plan must not change while this is used. Takes pools into account if they are assigned.
  explicit ConcurrentSteps(const Plan& plan);

  /// Returns the number of steps, from `first` on; 1 for a step that runs alone, 0 for one that is not a candidate.
  std::uint32_t count(StepIndex first) const;
  /// Returns how many of these steps, from `first` on, take long enough to gain, as products do.
  std::uint32_t heavy(StepIndex first) const;

 private:
  bool are_independent(const step::Launch& a, const step::Launch& b) const;
  bool touches(const std::vector<SlotId>& written, const std::vector<SlotId>& others) const;

  const Plan& plan_;
  std::vector<std::uint32_t> memory_;  // per storage: equal if the bytes may be the same
};

/// Sets Launch::together of all steps. Pools must be assigned.
void mark_concurrent(Plan& plan);

}  // namespace frazil
