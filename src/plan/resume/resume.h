#pragma once

#include <expected>
#include <string>
#include <variant>
#include <vector>

#include "plan/model/plan.h"

namespace frazil {

/// How a request that left one plan at a guard continues in another plan of the same model.
struct Resume {
  /// Runs steps [begin, end) of the new plan, whose results do not exist yet.
  struct Run {
    StepIndex begin = 0, end = 0;
  };
  struct CopySlot {
    SlotId from, to;
  };
  struct CopyRegister {
    Reg from = kNoReg, to = kNoReg;
  };
  struct CopyAccumulator {
    AccumulatorId from, to;
  };
  using Action = std::variant<Run, CopySlot, CopyRegister, CopyAccumulator>;

  std::vector<Action> actions;        ///< in this order, after the inputs are bound
  std::vector<std::uint32_t> groups;  ///< of the new plan: groups whose registers, as computed so far, are out of date
  StepIndex at = 0;                   ///< the step to continue at: the new plan's guard of the same node

  /// Returns one action per line. Sources of copies belong to the old plan.
  std::string str() const;
};

/// Finds how a request continues in `to` after guard `guard` of `from` failed. Values that `to` reads from there on are
/// copied if `from` has them, else computed again.
/// Returns the reason if that is impossible; the request then starts again.
std::expected<Resume, std::string> plan_resume(const Plan& from, StepIndex guard, const Plan& to);

}  // namespace frazil
