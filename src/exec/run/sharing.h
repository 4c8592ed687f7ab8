#pragma once

#include <cstdint>

#include "base/thread/scheduler.h"
#include "code/abi/abi.h"

namespace frazil::exec {

/// The division of a step's units among threads. It does not change the results.
struct Sharing {
  std::int64_t grain = 0;       ///< units in a range; 0: the session's thread runs all
  std::int64_t last_grain = 0;  ///< last units in a range
  bool if_idle = false;         ///< shared only if another thread is awake
};

/// Divides the units of a prepared step if their work pays for it. `scheduler` may be null.
Sharing sharing_of(const code::Prepare& prepared, const Scheduler* scheduler);

/// Returns whether `nanoseconds` of work on one core pay for the scheduler's other threads.
bool is_sharing_profitable(double nanoseconds, const Scheduler& scheduler);

}  // namespace frazil::exec
