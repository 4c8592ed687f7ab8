#pragma once

#include <optional>
#include <vector>

#include "plan/model/plan.h"

namespace frazil {

/// The steps that a request has run, or could have run, when it reaches a guard, in order. A region that does not
/// contain the guard is one item. Of each loop around the guard, only the current iteration counts.
struct GuardPath {
  struct Item {
    StepIndex begin = 0, end = 0;  ///< steps [begin, end): one step, or all of a region
    std::uint32_t loop = kNone;    ///< instead of steps: the head of a loop around the guard, as index in Plan::regions
  };
  /// A block around the guard. Its nodes before `position` have run.
  struct Level {
    BlockId block;
    std::size_t position = 0;
  };
  StepIndex guard = 0;
  std::vector<Item> items;             ///< in order
  std::vector<std::uint32_t> regions;  ///< around the guard, in Plan::regions; that of a guarded If is last
  std::vector<Level> levels;           ///< the main block first

  /// Returns nullopt if a region around the guard may have entered another of its blocks before, in a loop.
  static std::optional<GuardPath> of(const Plan& plan, StepIndex guard);
};

}  // namespace frazil
