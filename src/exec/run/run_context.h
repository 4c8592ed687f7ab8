#pragma once

#include <cstdint>
#include <memory>

#include "base/limits/execution_limits.h"
#include "base/thread/event.h"
#include "base/thread/scheduler.h"
#include "exec/observe/observer.h"

namespace frazil::exec {

/// Counters of a session since it was opened.
struct Counters {
  std::uint64_t runs = 0;
  std::uint64_t plans = 1;          ///< plans used; another is made only if a branch changes a rank
  std::uint64_t resumed = 0;        ///< guard misses after which another plan continued
  std::uint64_t restarted = 0;      ///< guard misses after which the request started again
  std::uint64_t shape_changes = 0;  ///< register groups recomputed
  std::uint64_t prepared = 0;       ///< steps prepared
  std::uint64_t iterations = 0;     ///< loop iterations
  std::uint64_t entered = 0;        ///< entries into the code of a plan
  std::uint64_t missed = 0;         ///< of these, exits at a launch whose guard did not hold
  std::uint64_t shared = 0;         ///< launched steps whose units went to the scheduler
  std::uint64_t concurrent = 0;     ///< of these, those that ran at the same time as the step before
  std::uint64_t copies_in = 0;      ///< storages copied to devices, without weights
  std::uint64_t copies_out = 0;     ///< storages copied from devices
  std::uint64_t device_steps = 0;   ///< kernel steps that devices ran
};

/// The state that all parts of a session share: limits, observer, scheduler. One per session, for all of its plans.
struct RunContext {
  Limits limits;
  ExecutionLimits execution_limits;
  Observer* observer = nullptr;
  std::shared_ptr<Scheduler> scheduler;  ///< null: one thread
  bool fast = true;                      ///< kernels of the numeric class "fast" may run
  bool padded_results = false;           ///< results may have padding where that spares a copy
  Counters counters;
  std::uint64_t steps_left = 0;  ///< of this request
  bool may_leave = false;        ///< the run may leave its thread while a step waits for an event
  std::shared_ptr<Event> event;  ///< what a step waits for, or has waited for until it runs again; null: none
};

}  // namespace frazil::exec
