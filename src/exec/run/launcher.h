#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "code/native/native_plan.h"
#include "exec/memory/memory.h"
#include "exec/run/executable.h"
#include "exec/run/host_steps.h"
#include "plan/memory/together.h"

namespace frazil::exec {

/// Runs launch steps: prepares their entries for new extents, then runs them on this thread or on the scheduler's
/// workers.
class Launcher {
 public:
  Launcher(RunContext& context, const Executable& executable, Values& values, Memory& memory);

  /// Discards the faults of a stopped run. Called before the first step of a request.
  void begin();
  /// Runs step `pc`. If it pays, also runs the next steps at the same time, at most `most` steps in all. The caller
  /// computes `most` from step::Launch::together. Returns the number of steps run. The error is that of the first step
  /// that fails.
  Result<std::uint32_t> launch(StepIndex pc, std::uint32_t most);
  /// Marks the step as unprepared, because extents that it depends on have changed.
  void invalidate(StepIndex pc) {
    prepared_[pc].ready = Ready::no;
    if (!calls_.empty()) calls_[pc].run = nullptr;
  }
  void invalidate_all();
  /// Marks the steps that wait for machine code as unprepared, because missing code was made.
  void invalidate_awaiting();
  /// Returns the step's fused body at the current extents; nullopt if it has none. With `prepared_only` it does not
  /// prepare the step.
  std::optional<code::NativeBody> body(StepIndex pc, bool prepared_only);
  /// Returns the fault of a launch that generated code called.
  Status fault_of_call(StepIndex pc) { return report(pc, faults_[0]); }
  /// These serve generated code: the launches that it may call, the bytes of scratch memory that they need, and the
  /// array for their operands.
  code::NativeCall* calls() { return calls_.empty() ? nullptr : calls_.data(); }
  std::size_t scratch_of_calls() const { return scratch_of_calls_; }
  std::byte** pointers() { return pointers_.data(); }
  /// Returns the weight that the slot is or is a part of; an empty reference for any other value.
  code::WeightRef weight_of(SlotId s) const;

 private:
  enum class Ready : std::uint8_t { no, yes, nothing_to_do };
  /// The state of a step as this session has prepared it.
  struct Prepared {
    const code::CompiledStep* step = nullptr;
    void (*run)(const code::Call&, const code::Worker&, std::int64_t, std::int64_t) = nullptr;  ///< KernelEntry::run
    std::byte* state = nullptr;
    Ready ready = Ready::no;
    std::size_t scratch = 0;        ///< bytes for each worker
    std::size_t scratch_bytes = 0;  ///< bytes for all workers
    std::int64_t units = 1;
    std::int64_t grain = 0;       ///< units in a range; 0: the session's thread runs all
    bool awaits_code = false;     ///< Prepare::awaits_code
    bool if_idle = false;         ///< shared only if another thread is awake
    double nanoseconds = 0;       ///< Prepare::nanoseconds
    std::int64_t last_units = 0;  ///< Prepare::last_units
    std::int64_t last_grain = 0;  ///< last units in a range
  };

  /// A range of units of one of the steps that run at the same time.
  struct Range {
    std::uint32_t step;
    std::int64_t begin, end;
  };

  Status prepare(StepIndex pc, const code::KernelEntry& entry);
  Status prepare(StepIndex pc, const code::CompiledStep& compiled);
  Status read_shapes(const Step& step, const step::Launch& launch);
  void share(const code::Prepare& cx, Prepared& p) const;
  std::int64_t grain(std::int64_t units, std::int64_t fewest, double nanoseconds) const;
  std::byte* state_of(StepIndex pc, const code::CompiledStep& compiled);
  void find_pointers(const LaunchCode& code, std::byte** to);
  Result<std::uint32_t> launch_kernel(StepIndex pc, const LaunchCode& code, const code::KernelEntry& entry,
                                      std::uint32_t most);
  Status report(StepIndex pc, code::FaultSlot& slot);
  static bool shares_better(const LaunchCode& code, const Prepared& p);
  void offer_call(StepIndex pc);
  std::uint32_t prepare_together(StepIndex pc, std::uint32_t most);
  void cut_together(StepIndex pc, std::uint32_t count);
  Result<std::uint32_t> run_together(StepIndex pc, std::uint32_t count);
  std::size_t scratch_of(StepIndex pc, std::uint32_t count) const;
  Result<std::byte*> scratch(StepIndex pc, std::size_t bytes);
  void run(const Prepared& p, std::uint16_t inputs, std::byte* scratch);
  bool pays(double nanoseconds) const;
  void run_shared(const code::Call& call, const Prepared& p, std::byte* scratch);
  Status run_host(StepIndex pc);
  Status run_on_device(StepIndex pc, const step::Launch& launch);
  const step::Launch& launch_of(StepIndex pc) const { return *plan_.steps[pc].as<step::Launch>(); }

  RunContext& context_;
  const Executable& executable_;
  Values& values_;
  Memory& memory_;
  const Plan& plan_;
  HostSteps host_;
  std::vector<Prepared> prepared_;       // per step
  std::vector<code::NativeCall> calls_;  // per step, if the plan has or may get code
  std::size_t scratch_of_calls_ = 0;
  std::vector<std::byte> state_memory_;
  std::byte* states_ = nullptr;
  std::map<StepIndex, std::unique_ptr<std::byte[]>> swapped_states_;  // of entries that replaced the first one
  std::vector<std::byte*> pointers_;                                  // of steps that run at the same time
  std::vector<std::int64_t> shape_memory_;
  std::vector<code::OperandShape> shapes_;
  std::vector<code::WeightRef> weights_;
  std::array<code::FaultSlot, kMostTogether> faults_;  // a step that runs alone uses element 0
  std::vector<Range> ranges_;
};

}  // namespace frazil::exec
