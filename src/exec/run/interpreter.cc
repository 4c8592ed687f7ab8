#include "exec/run/interpreter.h"

#include <algorithm>
#include <utility>

namespace frazil::exec {

Interpreter::Interpreter(RunContext& context, Executable& executable, Values& values, Memory& memory,
                         Launcher& launcher, RegisterGroups& groups)
    : context_(context),
      ops_(executable.compiled().ops().data()),
      values_(values),
      memory_(memory),
      launcher_(launcher),
      groups_(groups),
      plan_(values.plan),
      value_steps_(values, memory),
      code_(context, executable, values, memory, launcher, groups) {}

Result<std::optional<Interpreter::Exit>> Interpreter::run(StepIndex from) {
  code_.begin();
  auto outcome = run_steps<Until::halt>(from, kNone, nullptr);
  if (outcome) code_.end();
  return outcome;
}

std::unexpected<Fault> Interpreter::out_of_steps(const Step& step) const {
  return fail_at(values_.where(step), Code::limit,
                 "the run took more than {} steps, with {} loop iterations since the session began",
                 context_.limits.steps, context_.counters.iterations);
}

inline bool Interpreter::branch(StepIndex pc) {
  const Step& step = plan_.steps[pc];
  const bool taken = *values_.pointer(step.as<step::Branch>()->condition) != std::byte{0};
  if (context_.observer != nullptr) context_.observer->branch(step, step.node, taken);
  return taken;
}

/// Returns how many of the `planned` next steps may run at the same time. Under an observer that is one. Otherwise the
/// end of the range and the limit on steps bound it.
inline std::uint32_t Interpreter::max_concurrent(std::uint32_t planned, StepIndex to_end, std::uint64_t left) const {
  if (planned == 1 || context_.observer != nullptr) return 1;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>({planned, to_end, left}));
}

Interpreter::Exit Interpreter::leave(StepIndex at, std::uint64_t left, bool waits) {
  context_.steps_left = left;
  return {.at = at, .waits = waits};
}

/// The main loop.
template <Interpreter::Until until>
Result<std::optional<Interpreter::Exit>> Interpreter::run_steps(StepIndex pc, StepIndex end,
                                                                [[maybe_unused]] InnerValues* watched) {
  constexpr std::uint64_t kPollEvery = 16;
  ExecutionLimits& limits = context_.execution_limits;
  std::int64_t* const regs = values_.regs.data();
  [[maybe_unused]] StepIndex before = kNone;
  [[maybe_unused]] const std::uint8_t* enters = until == Until::halt ? code_.entries() : nullptr;
  for (std::uint64_t left = context_.steps_left;; --left) {
    if constexpr (until == Until::halt) {
      if (enters != nullptr && enters[pc] != 0 && left >= plan_.steps.size()) {
        FRAZIL_CHECK(code_.run(pc, left));
      }
    }
    if constexpr (until == Until::halt_watched) FRAZIL_CHECK(watched->show(pc, std::exchange(before, pc)));
    if (until == Until::step && pc == end) {
      context_.steps_left = left;
      return std::nullopt;
    }
    const Op& op = ops_[pc];
    if (left == 0) [[unlikely]]
      return out_of_steps(plan_.steps[pc]);
    if (left % kPollEvery == 0 ? limits.poll() : limits.stopping()) [[unlikely]]
      return limits.reason();
    switch (op.kind) {
      case kind<step::Launch>(): {
        FRAZIL_TRY(const std::uint32_t ran, launcher_.launch(pc, max_concurrent(op.a, end - pc, left)));
        if (ran == 0) [[unlikely]]
          return leave(pc, left, true);
        pc += ran;
        left -= ran - 1;
        break;
      }
      case kind<step::Evaluate>():
        FRAZIL_CHECK(groups_.evaluate(op.a));
        ++pc;
        break;
      case kind<step::Branch>(): pc = branch(pc) ? pc + 1 : op.target; break;
      case kind<step::LeaveAt>():
        if (regs[op.a] < regs[op.b]) {
          ++pc;
          break;
        }
        if (context_.observer != nullptr) context_.observer->count_reached(plan_.steps[pc], plan_.steps[pc].node);
        pc = op.target;
        break;
      case kind<step::BackEdge>():
        ++context_.counters.iterations;
        if (context_.observer != nullptr) context_.observer->iteration(plan_.steps[pc], plan_.steps[pc].node);
        if constexpr (until == Until::halt) {
          if (code_.should_poll()) [[unlikely]] {
            code_.spend_time(left);
            enters = code_.entries();
          }
        }
        pc = op.target;
        break;
      case kind<step::Jump>(): pc = op.target; break;
      case kind<step::Set>():
        regs[op.a] = op.number;
        ++pc;
        break;
      case kind<step::Add>():
        regs[op.a] += op.number;
        ++pc;
        break;
      case kind<step::Swap>():
        memory_.swap(op.a, op.b);
        ++pc;
        break;
      case kind<step::Guard>():
        if (regs[op.a] != op.number) return leave(pc, left, false);
        ++pc;
        break;
      case kind<step::Halt>(): context_.steps_left = left; return std::nullopt;
      default: FRAZIL_CHECK(value_steps_.run(plan_.steps[pc])); ++pc;
    }
  }
}

using enum Interpreter::Until;
template Result<std::optional<Interpreter::Exit>> Interpreter::run_steps<halt>(StepIndex, StepIndex, InnerValues*);
template Result<std::optional<Interpreter::Exit>> Interpreter::run_steps<step>(StepIndex, StepIndex, InnerValues*);
template Result<std::optional<Interpreter::Exit>> Interpreter::run_steps<halt_watched>(StepIndex, StepIndex,
                                                                                       InnerValues*);

}  // namespace frazil::exec
