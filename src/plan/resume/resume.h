#pragma once

#include <expected>
#include <string>
#include <variant>
#include <vector>

#include "plan/model/plan.h"

namespace frazil {

/// How a request that left one plan at a guard goes on in another plan of the same model.
struct Resume {
  /// The steps [begin, end) of the new plan are run: what they make is not there.
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

  std::vector<Action> actions;        ///< in this order, once the inputs are bound
  std::vector<std::uint32_t> groups;  ///< of the new plan: what was computed of their registers before is stale
  StepIndex at = 0;                   ///< and it runs from here: its guard of the same node

  /// One action a line; what is copied comes from the old plan.
  std::string str() const;
};

/// How a request goes on in `to` after guard `guard` of `from` missed. What `to` reads from there on is copied where
/// `from` has it, and computed again where it does not. Where that cannot be, the reason: the request then begins anew.
std::expected<Resume, std::string> plan_resume(const Plan& from, StepIndex guard, const Plan& to);

}  // namespace frazil
