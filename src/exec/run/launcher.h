#pragma once

#include <array>
#include <optional>
#include <vector>

#include "exec/memory/memory.h"
#include "exec/run/executable.h"
#include "exec/run/host_steps.h"
#include "exec/run/native_calls.h"
#include "exec/run/prepared_steps.h"
#include "exec/run/unit_runner.h"
#include "plan/memory/concurrent_steps.h"

namespace frazil::exec {

/// Runs launch steps: prepares their entries for new extents, then runs them on this thread or on the scheduler's
/// workers.
class Launcher {
 public:
  Launcher(RunContext& context, const Executable& executable, Values& values, Memory& memory);

  /// Discards the faults of a stopped run. Called before the first step of a request.
  void begin();
  /// Runs step `pc`. If it pays, also runs the next steps at the same time, at most `most` steps in all. The caller
  /// computes `most` from step::Launch::together. Returns the number of steps run, which is 0 if the step waits for
  /// RunContext::event and must run again. The error is that of the first step that fails.
  Result<std::uint32_t> launch(StepIndex pc, std::uint32_t most);
  /// Marks the step as unprepared, because extents that it depends on have changed.
  void invalidate(StepIndex pc) {
    steps_.invalidate(pc);
    native_calls_.withdraw(pc);
  }
  void invalidate_all();
  /// Marks the steps that wait for machine code as unprepared, because missing code was made.
  void invalidate_awaiting();
  /// Returns the step's fused body at the current extents; nullopt if it has none. With `prepared_only` it does not
  /// prepare the step.
  std::optional<code::NativeBody> body(StepIndex pc, bool prepared_only);
  /// Returns the fault of a launch that generated code called.
  Status fault_of_call(StepIndex pc) { return report(pc, faults_[0]); }
  NativeCalls& native_calls() { return native_calls_; }
  /// Returns the array for the operands of a step that runs alone.
  std::byte** pointers() { return pointers_.data(); }

 private:
  Status prepare(StepIndex pc, const code::KernelEntry& entry);
  void offer_call(StepIndex pc);
  Result<std::uint32_t> launch_kernel(StepIndex pc, const LaunchCode& code, const code::KernelEntry& entry,
                                      std::uint32_t most);
  std::uint32_t prepare_concurrent(StepIndex pc, std::uint32_t most);
  Result<std::uint32_t> run_concurrent(StepIndex pc, std::uint32_t count);
  void find_pointers(const LaunchCode& code, std::byte** to);
  Result<std::byte*> scratch(StepIndex pc, std::size_t bytes);
  Status report(StepIndex pc, code::FaultSlot& slot);
  Result<bool> run_host(StepIndex pc);
  Status run_on_device(StepIndex pc, const step::Launch& launch);
  const step::Launch& launch_of(StepIndex pc) const { return *plan_.steps[pc].as<step::Launch>(); }

  RunContext& context_;
  const CompiledPlan& compiled_;
  Values& values_;
  Memory& memory_;
  const Plan& plan_;
  HostSteps host_;
  PreparedSteps steps_;
  UnitRunner units_;
  NativeCalls native_calls_;
  OperandShapes host_shapes_;
  std::vector<std::byte*> pointers_;                    // of steps that run at the same time
  std::array<code::FaultSlot, kMaxConcurrent> faults_;  // a step that runs alone uses element 0
};

}  // namespace frazil::exec
