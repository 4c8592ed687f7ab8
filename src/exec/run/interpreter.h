#pragma once

#include <optional>

#include "exec/observe/inner_values.h"
#include "exec/run/current_code.h"
#include "exec/run/value_steps.h"

namespace frazil::exec {

/// The interpreter of a plan's bytecode. Holds the program counter, and runs the steps of control flow itself.
class Interpreter {
 public:
  Interpreter(RunContext& context, Executable& executable, Values& values, Memory& memory, Launcher& launcher,
              RegisterGroups& groups);

  /// The place where a run ends. `halt_watched` also passes on watched values.
  enum class Until : std::uint8_t { halt, step, halt_watched };
  /// The step at which a run stopped before its Halt without a fault; neither it nor a later step has run.
  struct Exit {
    StepIndex at = 0;
    bool waits = false;  ///< the step waits for RunContext::event; otherwise it is a Guard that missed
  };
  /// Runs from step `from` until Halt, and returns nullopt, or until a guard misses or a step waits.
  Result<std::optional<Exit>> run(StepIndex from);
  /// Runs from step `from` until it reaches step `end` or a guard misses.
  Result<std::optional<Exit>> run(StepIndex from, StepIndex end) { return run_steps<Until::step>(from, end, nullptr); }
  /// Same as run(from), but also passes on watched values.
  Result<std::optional<Exit>> run(StepIndex from, InnerValues& watched) {
    return run_steps<Until::halt_watched>(from, kNone, &watched);
  }

 private:
  template <Until until>
  Result<std::optional<Exit>> run_steps(StepIndex pc, StepIndex end, InnerValues* watched);
  std::uint32_t max_concurrent(std::uint32_t planned, StepIndex to_end, std::uint64_t left) const;
  bool branch(StepIndex pc);
  /// Ends the run before step `at`, with `left` steps that it may still take.
  Exit leave(StepIndex at, std::uint64_t left, bool waits);
  std::unexpected<Fault> out_of_steps(const Step& step) const;

  RunContext& context_;
  const Op* const ops_;  // per step
  Values& values_;
  Memory& memory_;
  Launcher& launcher_;
  RegisterGroups& groups_;
  const Plan& plan_;
  ValueSteps value_steps_;
  CurrentCode code_;
};

}  // namespace frazil::exec
