#include "exec/run/interpreter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "exec/native/compile_thread.h"

namespace frazil::exec {
namespace {
constexpr std::uint64_t kStepsBetweenPolls = 1024;
constexpr std::uint32_t kRoundsBetweenLooks = 64;  ///< loop iterations until code is searched for again
}  // namespace

Interpreter::Interpreter(RunContext& context, Executable& executable, Values& values, Memory& memory,
                         Launcher& launcher)
    : context_(context),
      ops_(executable.compiled().ops().data()),
      values_(values),
      memory_(memory),
      launcher_(launcher),
      plan_(values.plan),
      known_(plan_.groups.size(), 0),
      recomputed_(plan_.groups.size(), 0),
      executable_(executable),
      codes_(executable.machine_code().plan()) {
  for (const RegGroup& group : plan_.groups) {
    seen_begin_.push_back(seen_.size());
    seen_.resize(seen_.size() + group.sources.size());
  }
  frame_ = {.regs = values_.regs.data(),
            .base = values_.base.data(),
            .capacities = memory_.capacities(),
            .calls = launcher_.native_calls().data(),
            .pointers = launcher_.pointers(),
            .seen = seen_.data(),
            .known = known_.data(),
            .recomputed = recomputed_.data()};
}

void Interpreter::invalidate() { std::ranges::fill(known_, std::uint8_t{0}); }

void Interpreter::forget(std::uint32_t group) {
  known_[group] = 0;
  for (StepIndex s : plan_.groups[group].dependents) launcher_.invalidate(s);
}

std::unexpected<Fault> Interpreter::out_of_steps(const Step& step) const {
  return fail(Code::limit, "{}the run took more than {} steps, with {} loop iterations since the session began",
              values_.where(step), context_.limits.steps, context_.counters.iterations);
}

// ---- machine code of the plan ----

Result<std::optional<Interpreter::Exit>> Interpreter::run(StepIndex from) {
  if (codes_ == nullptr) return run_steps<Until::halt>(from, kNone, nullptr);
  find_code();
  if (code_ == nullptr && !asked_) since_ = std::chrono::steady_clock::now(), left_since_ = context_.steps_left;
  auto outcome = run_steps<Until::halt>(from, kNone, nullptr);
  if (code_ == nullptr && !asked_ && outcome) time_passed(context_.steps_left);
  return outcome;
}

/// Finds the code for the extents of this run.
void Interpreter::find_code() {
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

/// Requests code if the time without it pays for it. Also finds code that was made meanwhile.
void Interpreter::time_passed(std::uint64_t left) {
  const auto now = std::chrono::steady_clock::now();
  const double nanoseconds = std::chrono::duration<double, std::nano>(now - std::exchange(since_, now)).count();
  const std::uint64_t steps = std::exchange(left_since_, left) - left;
  if (context_.observer == nullptr) {
    const auto wish = codes_->wants(values_.regs, nanoseconds, steps);
    if (wish != PlanCodes::Wish::nothing) make_code(wish);
  }
  if (codes_->generation() != generation_) find_code();
}

/// Requests code for the current extents, from the bodies prepared for them.
void Interpreter::make_code(PlanCodes::Wish wish) {
  asked_ = wish == PlanCodes::Wish::compile;
  std::vector<std::optional<code::NativeBody>> bodies(plan_.steps.size());
  for (StepIndex i = 0; i < plan_.steps.size(); ++i) {
    if (const auto* launch = plan_.steps[i].as<step::Launch>())
      bodies[i] = launcher_.body(i, !codes_->is_fixed(*launch));
  }
  if (codes_->when() == Compiling::at_once) return codes_->compile(values_.regs, std::move(bodies), wish);
  const bool posted = CompileThread::instance().post(
      [executable = executable_.weak_from_this(), regs = values_.regs, bodies = std::move(bodies), wish] {
        if (const auto self = executable.lock()) self->machine_code().plan()->compile(regs, bodies, wish);
      });
  if (!posted) codes_->withdraw(values_.regs);
}

/// Runs machine code from step `pc` on. Sets `pc` to the first step that the code leaves to the interpreter.
inline Status Interpreter::run_code(StepIndex& pc, std::uint64_t& left) {
  // Bounded, so that limits are checked from time to time.
  const std::uint64_t given = std::min(left, plan_.steps.size() + kStepsBetweenPolls);
  auto scratch = memory_.scratch(std::max(code_->scratch_bytes, launcher_.native_calls().scratch_bytes()));
  if (!scratch) return within(values_.where(plan_.steps[pc]), std::move(scratch).error());
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

/// Marks the launches that depend on groups recomputed by the code as unprepared.
void Interpreter::take_over_groups() {
  context_.counters.shape_changes += frame_.groups_recomputed;
  found_at_ += frame_.groups_recomputed;  // none of these determines which code runs
  for (std::size_t g = 0; g < recomputed_.size(); ++g) {
    if (std::exchange(recomputed_[g], std::uint8_t{0}) == 0) continue;
    for (StepIndex s : plan_.groups[g].dependents) launcher_.invalidate(s);
  }
}

inline bool Interpreter::branch(StepIndex pc) {
  const Step& step = plan_.steps[pc];
  const bool taken = *values_.pointer(step.as<step::Branch>()->condition) != std::byte{0};
  if (context_.observer != nullptr) context_.observer->branch(step, step.node, taken);
  return taken;
}

/// Returns how many of the `planned` next steps may run at the same time. Under an observer that is one. Otherwise the
/// end of the range and the limit on steps bound it.
inline std::uint32_t Interpreter::most_together(std::uint32_t planned, StepIndex to_end, std::uint64_t left) const {
  if (planned == 1 || context_.observer != nullptr) return 1;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>({planned, to_end, left}));
}

/// The main loop.
template <Interpreter::Until until>
Result<std::optional<Interpreter::Exit>> Interpreter::run_steps(StepIndex pc, StepIndex end,
                                                                [[maybe_unused]] InnerValues* watched) {
  constexpr std::uint64_t kPollEvery = 16;
  ExecutionLimits& limits = context_.execution_limits;
  std::int64_t* const regs = values_.regs.data();
  [[maybe_unused]] StepIndex before = kNone;
  [[maybe_unused]] const std::uint8_t* enters = until == Until::halt ? entries() : nullptr;
  for (std::uint64_t left = context_.steps_left;; --left) {
    if constexpr (until == Until::halt) {
      if (enters != nullptr && enters[pc] != 0 && left >= plan_.steps.size()) {
        FRAZIL_CHECK(run_code(pc, left));
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
        FRAZIL_TRY(const std::uint32_t ran, launcher_.launch(pc, most_together(op.a, end - pc, left)));
        pc += ran;
        left -= ran - 1;
        break;
      }
      case kind<step::Evaluate>():
        FRAZIL_CHECK(evaluate(op.a));
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
      case kind<step::Again>():
        ++context_.counters.iterations;
        if (context_.observer != nullptr) context_.observer->iteration(plan_.steps[pc], plan_.steps[pc].node);
        if constexpr (until == Until::halt) {
          if (codes_ != nullptr && code_ == nullptr && rounds_++ % kRoundsBetweenLooks == 0) [[unlikely]] {
            time_passed(left);
            enters = entries();
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
        if (regs[op.a] != op.number) {
          context_.steps_left = left;
          return Exit{pc};
        }
        ++pc;
        break;
      case kind<step::Halt>(): context_.steps_left = left; return std::nullopt;
      default: FRAZIL_CHECK(other_step(plan_.steps[pc])); ++pc;
    }
  }
}

using enum Interpreter::Until;
template Result<std::optional<Interpreter::Exit>> Interpreter::run_steps<halt>(StepIndex, StepIndex, InnerValues*);
template Result<std::optional<Interpreter::Exit>> Interpreter::run_steps<step>(StepIndex, StepIndex, InnerValues*);
template Result<std::optional<Interpreter::Exit>> Interpreter::run_steps<halt_watched>(StepIndex, StepIndex,
                                                                                       InnerValues*);

Status Interpreter::other_step(const Step& step) {
  switch (step.body.index()) {
    case kind<step::Load>(): {
      const auto& load = *step.as<step::Load>();
      values_.regs[load.to] = values_.scalar(load.from);
      return {};
    }
    case kind<step::Store>(): return run_store(*step.as<step::Store>());
    case kind<step::Assign>(): run_assign(*step.as<step::Assign>()); return {};
    case kind<step::Check>(): return run_check(step, *step.as<step::Check>());
    case kind<step::Bind>(): return run_bind(step, *step.as<step::Bind>());
    case kind<step::Pick>(): return run_pick(step, *step.as<step::Pick>());
    case kind<step::Append>(): return run_append(step, *step.as<step::Append>());
    case kind<step::Reserve>(): return memory_.reserve(*step.as<step::Reserve>());
    case kind<step::Reset>(): return run_reset(*step.as<step::Reset>());
    case kind<step::Grow>(): return memory_.grow(*step.as<step::Grow>());
    case kind<step::Move>(): return run_move(step, *step.as<step::Move>());
    case kind<step::Slice>(): return run_slice(step, *step.as<step::Slice>());
    case kind<step::Stack>(): return run_stack(step, *step.as<step::Stack>());
    case kind<step::Transfer>(): return memory_.devices().transfer(step, *step.as<step::Transfer>());
    default: return fail(Code::internal, "a step '{}' of the plan is out of place", name_of(step));
  }
}

Status Interpreter::evaluate(std::uint32_t index) {
  const RegGroup& group = plan_.groups[index];
  const std::span seen(seen_.data() + seen_begin_[index], group.sources.size());
  bool stale = known_[index] == 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const std::int64_t now = values_.regs[group.sources[i]];
    stale |= seen[i] != now;
    seen[i] = now;
  }
  if (!stale) return {};
  known_[index] = 0;
  ++context_.counters.shape_changes;
  group.program.run(values_.regs, 0,
                    group.program.code.size());  // x / 0 is 0; check steps report where that is an error
  for (StepIndex s : group.dependents) launcher_.invalidate(s);
  if (index == 0) FRAZIL_CHECK(memory_.lay_out_arena());
  known_[index] = 1;
  if (context_.observer != nullptr) context_.observer->shapes_changed(index);
  return {};
}

// ---- registers ----

Status Interpreter::run_bind(const Step& step, const step::Bind& bind) {
  if (plan_.slot(bind.from).object) {
    return fail(Code::unsupported, "{}a shape cannot come from a value of unknown rank", values_.where(step));
  }
  const std::int64_t count = bind.count == kNoReg ? Dim::kMax : values_.regs[bind.count];
  for (const auto& e : bind.elements) {
    if (e.element >= count) {
      values_.regs[e.to] = 0;
      continue;
    }
    values_.regs[e.to] = std::clamp(values_.integer(bind.from, e.element), Dim::kMin, Dim::kMax);
  }
  return {};
}

Status Interpreter::run_pick(const Step& step, const step::Pick& pick) {
  const std::int64_t index = values_.scalar(pick.index), extent = values_.regs[pick.extent];
  if (index < -extent || index >= extent) {
    return fail(Code::bad_input, "{}input 'indices': index {} at [] is outside [{}, {}]", values_.where(step), index,
                -extent, extent - 1);
  }
  values_.regs[pick.to] = index < 0 ? index + extent : index;
  return {};
}

Status Interpreter::run_store(const step::Store& store) {
  const Slot& slot = plan_.slot(store.to);
  const Storage& storage = plan_.storages[slot.storage];
  if (storage.place == Place::growing && storage.bytes != kNoReg) {
    FRAZIL_CHECK(memory_.ensure(slot.storage,
                                static_cast<std::size_t>(std::max<std::int64_t>(values_.regs[storage.bytes], 64))));
  }
  std::byte* p = values_.pointer(store.to);
  for (Reg reg : store.elements) {
    const std::int64_t v = values_.regs[reg];
    switch (byte_size(slot.elem)) {
      case 8: std::memcpy(p, &v, 8); break;
      case 4: {
        const auto narrow = static_cast<std::int32_t>(v);
        std::memcpy(p, &narrow, 4);
        break;
      }
      default: *p = static_cast<std::byte>(v); break;
    }
    p += byte_size(slot.elem);
  }
  return {};
}

void Interpreter::run_assign(const step::Assign& assign) {
  auto& regs = values_.regs;
  if (assign.copies.size() == 1) {
    regs[assign.copies[0].to] = regs[assign.copies[0].from];
    return;
  }
  moving_.clear();
  for (const auto& c : assign.copies) moving_.push_back(regs[c.from]);
  for (std::size_t i = 0; i < assign.copies.size(); ++i) regs[assign.copies[i].to] = moving_[i];
}

Status Interpreter::run_check(const Step& step, const step::Check& check) {
  const std::int64_t a = values_.regs[check.a], b = values_.regs[check.b];
  if (a == b) return {};
  return fail(Code::bad_input, "{}: {}: {} is not {}", plan_.graph->describe(step.node), plan_.texts[check.what], a, b);
}

// ---- what loops collect ----

Status Interpreter::run_reset(const step::Reset& reset) {
  const Accumulator& acc = plan_.accumulators[reset.accumulator.id];
  values_.regs[acc.count] = 0;
  for (Reg r : acc.dims) values_.regs[r] = 0;
  values_.gathered[reset.accumulator.id] = {};
  return memory_.ensure(acc.storage, 64);
}

Status Interpreter::run_append(const Step& step, const step::Append& append) {
  const Accumulator& acc = plan_.accumulators[append.accumulator.id];
  if (acc.object) return append_object(step, append);
  auto& regs = values_.regs;
  const Slot& slot = plan_.slot(append.part);
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < acc.dims.size(); ++i) {
    const std::int64_t d = regs[slot.dims[i]];
    if (regs[acc.count] > 0 && regs[acc.dims[i]] != d) {
      return fail(Code::bad_input, "{}a scan output changes its extent from {} to {}", values_.where(step),
                  regs[acc.dims[i]], d);
    }
    regs[acc.dims[i]] = d;
    elements *= d;
  }
  const std::size_t bytes = static_cast<std::size_t>(elements) * byte_size(slot.elem);
  const std::size_t at = static_cast<std::size_t>(regs[acc.count]) * bytes;
  ++regs[acc.count];
  if (append.in_place) return {};
  FRAZIL_CHECK(memory_.ensure(acc.storage, at + std::max<std::size_t>(bytes, 64), true));
  if (bytes != 0) std::memcpy(values_.base[acc.storage] + at, values_.pointer(append.part), bytes);
  return {};
}

Status Interpreter::append_object(const Step& step, const step::Append& append) {
  const Accumulator& acc = plan_.accumulators[append.accumulator.id];
  FRAZIL_TRY(const Datum datum, values_.owned(append.part));
  if (!datum.is_tensor()) return fail(Code::bad_input, "{}a scan output is no tensor", values_.where(step));
  const Tensor& part = datum.tensor();
  if (Status s = values_.gathered[append.accumulator.id].add(part); !s) {
    return within(values_.where(step), std::move(s).error());
  }
  for (std::size_t i = 0; i < acc.dims.size(); ++i) values_.regs[acc.dims[i]] = part.sizes()[i];
  ++values_.regs[acc.count];
  return {};
}

Status Interpreter::run_stack(const Step& step, const step::Stack& stack) {
  const Slot& out = plan_.slot(stack.to);
  const ref::Gathered gathered = std::exchange(values_.gathered[stack.accumulator.id], {});
  const auto nothing = [&] {
    Sizes sizes;
    values_.sizes_of(out, sizes);
    if (sizes.empty()) sizes.push_back(0);  // the rank is unknown
    return Tensor::make(out.elem, std::move(sizes));
  };
  Result<Tensor> whole = gathered.empty() ? nothing() : gathered.stack(stack.axis, stack.reversed);
  if (!whole) return within(values_.where(step), std::move(whole).error());
  values_.object(stack.to) = Datum(*std::move(whole));
  return {};
}

// ---- objects ----

Status Interpreter::run_move(const Step& step, const step::Move& move) {
  if (!plan_.slot(move.to).object) {
    return fail(Code::internal, "{}a value of unknown rank meets one of known rank", values_.where(step));
  }
  FRAZIL_TRY(values_.object(move.to), values_.owned(move.from));
  return {};
}

Status Interpreter::run_slice(const Step& step, const step::Slice& slice) {
  const Tensor& whole = values_.object(slice.from).tensor();
  Result<Tensor> part = ref::slice(whole, slice.axis, values_.regs[slice.at], slice.reversed);
  if (!part) return within(values_.where(step), std::move(part).error());
  values_.object(slice.to) = Datum(*std::move(part));
  return {};
}

}  // namespace frazil::exec
