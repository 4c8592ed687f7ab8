#include "exec/run/launcher.h"

#include <algorithm>

namespace frazil::exec {
namespace {

/// Returns whether the step is worth running at the same time as others if there are threads.
bool shares_better(const LaunchCode& code, const PreparedStep& p) {
  constexpr double kAlone = 3e3;
  return code.grouped && p.nanoseconds > kAlone;
}

}  // namespace

using Ready = PreparedStep::Ready;

Launcher::Launcher(RunContext& context, const Executable& executable, Values& values, Memory& memory)
    : context_(context),
      compiled_(executable.compiled()),
      values_(values),
      memory_(memory),
      plan_(values.plan),
      host_(context, values, memory),
      steps_(context, executable, values),
      units_(context),
      native_calls_(executable.machine_code().plan() != nullptr ? plan_.steps.size() : 0),
      host_shapes_(values),
      pointers_(kMaxConcurrent * compiled_.max_operands(), nullptr) {}

void Launcher::begin() {
  for (code::FaultSlot& slot : faults_) {
    if (!slot.empty()) (void)slot.take();
  }
}

// ---- preparing ----

void Launcher::invalidate_all() {
  steps_.invalidate_all();
  native_calls_.withdraw_all();
}

void Launcher::invalidate_awaiting() {
  for (StepIndex pc = 0; pc < plan_.steps.size(); ++pc) {
    if (steps_[pc].awaits_code) invalidate(pc);
  }
}

Status Launcher::prepare(StepIndex pc, const code::KernelEntry& entry) {
  native_calls_.withdraw(pc);
  FRAZIL_CHECK(steps_.prepare(pc, entry));
  if (native_calls_.possible()) offer_call(pc);
  return {};
}

/// Offers the step to generated code if it is short and runs alone: between calls, nothing checks limits or idle
/// threads. Code with an inlined product reads the state of the step's first entry, so other entries are not offered.
void Launcher::offer_call(StepIndex pc) {
  constexpr double kShort = 20e3;
  const PreparedStep& p = steps_[pc];
  const LaunchCode& code = compiled_.launch(pc);
  const bool alone = p.sharing.grain == 0 && (context_.scheduler == nullptr || !shares_better(code, p));
  const bool other_state = code.first_emits && code.first_step != p.step;
  if (p.ready != Ready::yes || !alone || p.nanoseconds > kShort || other_state) return;
  const code::Call call{pointers_.data(), pointers_.data() + code.inputs, p.step->code.get(), p.state, faults_.data()};
  native_calls_.offer(pc, {.run = p.run, .call = call, .units = p.units}, p.scratch);
}

std::optional<code::NativeBody> Launcher::body(StepIndex pc, bool prepared_only) {
  const LaunchCode& code = compiled_.launch(pc);
  const code::KernelEntry* const entry = code.entry.load(std::memory_order_acquire);
  if (entry == nullptr || entry->emits == nullptr) return std::nullopt;
  const PreparedStep& p = steps_[pc];
  if (!p.is_for(entry->step) && (prepared_only || !prepare(pc, *entry))) return std::nullopt;
  if (p.ready != Ready::yes) return std::nullopt;
  auto body = entry->emits->body(entry->step.code.get(), p.state);
  if (!body || !body->product) return body;
  return code.first_step != &entry->step || shares_better(code, p) ? std::nullopt : std::move(body);
}

/// Returns how many steps from `pc` on are ready to run at the same time, or 1 if that does not pay. Step `pc` is
/// already prepared. A step that cannot be prepared runs alone later, and fails then.
std::uint32_t Launcher::prepare_concurrent(StepIndex pc, std::uint32_t most) {
  double nanoseconds = 0;
  std::uint32_t count = 0;
  for (; count < most; ++count) {
    const code::KernelEntry* const entry = compiled_.launch(pc + count).entry.load(std::memory_order_acquire);
    const PreparedStep& p = steps_[pc + count];
    if (entry == nullptr) break;
    if (!p.is_for(entry->step) && !prepare(pc + count, *entry)) break;
    if (p.ready != Ready::yes || p.last_units != 0) break;
    nanoseconds += p.nanoseconds;
  }
  return count > 1 && is_sharing_profitable(nanoseconds, *context_.scheduler) ? count : 1;
}

// ---- running ----

inline void Launcher::find_pointers(const LaunchCode& code, std::byte** to) {
  const OperandCode* const operand = compiled_.operands().data() + code.first;
  const int count = code.inputs + code.outputs;
  for (int k = 0; k < count; ++k) to[k] = values_.address(operand[k].storage, operand[k].offset, operand[k].elem_size);
}

Result<std::byte*> Launcher::scratch(StepIndex pc, std::size_t bytes) {
  auto scratch = memory_.scratch(bytes);
  if (scratch) return scratch;
  return at_node(values_.where(plan_.steps[pc]), std::move(scratch).error());
}

Status Launcher::report(StepIndex pc, code::FaultSlot& slot) {
  if (slot.empty()) [[likely]]
    return {};
  return at_node(values_.where(plan_.steps[pc]), slot.take().error());
}

/// Runs `count` prepared steps at the same time. Returns 1 and runs nothing if the limits leave too little scratch
/// memory.
Result<std::uint32_t> Launcher::run_concurrent(StepIndex pc, std::uint32_t count) {
  const auto steps = steps_.range(pc, count);
  const std::size_t scratch_bytes = std::ranges::max(steps, {}, &PreparedStep::scratch).scratch;
  const auto scratch = memory_.scratch(context_.scheduler->workers() * scratch_bytes);
  if (!scratch) return 1;
  std::array<code::Call, kMaxConcurrent> calls;
  for (std::uint32_t k = 0; k < count; ++k) {
    const LaunchCode& code = compiled_.launch(pc + k);
    std::byte** const to = pointers_.data() + k * compiled_.max_operands();
    find_pointers(code, to);
    calls[k] = {to, to + code.inputs, steps[k].step->code.get(), steps[k].state, &faults_[k]};
  }
  units_.run_concurrent(steps, calls, *scratch, scratch_bytes);
  for (std::uint32_t k = 0; k < count; ++k) FRAZIL_CHECK(report(pc + k, faults_[k]));
  return count;
}

inline Result<std::uint32_t> Launcher::launch_kernel(StepIndex pc, const LaunchCode& code,
                                                     const code::KernelEntry& entry, std::uint32_t most) {
  if (code.grows) FRAZIL_CHECK(memory_.ensure_results(launch_of(pc).out));
  const PreparedStep& p = steps_[pc];
  if (!p.is_for(entry.step)) [[unlikely]]
    FRAZIL_CHECK(prepare(pc, entry));
  if (most > 1 && context_.scheduler != nullptr) {
    if (const std::uint32_t ready = prepare_concurrent(pc, most); ready > 1) {
      FRAZIL_TRY(const std::uint32_t count, run_concurrent(pc, ready));
      if (count > 1) return count;
    }
  }
  if (p.ready == Ready::nothing_to_do) return 1;
  FRAZIL_TRY(std::byte* const at, scratch(pc, p.scratch_bytes));
  std::byte** const to = pointers_.data();
  find_pointers(code, to);
  units_.run(p, {to, to + code.inputs, p.step->code.get(), p.state, faults_.data()}, at);
  FRAZIL_CHECK(report(pc, faults_[0]));
  return 1;
}

Result<std::uint32_t> Launcher::launch(StepIndex pc, std::uint32_t most) try {
  const LaunchCode& code = compiled_.launch(pc);
  const code::KernelEntry* const entry = code.entry.load(std::memory_order_acquire);
  Observer* const observer = context_.observer;
  if (observer != nullptr && context_.event == nullptr) [[unlikely]]
    observer->step_begin(plan_.steps[pc], plan_.steps[pc].node);
  std::uint32_t count = 1;
  if (entry == nullptr) {
    FRAZIL_TRY(const bool ended, run_host(pc));
    if (!ended) return 0;
  } else {
    FRAZIL_TRY(count, launch_kernel(pc, code, *entry, most));
  }
  if (observer != nullptr) [[unlikely]]
    observer->step_end(plan_.steps[pc], plan_.steps[pc].node);
  return count;
} catch (const std::bad_alloc&) {
  return fail_at(values_.where(plan_.steps[pc]), Code::out_of_memory, "no memory is left");
}

Result<bool> Launcher::run_host(StepIndex pc) {
  const Step& step = plan_.steps[pc];
  const step::Launch& launch = launch_of(pc);
  if (launch.device != kHost) {
    FRAZIL_CHECK(run_on_device(pc, launch));
    return true;
  }
  FRAZIL_CHECK(host_shapes_.check_inputs(step, launch));
  return host_.run(step, launch);
}

Status Launcher::run_on_device(StepIndex pc, const step::Launch& launch) {
  const auto& compiled = compiled_.device_step(pc);
  const PreparedStep& p = steps_[pc];
  DeviceMemory& devices = memory_.devices();
  if (p.ready == Ready::no) {
    devices.wait(launch.device);  // it may still read the state
    FRAZIL_CHECK(steps_.prepare(pc, *compiled));
  }
  if (p.ready == Ready::nothing_to_do) return {};
  FRAZIL_CHECK(devices.scratch(launch.device, p.scratch));
  const LaunchCode& code = compiled_.launch(pc);
  find_pointers(code, pointers_.data());
  devices.launch(plan_.steps[pc], launch.device,
                 {.pointers = {pointers_.begin(), pointers_.begin() + code.inputs + code.outputs},
                  .inputs = code.inputs,
                  .step = compiled,
                  .state = p.state,
                  .units = p.units});
  return {};
}

}  // namespace frazil::exec
