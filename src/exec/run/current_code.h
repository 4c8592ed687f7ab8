#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "exec/memory/memory.h"
#include "exec/run/register_groups.h"

namespace frazil::exec {

/// The machine code of the plan for the extents of the current run. Finds the code that exists, requests missing code,
/// and runs it. Does nothing if the executable has no code for whole plans.
class CurrentCode {
 public:
  CurrentCode(RunContext& context, Executable& executable, Values& values, Memory& memory, Launcher& launcher,
              RegisterGroups& groups);

  /// Finds the code before the first step of a run.
  void begin();
  /// Requests code after the last step of a run, if the time without it pays for it.
  void end() {
    if (is_wanted()) spend_time(context_.steps_left);
  }
  /// Counts a loop iteration. Returns true in every kRoundsBetweenPolls-th one, as long as no code is there. The caller
  /// then calls spend_time().
  bool should_poll() { return codes_ != nullptr && code_ == nullptr && rounds_++ % kRoundsBetweenPolls == 0; }
  /// Counts the time since begin() or the last call as time without code, and requests code if that pays. Then finds
  /// code that was made meanwhile. `left`: the number of steps that the run may still take.
  void spend_time(std::uint64_t left);

  /// Returns per step whether run() may be called there; null if there is no code or an observer needs all steps.
  const std::uint8_t* entries() const {
    return code_ == nullptr || context_.observer != nullptr ? nullptr : code_->enters.data();
  }
  /// Runs machine code from step `pc` on. Sets `pc` to the first step that the code leaves to the interpreter, and
  /// subtracts the steps that it has run from `left`.
  Status run(StepIndex& pc, std::uint64_t& left);

 private:
  static constexpr std::uint32_t kRoundsBetweenPolls = 64;

  bool is_wanted() const { return codes_ != nullptr && code_ == nullptr && !asked_; }
  void find();
  void make(PlanCodes::CodeRequest code_request);
  void take_over_groups();

  RunContext& context_;
  Executable& executable_;
  Values& values_;
  Memory& memory_;
  Launcher& launcher_;
  RegisterGroups& groups_;
  PlanCodes* const codes_;
  std::shared_ptr<const PlanCode> code_;
  code::NativeFrame frame_;
  std::uint64_t swaps_ = 0;                        // CompiledPlan::swaps() when launches were last offered to the code
  std::uint64_t generation_ = 0;                   // generation of codes_ when code_ was found
  std::uint64_t found_at_ = 0;                     // shape changes when code_ was found
  bool asked_ = false;                             // code was requested and may come
  std::chrono::steady_clock::time_point since_{};  // start of the time that counts as time without code
  std::uint64_t left_since_ = 0;                   // steps left at since_
  std::uint32_t rounds_ = 0;                       // loop iterations without code
};

}  // namespace frazil::exec
