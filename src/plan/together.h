#pragma once

#include <vector>

#include "plan/plan.h"

namespace frazil {

/// The most steps that run at the same time.
inline constexpr std::uint32_t kMostTogether = 8;

/// Which launch steps, one behind the other, may run at the same time: none writes memory that another one reads or
/// writes, none tells extents, and all of their memory is there when the first one begins.
class StepsTogether {
 public:
  /// The plan must not change while this is used. Pools count where they are assigned.
  explicit StepsTogether(const Plan& plan);

  /// How many steps from `first` on; 1: it runs with no other; 0: it is no such step.
  std::uint32_t count(StepIndex first) const;
  /// Of these, those in front that are worth it, as products are.
  std::uint32_t heavy(StepIndex first) const;

 private:
  bool are_independent(const step::Launch& a, const step::Launch& b) const;
  bool touches(const std::vector<SlotId>& written, const std::vector<SlotId>& others) const;

  const Plan& plan_;
  std::vector<std::uint32_t> memory_;  // per storage: equal where the bytes may be the same
};

}  // namespace frazil
