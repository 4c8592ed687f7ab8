#pragma once

#include <optional>
#include <vector>

#include "plan/model/plan.h"

namespace frazil {

/// The steps that a request has run, or could have run, when it comes to a guard: one after the other, each region that
/// the guard does not lie in as a whole, of each loop around it the present iteration.
struct GuardPath {
  struct Item {
    StepIndex begin = 0, end = 0;  ///< steps [begin, end): one step, or all of a region
    std::uint32_t loop = kNone;    ///< instead of steps: the head of a loop around the guard, of Plan::regions
  };
  /// One of the blocks around the guard: nodes before `position` have run.
  struct Level {
    BlockId block;
    std::size_t position = 0;
  };
  StepIndex guard = 0;
  std::vector<Item> items;             ///< in order
  std::vector<std::uint32_t> regions;  ///< around the guard, of Plan::regions; that of a guarded If last
  std::vector<Level> levels;           ///< the main block first

  /// Nothing where a region has entered another of its blocks before, in a loop.
  static std::optional<GuardPath> of(const Plan& plan, StepIndex guard);
};

}  // namespace frazil
