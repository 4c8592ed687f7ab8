#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "exec/memory/memory.h"
#include "exec/native/plan_code.h"
#include "exec/observe/inner_values.h"
#include "exec/run/launcher.h"

namespace frazil::exec {

/// The interpreter of a plan's bytecode. Holds the program counter, and runs the steps that neither compute nor need
/// memory of their own.
class Interpreter {
 public:
  Interpreter(RunContext& context, Executable& executable, Values& values, Memory& memory, Launcher& launcher);

  /// The place where a run ends. `halt_watched` also passes on watched values.
  enum class Until : std::uint8_t { halt, step, halt_watched };
  /// The reason why a run ended before its Halt without a fault.
  struct Exit {
    StepIndex guard = 0;  ///< the Guard that missed; no later step has run
  };
  /// Runs from step `from` until Halt, and returns nullopt, or until a guard misses.
  Result<std::optional<Exit>> run(StepIndex from);
  /// Runs from step `from` until it reaches step `end` or a guard misses.
  Result<std::optional<Exit>> run(StepIndex from, StepIndex end) { return run_steps<Until::step>(from, end, nullptr); }
  /// Same as run(from), but also passes on watched values.
  Result<std::optional<Exit>> run(StepIndex from, InnerValues& watched) {
    return run_steps<Until::halt_watched>(from, kNone, &watched);
  }
  /// Recomputes a register group if its sources have changed. Marks the launches that depend on it as unprepared.
  Status evaluate(std::uint32_t index);
  /// Marks a group as stale because its registers or their sources were changed from outside.
  void forget(std::uint32_t group);
  /// Marks all groups as stale.
  void invalidate();

 private:
  template <Until until>
  Result<std::optional<Exit>> run_steps(StepIndex pc, StepIndex end, InnerValues* watched);
  void find_code();
  void make_code(PlanCodes::Wish wish);
  void time_passed(std::uint64_t left);
  const std::uint8_t* entries() const {
    return code_ == nullptr || context_.observer != nullptr ? nullptr : code_->enters.data();
  }
  Status run_code(StepIndex& pc, std::uint64_t& left);
  std::uint32_t most_together(std::uint32_t planned, StepIndex to_end, std::uint64_t left) const;
  void take_over_groups();
  bool branch(StepIndex pc);
  Status other_step(const Step& step);
  Status run_bind(const Step& step, const step::Bind& bind);
  Status run_pick(const Step& step, const step::Pick& pick);
  Status run_store(const step::Store& store);
  void run_assign(const step::Assign& assign);
  Status run_check(const Step& step, const step::Check& check);
  Status run_append(const Step& step, const step::Append& append);
  Status append_object(const Step& step, const step::Append& append);
  Status run_reset(const step::Reset& reset);
  Status run_stack(const Step& step, const step::Stack& stack);
  Status run_move(const Step& step, const step::Move& move);
  Status run_slice(const Step& step, const step::Slice& slice);
  std::unexpected<Fault> out_of_steps(const Step& step) const;

  RunContext& context_;
  const Op* const ops_;  // per step
  Values& values_;
  Memory& memory_;
  Launcher& launcher_;
  const Plan& plan_;
  std::vector<std::int64_t> seen_;        // all groups, concatenated: the sources' values that they were computed from
  std::vector<std::size_t> seen_begin_;   // per group
  std::vector<std::uint8_t> known_;       // per group: it was computed from seen_
  std::vector<std::uint8_t> recomputed_;  // per group: machine code has recomputed it
  Executable& executable_;
  PlanCodes* const codes_;
  std::uint64_t swaps_ = 0;                        // CompiledPlan::swaps() when launches were last offered to the code
  std::uint64_t generation_ = 0;                   // generation of codes_ when code_ was found
  std::uint64_t found_at_ = 0;                     // shape changes when code_ was found
  bool asked_ = false;                             // code was requested and may come
  std::chrono::steady_clock::time_point since_{};  // start of the time that counts as time without code
  std::uint64_t left_since_ = 0;                   // steps left at since_
  std::uint32_t rounds_ = 0;                       // loop iterations without code
  std::shared_ptr<const PlanCode> code_;
  code::NativeFrame frame_;
  std::vector<std::int64_t> moving_;  // values of an Assign
};

}  // namespace frazil::exec
