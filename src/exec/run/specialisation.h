#pragma once

#include <map>
#include <memory>

#include "exec/run/runner.h"

namespace frazil::exec {

/// The plans of one session's graph. A plan's types assume values for the numbers that decide ranks (see Assumption).
/// If a guard misses, the plan for the actual value takes over, at the guard or from the beginning of the request. A
/// request that begins again too often, or would need one plan too many, ends in a plan that assumes nothing and has no
/// guards.
class Specialisations {
 public:
  Specialisations(std::shared_ptr<Executable> first, RunContext& context);

  /// Returns false if the run waits for RunContext::event; go_on() or abandon() must follow.
  Result<bool> run(std::span<const Datum> inputs, std::vector<Datum>& outputs);
  /// Continues a run that waits, after the event, with the same inputs and outputs.
  Result<bool> go_on(std::span<const Datum> inputs, std::vector<Datum>& outputs);
  void abandon() { current_->abandon(); }
  void drop_memory();
  /// Releases inputs and results after a run.
  void release();

 private:
  /// Follows guards that miss until the run ends or waits.
  Result<bool> follow(Result<Pause> pause, std::span<const Datum> inputs, std::vector<Datum>& outputs);
  /// Returns the runner for the plan to use after a miss. Its types assume the value that missed, the values that
  /// inputs decide, and otherwise those of `now`.
  Result<Runner*> after(const Runner& now, const GuardMiss& miss, std::span<const Datum> inputs);
  /// Returns the runner of a plan that assumes nothing.
  Result<Runner*> open();
  /// Returns the runner whose types follow `choices`.
  Result<Runner*> runner(const Choices& choices);

  RunContext& context_;
  std::shared_ptr<Executable> first_;
  std::unique_ptr<Runner> first_runner_;
  std::map<Choices, std::unique_ptr<Runner>> others_;  // null if it could not be made
  Runner* current_;                                    ///< the one used last
  int restarts_ = 0;                                   ///< of this request
  std::uint64_t streams_ = 0;                          ///< streams used before this request
};

}  // namespace frazil::exec
