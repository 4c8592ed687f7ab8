#include "exec/run/launcher.h"

#include <algorithm>
#include <cmath>

#include "kernel/tuning/tuning.h"

namespace frazil::exec {
namespace {

constexpr std::int64_t kRangesPerWorker = 4;
/// Work that pays if a thread is already awake, as a share of the work that pays for waking one.
constexpr double kIdleShare = 0.25;

/// Checks an empty operand's other extents for overflow: kernels compute offsets and rows from them too.
Status check_empty(const code::OperandShape& shape) {
  if (!shape.given || !shape.empty()) return {};
  auto bytes = byte_count(shape.elem, shape.dims);
  return bytes ? Status{} : std::unexpected(std::move(bytes).error());
}

}  // namespace

Launcher::Launcher(RunContext& context, const Executable& executable, Values& values, Memory& memory)
    : context_(context),
      executable_(executable),
      values_(values),
      memory_(memory),
      plan_(values.plan),
      host_(values, memory),
      prepared_(plan_.steps.size()),
      state_memory_(executable.state_bytes() + kAlignment),
      pointers_(kMostTogether * executable.most_operands(), nullptr) {
  if (executable.plan_codes() != nullptr) calls_.resize(plan_.steps.size());
  const auto address = reinterpret_cast<std::uintptr_t>(state_memory_.data());
  states_ = state_memory_.data() + (kAlignment - address % kAlignment) % kAlignment;
}

void Launcher::invalidate_all() {
  for (Prepared& p : prepared_) p.ready = Ready::no;
  for (code::NativeCall& c : calls_) c.run = nullptr;
}

void Launcher::invalidate_awaiting() {
  for (StepIndex pc = 0; pc < prepared_.size(); ++pc) {
    if (prepared_[pc].awaits_code) invalidate(pc);
  }
}

void Launcher::begin() {
  for (code::FaultSlot& slot : faults_) {
    if (!slot.empty()) (void)slot.take();
  }
}

inline void Launcher::find_pointers(const LaunchCode& code, std::byte** to) {
  const OperandCode* const operand = executable_.operands().data() + code.first;
  const int count = code.inputs + code.outputs;
  for (int k = 0; k < count; ++k) to[k] = values_.address(operand[k].storage, operand[k].offset, operand[k].elem_size);
}

[[gnu::noinline]] void Launcher::run_shared(const code::Call& call, const Prepared& p, std::byte* scratch) {
  ++context_.counters.shared;
  const auto share = [&](std::int64_t first, std::int64_t past, std::int64_t grain) {
    context_.scheduler->parallel_for(past - first, grain, [&](std::int64_t begin, std::int64_t end, unsigned worker) {
      p.run(call, {worker, scratch + worker * p.scratch}, first + begin, first + end);
    });
  };
  const std::int64_t last = p.units - p.last_units;
  share(0, last, p.grain);
  if (p.last_units == 0 || stop_requested()) return;
  if (p.last_grain == 0) return p.run(call, {0, scratch}, last, p.units);
  share(last, p.units, p.last_grain);
}

inline void Launcher::run(const Prepared& p, std::uint16_t inputs, std::byte* scratch) {
  const code::Call call{pointers_.data(), pointers_.data() + inputs, p.step->code.get(), p.state, faults_.data()};
  if (p.grain != 0 && (!p.if_idle || context_.scheduler->has_idle())) return run_shared(call, p, scratch);
  p.run(call, {0, scratch}, 0, p.units);
}

/// Cuts steps into ranges. Each worker gets the same part of every step, as it does of steps that run alone.
void Launcher::cut_together(StepIndex pc, std::uint32_t count) {
  const std::int64_t workers = context_.scheduler->workers();
  ranges_.clear();
  for (std::int64_t w = 0; w < workers; ++w) {
    for (std::uint32_t k = 0; k < count; ++k) {
      const Prepared& p = prepared_[pc + k];
      const std::int64_t grain = p.grain != 0 ? p.grain : p.units, ranges = ceil_div(p.units, grain);
      // A step that is not cut goes to the worker of its number.
      const std::int64_t first = ranges == 1 ? (k % workers == w ? 0 : 1) : w * ranges / workers;
      const std::int64_t past = ranges == 1 ? 1 : (w + 1) * ranges / workers;
      for (std::int64_t r = first; r < past; ++r) ranges_.push_back({k, r * grain, std::min(p.units, (r + 1) * grain)});
    }
  }
}

/// Returns the bytes of scratch memory for each worker while steps run at the same time.
std::size_t Launcher::scratch_of(StepIndex pc, std::uint32_t count) const {
  std::size_t bytes = 0;
  for (std::uint32_t k = 0; k < count; ++k) bytes = std::max(bytes, prepared_[pc + k].scratch);
  return bytes;
}

/// Runs `count` prepared steps at the same time. Returns 1 and runs nothing if the limits leave too little scratch
/// memory.
Result<std::uint32_t> Launcher::run_together(StepIndex pc, std::uint32_t count) {
  const std::size_t scratch_bytes = scratch_of(pc, count);
  const auto scratch = memory_.scratch(context_.scheduler->workers() * scratch_bytes);
  if (!scratch) return 1;
  std::array<code::Call, kMostTogether> calls;
  for (std::uint32_t k = 0; k < count; ++k) {
    const LaunchCode& code = executable_.launch(pc + k);
    const Prepared& p = prepared_[pc + k];
    std::byte** const to = pointers_.data() + k * executable_.most_operands();
    find_pointers(code, to);
    calls[k] = {to, to + code.inputs, p.step->code.get(), p.state, &faults_[k]};
  }
  cut_together(pc, count);
  const auto ranges = static_cast<std::int64_t>(ranges_.size());
  context_.scheduler->parallel_for(ranges, 1, [&](std::int64_t begin, std::int64_t, unsigned worker) {
    const Range& r = ranges_[static_cast<std::size_t>(begin)];
    prepared_[pc + r.step].run(calls[r.step], {worker, *scratch + worker * scratch_bytes}, r.begin, r.end);
  });
  context_.counters.shared += count;
  context_.counters.together += count - 1;
  for (std::uint32_t k = 0; k < count; ++k) FRAZIL_CHECK(report(pc + k, faults_[k]));
  return count;
}

/// Returns how many steps from `pc` on are ready to run at the same time, or 1 if that does not pay. Step `pc` is
/// already prepared. A step that cannot be prepared runs alone later, and fails then.
std::uint32_t Launcher::prepare_together(StepIndex pc, std::uint32_t most) {
  double nanoseconds = 0;
  std::uint32_t count = 0;
  for (; count < most; ++count) {
    const code::KernelEntry* const entry = executable_.launch(pc + count).entry.load(std::memory_order_acquire);
    Prepared& p = prepared_[pc + count];
    if (entry == nullptr) break;
    if ((p.ready == Ready::no || p.step != &entry->step) && !prepare(pc + count, *entry)) break;
    if (p.ready != Ready::yes || p.last_units != 0) break;
    nanoseconds += p.nanoseconds;
  }
  return count > 1 && pays(nanoseconds) ? count : 1;
}

bool Launcher::pays(double nanoseconds) const {
  const double from = kernel::shared_from(kernel::tuning());
  return nanoseconds >= from || (nanoseconds >= kIdleShare * from && context_.scheduler->has_idle());
}

Status Launcher::report(StepIndex pc, code::FaultSlot& slot) {
  if (slot.empty()) [[likely]]
    return {};
  return within(values_.where(plan_.steps[pc]), slot.take().error());
}

inline Result<std::uint32_t> Launcher::launch_kernel(StepIndex pc, const LaunchCode& code,
                                                     const code::KernelEntry& entry, std::uint32_t most) {
  if (code.grows) FRAZIL_CHECK(memory_.ensure_results(launch_of(pc).out));
  Prepared& p = prepared_[pc];
  if (p.ready == Ready::no || p.step != &entry.step) [[unlikely]]
    FRAZIL_CHECK(prepare(pc, entry));
  if (most > 1 && context_.scheduler != nullptr) {
    if (const std::uint32_t ready = prepare_together(pc, most); ready > 1) {
      FRAZIL_TRY(const std::uint32_t count, run_together(pc, ready));
      if (count > 1) return count;
    }
  }
  if (p.ready == Ready::nothing_to_do) return 1;
  FRAZIL_TRY(std::byte* const at, scratch(pc, p.scratch_bytes));
  find_pointers(code, pointers_.data());
  run(p, code.inputs, at);
  FRAZIL_CHECK(report(pc, faults_[0]));
  return 1;
}

Result<std::uint32_t> Launcher::launch(StepIndex pc, std::uint32_t most) try {
  const LaunchCode& code = executable_.launch(pc);
  const code::KernelEntry* const entry = code.entry.load(std::memory_order_acquire);
  Observer* const observer = context_.observer;
  if (observer != nullptr) [[unlikely]]
    observer->step_begin(plan_.steps[pc], plan_.steps[pc].node);
  std::uint32_t count = 1;
  if (entry == nullptr) {
    FRAZIL_CHECK(run_host(pc));
  } else {
    FRAZIL_TRY(count, launch_kernel(pc, code, *entry, most));
  }
  if (observer != nullptr) [[unlikely]]
    observer->step_end(plan_.steps[pc], plan_.steps[pc].node);
  return count;
} catch (const std::bad_alloc&) {
  return fail(Code::out_of_memory, "{}no memory is left", values_.where(plan_.steps[pc]));
}

Status Launcher::run_host(StepIndex pc) {
  const Step& step = plan_.steps[pc];
  const step::Launch& launch = launch_of(pc);
  if (launch.device != kHost) return run_on_device(pc, launch);
  FRAZIL_CHECK(read_shapes(step, launch));
  return host_.run(step, launch);
}

Status Launcher::run_on_device(StepIndex pc, const step::Launch& launch) {
  const auto& compiled = executable_.device_step(pc);
  Prepared& p = prepared_[pc];
  DeviceMemory& devices = memory_.devices();
  if (p.ready == Ready::no) {
    devices.wait(launch.device);  // it may still read the state
    FRAZIL_CHECK(prepare(pc, *compiled));
  }
  if (p.ready == Ready::nothing_to_do) return {};
  FRAZIL_CHECK(devices.scratch(launch.device, p.scratch));
  const LaunchCode& code = executable_.launch(pc);
  find_pointers(code, pointers_.data());
  devices.launch(plan_.steps[pc], launch.device,
                 {.pointers = {pointers_.begin(), pointers_.begin() + code.inputs + code.outputs},
                  .inputs = code.inputs,
                  .step = compiled,
                  .state = p.state,
                  .units = p.units});
  return {};
}

/// Reads the extents and strides of all operands into shape_memory_, one after another.
Status Launcher::read_shapes(const Step& step, const step::Launch& launch) {
  const bool host = executable_.launch(static_cast<StepIndex>(&step - plan_.steps.data())).first_step == nullptr;
  std::size_t needed = launch.domain.size();
  for (const auto* list : {&launch.in, &launch.out}) {
    for (SlotId s : *list) needed += s ? 2 * plan_.slot(s).dims.size() : 0;
  }
  if (needed > shape_memory_.size()) shape_memory_.resize(needed);
  shapes_.clear();
  std::size_t at = 0;
  for (Reg r : launch.domain) shape_memory_[at++] = values_.regs[r];
  const auto read = [&](SlotId s) {
    code::OperandShape shape;
    if (!s || (host && plan_.slot(s).object)) return shape;
    const Slot& slot = plan_.slot(s);
    const std::size_t rank = slot.dims.size();
    std::int64_t *const dims = shape_memory_.data() + at, *const strides = dims + rank;
    at += 2 * rank;
    for (std::size_t i = 0; i < rank; ++i) dims[i] = values_.regs[slot.dims[i]];
    std::uint64_t stride = 1;  // may wrap for an empty tensor, which does not use it
    for (std::size_t i = rank; i-- > 0;) {
      strides[i] = slot.strides.empty() ? static_cast<std::int64_t>(stride) : values_.regs[slot.strides[i]];
      stride *= static_cast<std::uint64_t>(dims[i]);
    }
    return code::OperandShape{true, slot.elem, {dims, rank}, {strides, rank}, slot.strides.empty()};
  };
  for (SlotId s : launch.in) shapes_.push_back(read(s));
  for (SlotId s : launch.out) {
    if (!host) shapes_.push_back(read(s));  // host steps determine the extents of their results
  }
  for (const auto* list : {&launch.in, &launch.out}) {
    for (SlotId s : *list) {
      if (s && !host && !plan_.slot(s).object) FRAZIL_CHECK(values_.check_extents(plan_.slot(s)));
    }
  }
  for (const code::OperandShape& shape : shapes_) {
    if (Status t = check_empty(shape); !t) return within(values_.where(step), std::move(t).error());
  }
  return {};
}

std::optional<code::NativeBody> Launcher::body(StepIndex pc, bool prepared_only) {
  const code::KernelEntry* const entry = executable_.launch(pc).entry.load(std::memory_order_acquire);
  if (entry == nullptr || entry->emits == nullptr) return std::nullopt;
  const Prepared& p = prepared_[pc];
  const bool prepared = p.ready != Ready::no && p.step == &entry->step;
  if (!prepared && (prepared_only || !prepare(pc, *entry))) return std::nullopt;
  if (p.ready != Ready::yes) return std::nullopt;
  auto body = entry->emits->body(entry->step.code.get(), p.state);
  if (!body || !body->product) return body;
  const LaunchCode& code = executable_.launch(pc);
  return code.first_step != &entry->step || shares_better(code, p) ? std::nullopt : std::move(body);
}

/// Returns whether the step is worth running at the same time as others if there are threads.
bool Launcher::shares_better(const LaunchCode& code, const Prepared& p) {
  constexpr double kAlone = 3e3;
  return code.grouped && p.nanoseconds > kAlone;
}

code::WeightRef Launcher::weight_of(SlotId s) const {
  if (!s || plan_.storage(s).place != Place::constant || plan_.storage(s).device != kHost) return {};
  const Tensor& tensor = plan_.graph->constant(Value{plan_.storage(s).index})->tensor;
  return {&tensor.buffer(), {tensor.data(), tensor.bytes()}, plan_.slot(s).offset != kNoReg};
}

/// Returns the memory of the step's state. The first entries of all steps share one block; an entry that replaced one
/// has its own memory.
std::byte* Launcher::state_of(StepIndex pc, const code::CompiledStep& compiled) {
  Prepared& p = prepared_[pc];
  if (p.step == &compiled) return p.state;
  if (p.step == nullptr && executable_.is_first(pc, compiled)) return states_ + executable_.launch(pc).state;
  auto& memory = swapped_states_[pc];
  memory = std::make_unique<std::byte[]>(compiled.state_bytes + kAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.get());
  return memory.get() + (kAlignment - address % kAlignment) % kAlignment;
}

Status Launcher::prepare(StepIndex pc, const code::KernelEntry& entry) {
  prepared_[pc].run = entry.run;
  return prepare(pc, entry.step);
}

Status Launcher::prepare(StepIndex pc, const code::CompiledStep& compiled) {
  const Step& step = plan_.steps[pc];
  const step::Launch& launch = launch_of(pc);
  Prepared& p = prepared_[pc];
  ++context_.counters.prepared;
  invalidate(pc);
  p.state = state_of(pc, compiled);
  p.step = &compiled;
  FRAZIL_CHECK(read_shapes(step, launch));
  weights_.clear();
  for (SlotId s : launch.in) weights_.push_back(weight_of(s));
  code::Prepare cx{.in = std::span(shapes_).first(launch.in.size()),
                   .out = std::span(shapes_).subspan(launch.in.size()),
                   .domain = std::span(shape_memory_).first(launch.domain.size()),
                   .weights = weights_,
                   .fast = context_.fast,
                   .packed = executable_.packed()};
  if (Status s = compiled.prepare(cx, compiled.code.get(), p.state); !s) {
    return within(values_.where(step), std::move(s).error());
  }
  // Extents next to a 0 may be anything, so loops over them could take very long.
  const bool empty = std::ranges::all_of(cx.out, [](const code::OperandShape& o) { return !o.given || o.empty(); });
  share(cx, p);
  p.awaits_code = cx.awaits_code;
  if (launch.device != kHost) {
    p.grain = 0;
    p.ready = empty ? Ready::nothing_to_do : Ready::yes;
    return {};
  }
  p.scratch_bytes = p.grain == 0 ? p.scratch : context_.scheduler->workers() * p.scratch;
  p.ready = empty ? Ready::nothing_to_do : Ready::yes;
  if (!calls_.empty()) offer_call(pc);
  return {};
}

/// Offers the step to generated code if it is short and runs alone: between calls, nothing checks limits or idle
/// threads. Code with an inlined product reads the state of the step's first entry, so other entries are not offered.
void Launcher::offer_call(StepIndex pc) {
  constexpr double kShort = 20e3;
  const Prepared& p = prepared_[pc];
  const LaunchCode& code = executable_.launch(pc);
  const bool alone = p.grain == 0 && (context_.scheduler == nullptr || !shares_better(code, p));
  const bool other_state = code.first_emits && code.first_step != p.step;
  if (p.ready != Ready::yes || !alone || p.nanoseconds > kShort || other_state) return;
  calls_[pc] = {.run = p.run,
                .call = {pointers_.data(), pointers_.data() + code.inputs, p.step->code.get(), p.state, faults_.data()},
                .units = p.units};
  scratch_of_calls_ = std::max(scratch_of_calls_, p.scratch);
}

Result<std::byte*> Launcher::scratch(StepIndex pc, std::size_t bytes) {
  auto scratch = memory_.scratch(bytes);
  if (scratch) return scratch;
  return within(values_.where(plan_.steps[pc]), std::move(scratch).error());
}

/// Decides how units are shared, if their work pays for it. The grouping does not change the results.
void Launcher::share(const code::Prepare& cx, Prepared& p) const {
  p.units = cx.units;
  p.last_units = cx.last_units;
  p.nanoseconds = cx.nanoseconds;
  p.last_grain = 0;
  p.scratch = aligned(cx.scratch_bytes);
  p.grain = 0;
  if (context_.scheduler == nullptr || context_.scheduler->workers() < 2) return;
  const double most = cx.nanoseconds - cx.last_nanoseconds;
  p.if_idle = most < kernel::shared_from(kernel::tuning());
  p.grain = grain(cx.units - cx.last_units, cx.fewest_units, most);
  if (p.grain != 0) p.last_grain = grain(cx.last_units, 1, cx.last_nanoseconds);
}

/// Returns the units in a range; 0 if this thread runs all of them.
std::int64_t Launcher::grain(std::int64_t units, std::int64_t fewest, double nanoseconds) const {
  const kernel::Tuning& tuning = kernel::tuning();
  if (units < 2 || nanoseconds < kIdleShare * kernel::shared_from(tuning)) return 0;
  const auto workers = static_cast<std::int64_t>(context_.scheduler->workers());
  const std::int64_t ranges = workers * kRangesPerWorker;
  if (fewest > 1 && units < fewest * ranges) {  // the setup of a range is expensive: one range for each worker
    return std::max(fewest, ceil_div(units, workers));
  }
  const double part = kernel::shared_part(tuning) / nanoseconds;
  const auto pays = static_cast<std::int64_t>(std::ceil(part * static_cast<double>(units)));
  return round_up(std::min(pays, ceil_div(units, ranges)), fewest);
}

}  // namespace frazil::exec
