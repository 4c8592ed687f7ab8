#include "exec/run/current_code.h"

#include <algorithm>
#include <utility>

#include "exec/native/compile_thread.h"

namespace frazil::exec {

CurrentCode::CurrentCode(RunContext& context, Executable& executable, Values& values, Memory& memory,
                         Launcher& launcher, RegisterGroups& groups)
    : context_(context),
      executable_(executable),
      values_(values),
      memory_(memory),
      launcher_(launcher),
      groups_(groups),
      codes_(executable.machine_code().plan()) {
  frame_ = {.regs = values_.regs.data(),
            .base = values_.base.data(),
            .capacities = memory_.capacities(),
            .calls = launcher_.native_calls().data(),
            .pointers = launcher_.pointers()};
  groups_.share_with(frame_);
}

void CurrentCode::begin() {
  if (codes_ == nullptr) return;
  find();
  if (is_wanted()) since_ = std::chrono::steady_clock::now(), left_since_ = context_.steps_left;
}

/// Finds the code for the extents in the registers.
void CurrentCode::find() {
  if (const std::uint64_t swaps = executable_.compiled().swaps(); swaps != swaps_) {
    swaps_ = swaps;
    launcher_.invalidate_all();
  }
  const std::uint64_t generation = codes_->generation();
  if (generation != generation_ || found_at_ != context_.counters.shape_changes) {
    code_ = codes_->find(values_.regs);
    generation_ = generation;
    found_at_ = context_.counters.shape_changes;
    asked_ = false;
    if (code_ != nullptr && !memory_.scratch(code_->scratch_bytes))
      code_ = nullptr;  // the limits leave too little memory
  }
}

void CurrentCode::spend_time(std::uint64_t left) {
  const auto now = std::chrono::steady_clock::now();
  const double nanoseconds = std::chrono::duration<double, std::nano>(now - std::exchange(since_, now)).count();
  const std::uint64_t steps = std::exchange(left_since_, left) - left;
  if (context_.observer == nullptr) {
    const auto code_request = codes_->record_run(values_.regs, nanoseconds, steps);
    if (code_request != PlanCodes::CodeRequest::nothing) make(code_request);
  }
  if (codes_->generation() != generation_) find();
}

/// Requests code for the current extents, from the bodies prepared for them.
void CurrentCode::make(PlanCodes::CodeRequest code_request) {
  const auto& steps = values_.plan.steps;
  asked_ = code_request == PlanCodes::CodeRequest::compile;
  std::vector<std::optional<code::NativeBody>> bodies(steps.size());
  for (StepIndex i = 0; i < steps.size(); ++i) {
    if (const auto* launch = steps[i].as<step::Launch>()) bodies[i] = launcher_.body(i, !codes_->is_fixed(*launch));
  }
  if (codes_->when() == Compiling::at_once) return codes_->compile(values_.regs, std::move(bodies), code_request);
  const bool posted = CompileThread::instance().post(
      [executable = executable_.weak_from_this(), regs = values_.regs, bodies = std::move(bodies), code_request] {
        if (const auto self = executable.lock()) self->machine_code().plan()->compile(regs, bodies, code_request);
      });
  if (!posted) codes_->withdraw(values_.regs);
}

Status CurrentCode::run(StepIndex& pc, std::uint64_t& left) {
  constexpr std::uint64_t kStepsBetweenPolls = 1024;
  const auto& steps = values_.plan.steps;
  // Bounded, so that limits are checked from time to time.
  const std::uint64_t given = std::min(left, steps.size() + kStepsBetweenPolls);
  auto scratch = memory_.scratch(std::max(code_->scratch_bytes, launcher_.native_calls().scratch_bytes()));
  if (!scratch) return at_node(values_.where(steps[pc]), std::move(scratch).error());
  frame_.worker = {0, *scratch};
  frame_.left = given;
  frame_.iterations = frame_.groups_recomputed = 0;
  pc = code_->run(&frame_, pc);
  left -= given - frame_.left;
  ++context_.counters.entered;
  context_.counters.missed += code_->runs[pc];
  context_.counters.iterations += frame_.iterations;
  if (frame_.groups_recomputed != 0) take_over_groups();
  FRAZIL_CHECK(launcher_.fault_of_call(pc));
  if (context_.execution_limits.poll()) [[unlikely]]
    return context_.execution_limits.reason();
  return {};
}

void CurrentCode::take_over_groups() {
  context_.counters.shape_changes += frame_.groups_recomputed;
  found_at_ += frame_.groups_recomputed;  // none of these determines which code runs
  groups_.take_over_recomputed();
}

}  // namespace frazil::exec
