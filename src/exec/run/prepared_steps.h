#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "exec/run/executable.h"
#include "exec/run/operand_shapes.h"
#include "exec/run/run_context.h"
#include "exec/run/sharing.h"

namespace frazil::exec {

/// A launch step as a session has prepared it for the current extents. What each run reads comes first.
struct PreparedStep {
  enum class Ready : std::uint8_t { no, yes, nothing_to_do };
  const code::CompiledStep* step = nullptr;
  void (*run)(const code::Call&, const code::Worker&, std::int64_t, std::int64_t) = nullptr;  ///< KernelEntry::run
  std::byte* state = nullptr;
  Ready ready = Ready::no;
  std::size_t scratch_bytes = 0;  ///< bytes for all workers
  std::int64_t units = 1;
  Sharing sharing;
  std::size_t scratch = 0;      ///< bytes for each worker
  std::int64_t last_units = 0;  ///< Prepare::last_units
  double nanoseconds = 0;       ///< Prepare::nanoseconds
  bool awaits_code = false;     ///< Prepare::awaits_code

  /// Returns whether the step is prepared, and with this code.
  bool is_for(const code::CompiledStep& code) const { return ready != Ready::no && step == &code; }
};

/// The launch steps of a plan as a session has prepared them, with the memory of their states.
class PreparedSteps {
 public:
  PreparedSteps(RunContext& context, const Executable& executable, const Values& values);

  const PreparedStep& operator[](StepIndex pc) const { return steps_[pc]; }
  /// Returns the steps [`pc`, `pc` + `count`).
  std::span<const PreparedStep> range(StepIndex pc, std::uint32_t count) const {
    return std::span(steps_).subspan(pc, count);
  }
  /// Prepares a step of the host for the current extents. The step stays unprepared after an error.
  Status prepare(StepIndex pc, const code::KernelEntry& entry);
  /// Prepares a step that a device runs.
  Status prepare(StepIndex pc, const code::CompiledStep& compiled);
  void invalidate(StepIndex pc) { steps_[pc].ready = PreparedStep::Ready::no; }
  void invalidate_all();

 private:
  std::byte* state_of(StepIndex pc, const code::CompiledStep& compiled);

  RunContext& context_;
  const CompiledPlan& compiled_;
  code::WeightRefs& packed_;
  const Plan& plan_;
  const Values& values_;
  std::vector<PreparedStep> steps_;
  std::vector<std::byte> state_memory_;
  std::byte* states_ = nullptr;
  std::map<StepIndex, std::unique_ptr<std::byte[]>> swapped_states_;  // of entries that replaced the first one
  OperandShapes shapes_;
  std::vector<code::WeightRef> weights_;
};

}  // namespace frazil::exec
