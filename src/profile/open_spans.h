#pragma once

#include <cstdint>
#include <vector>

#include "profile/plan_profile.h"

namespace frazil::profile {

/// The Ifs and Loops that the current step of a run is inside of, outermost first. Adds their times and counts to the
/// plan's profile, and their events to the log. Times are ticks().
class OpenSpans {
 public:
  explicit OpenSpans(TraceLog& log) : log_(log) {}

  /// Starts a run of the profile's plan, which has this number in the log.
  void begin_run(PlanProfile& profile, std::uint32_t plan, std::uint64_t now);
  /// Closes all spans at the time of the latest event.
  void end_run();

  /// Arrives at step `pc`: closes the spans that end before it and opens those that contain it. Both happened at the
  /// time of the latest event. Counts one event.
  void arrive(std::uint32_t pc);
  /// Sets the time of the latest event.
  void pass_time(std::uint64_t now) { last_ = now; }
  /// Records a step that took `took` ticks and ended at `now`.
  void add_step(std::uint64_t took, std::uint64_t now);
  /// Records the condition of the If or Loop whose branch is step `pc`.
  void add_branch(std::uint32_t pc, bool taken);
  /// Ends an iteration of the innermost loop.
  void end_iteration();

 private:
  struct Open {
    std::uint32_t span;
    std::uint64_t begin, inner = 0;
    std::uint64_t iterations = 0;
    std::uint64_t own_events = 0;
    std::size_t event, iteration_event;
  };

  void enter(std::uint32_t pc);
  void close();
  std::size_t add_event(TraceEvent event);

  TraceLog& log_;
  PlanProfile* now_ = nullptr;
  std::uint32_t plan_ = 0;
  std::vector<Open> open_;
  std::uint64_t last_ = 0;
};

}  // namespace frazil::profile
