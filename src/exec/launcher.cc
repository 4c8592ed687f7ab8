#include "exec/launcher.h"

#include <algorithm>
#include <cmath>

#include "kernel/tuning.h"

namespace frazil::exec {
namespace {

constexpr std::int64_t kRangesPerWorker = 4;
/// Of the work that pays for waking a thread, what pays for one that is awake.
constexpr double kIdleShare = 0.25;

/// Kernels count offsets and rows with the extents beside a 0, too.
Status check_empty(const OperandShape& shape) {
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
      pointers_(executable.most_operands(), nullptr) {
  const auto address = reinterpret_cast<std::uintptr_t>(state_memory_.data());
  states_ = state_memory_.data() + (kAlignment - address % kAlignment) % kAlignment;
}

void Launcher::invalidate_all() {
  for (Prepared& p : prepared_) p.ready = Ready::no;
}

inline void Launcher::find_pointers(const LaunchCode& code) {
  const OperandCode* const operand = executable_.operands().data() + code.first;
  std::byte** const to = pointers_.data();
  const int count = code.inputs + code.outputs;
  for (int k = 0; k < count; ++k) to[k] = values_.address(operand[k].storage, operand[k].offset, operand[k].elem_size);
}

[[gnu::noinline]] void Launcher::run_shared(const Call& call, const Prepared& p) {
  ++context_.counters.shared;
  std::byte* const scratch = memory_.scratch_data();
  const auto share = [&](std::int64_t first, std::int64_t past, std::int64_t grain) {
    context_.scheduler->parallel_for(past - first, grain, [&](std::int64_t begin, std::int64_t end, unsigned worker) {
      p.entry->run(call, {worker, scratch + worker * p.scratch}, first + begin, first + end);
    });
  };
  const std::int64_t last = p.units - p.last_units;
  share(0, last, p.grain);
  if (p.last_units == 0 || stop_requested()) return;
  if (p.last_grain == 0) return p.entry->run(call, {0, scratch}, last, p.units);
  share(last, p.units, p.last_grain);
}

inline void Launcher::run(const Prepared& p, std::uint16_t inputs) {
  const Call call{pointers_.data(), pointers_.data() + inputs, p.entry->code.get(), p.state, &fault_};
  if (p.grain != 0 && (!p.if_idle || context_.scheduler->has_idle())) return run_shared(call, p);
  p.entry->run(call, {0, memory_.scratch_data()}, 0, p.units);
}

Status Launcher::launch(StepIndex pc) try {
  const LaunchCode& code = executable_.launch(pc);
  const KernelEntry* const entry = code.entry.load(std::memory_order_acquire);
  Observer* const observer = context_.observer;
  if (observer != nullptr) [[unlikely]]
    observer->step_begin(plan_.steps[pc], plan_.steps[pc].node);
  if (entry == nullptr) {
    FRAZIL_CHECK(run_host(pc));
  } else {
    if (code.grows) FRAZIL_CHECK(memory_.ensure_results(launch_of(pc).out));
    Prepared& p = prepared_[pc];
    if (p.ready == Ready::no || p.entry != entry) [[unlikely]]
      FRAZIL_CHECK(prepare(pc, *entry));
    find_pointers(code);
    if (p.ready == Ready::yes) run(p, code.inputs);
    if (!fault_.empty()) [[unlikely]]
      return within(values_.where(plan_.steps[pc]), fault_.take().error());
  }
  if (observer != nullptr) [[unlikely]]
    observer->step_end(plan_.steps[pc], plan_.steps[pc].node);
  return {};
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
  const auto& entry = executable_.device_entry(pc);
  Prepared& p = prepared_[pc];
  DeviceMemory& devices = memory_.devices();
  if (p.ready == Ready::no) {
    devices.wait(launch.device);  // it may still read the state
    FRAZIL_CHECK(prepare(pc, *entry));
  }
  if (p.ready == Ready::nothing_to_do) return {};
  FRAZIL_CHECK(devices.scratch(launch.device, p.scratch));
  const LaunchCode& code = executable_.launch(pc);
  find_pointers(code);
  devices.launch(plan_.steps[pc], launch.device,
                 {.pointers = {pointers_.begin(), pointers_.begin() + code.inputs + code.outputs},
                  .inputs = code.inputs,
                  .entry = entry,
                  .state = p.state,
                  .units = p.units});
  return {};
}

/// Extents and strides of all operands, one after the other in shape_memory_.
Status Launcher::read_shapes(const Step& step, const step::Launch& launch) {
  const bool host = executable_.launch(static_cast<StepIndex>(&step - plan_.steps.data())).first_entry == nullptr;
  std::size_t needed = launch.domain.size();
  for (const auto* list : {&launch.in, &launch.out}) {
    for (SlotId s : *list) needed += s ? 2 * plan_.slot(s).dims.size() : 0;
  }
  if (needed > shape_memory_.size()) shape_memory_.resize(needed);
  shapes_.clear();
  std::size_t at = 0;
  for (Reg r : launch.domain) shape_memory_[at++] = values_.regs[r];
  const auto read = [&](SlotId s) {
    OperandShape shape;
    if (!s || (host && plan_.slot(s).object)) return shape;
    const Slot& slot = plan_.slot(s);
    const std::size_t rank = slot.dims.size();
    std::int64_t *const dims = shape_memory_.data() + at, *const strides = dims + rank;
    at += 2 * rank;
    for (std::size_t i = 0; i < rank; ++i) dims[i] = values_.regs[slot.dims[i]];
    std::uint64_t stride = 1;  // of an empty tensor it may wrap, and is not used
    for (std::size_t i = rank; i-- > 0;) {
      strides[i] = slot.strides.empty() ? static_cast<std::int64_t>(stride) : values_.regs[slot.strides[i]];
      stride *= static_cast<std::uint64_t>(dims[i]);
    }
    return OperandShape{true, slot.elem, {dims, rank}, {strides, rank}, slot.strides.empty()};
  };
  for (SlotId s : launch.in) shapes_.push_back(read(s));
  for (SlotId s : launch.out) {
    if (!host) shapes_.push_back(read(s));  // the host's results tell their own extents
  }
  for (const OperandShape& shape : shapes_) {
    for (std::int64_t d : shape.dims) {
      if (d < 0 && !host) return fail(Code::bad_input, "{}an extent is negative ({})", values_.where(step), d);
    }
    if (Status t = check_empty(shape); !t) return within(values_.where(step), std::move(t).error());
  }
  return {};
}

WeightRef Launcher::weight_of(SlotId s) const {
  if (!s || plan_.storage(s).place != Place::constant || plan_.storage(s).device != kHost) return {};
  const Tensor& tensor = plan_.graph->constant(Value{plan_.storage(s).index})->tensor;
  return {&tensor.buffer(), {tensor.data(), tensor.bytes()}, plan_.slot(s).offset != kNoReg};
}

/// The state of a step's first entry lies with those of the others; of one that came later it has memory of its own.
std::byte* Launcher::state_of(StepIndex pc, const KernelEntry& entry) {
  Prepared& p = prepared_[pc];
  if (p.entry == &entry) return p.state;
  if (p.entry == nullptr && executable_.is_first_entry(pc, entry)) return states_ + executable_.launch(pc).state;
  auto& memory = swapped_states_[pc];
  memory = std::make_unique<std::byte[]>(entry.state_bytes + kAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.get());
  return memory.get() + (kAlignment - address % kAlignment) % kAlignment;
}

Status Launcher::prepare(StepIndex pc, const KernelEntry& entry) {
  const Step& step = plan_.steps[pc];
  const step::Launch& launch = launch_of(pc);
  Prepared& p = prepared_[pc];
  ++context_.counters.prepared;
  p.ready = Ready::no;
  p.state = state_of(pc, entry);
  p.entry = &entry;
  FRAZIL_CHECK(read_shapes(step, launch));
  weights_.clear();
  for (SlotId s : launch.in) weights_.push_back(weight_of(s));
  Prepare cx{.in = std::span(shapes_).first(launch.in.size()),
             .out = std::span(shapes_).subspan(launch.in.size()),
             .domain = std::span(shape_memory_).first(launch.domain.size()),
             .weights = weights_,
             .fast = context_.fast,
             .packed = executable_.packed()};
  if (Status s = entry.prepare(cx, entry.code.get(), p.state); !s) {
    return within(values_.where(step), std::move(s).error());
  }
  // Extents beside a 0 may be anything: loops over them would take for ever.
  const bool empty = std::ranges::all_of(cx.out, [](const OperandShape& o) { return !o.given || o.empty(); });
  share(cx, p);
  if (launch.device != kHost) {
    p.grain = 0;
    p.ready = empty ? Ready::nothing_to_do : Ready::yes;
    return {};
  }
  const std::size_t workers = p.grain == 0 ? 1 : context_.scheduler->workers();
  auto scratch = memory_.scratch(empty ? 0 : workers * p.scratch);
  if (!scratch) {
    invalidate_all();  // steps that are prepared count on the scratch memory that they asked for
    return within(values_.where(step), std::move(scratch).error());
  }
  p.ready = empty ? Ready::nothing_to_do : Ready::yes;
  return {};
}

/// Units are shared where their work pays for it. How they are grouped changes nothing in the results.
void Launcher::share(const Prepare& cx, Prepared& p) const {
  p.units = cx.units;
  p.last_units = cx.last_units;
  p.last_grain = 0;
  p.scratch = aligned(cx.scratch_bytes);
  p.grain = 0;
  if (context_.scheduler == nullptr || context_.scheduler->workers() < 2) return;
  const double most = cx.nanoseconds - cx.last_nanoseconds;
  p.if_idle = most < kernel::shared_from(kernel::tuning());
  p.grain = grain(cx.units - cx.last_units, cx.fewest_units, most);
  if (p.grain != 0) p.last_grain = grain(cx.last_units, 1, cx.last_nanoseconds);
}

/// Units of a range; 0: all are run here.
std::int64_t Launcher::grain(std::int64_t units, std::int64_t fewest, double nanoseconds) const {
  const kernel::Tuning& tuning = kernel::tuning();
  if (units < 2 || nanoseconds < kIdleShare * kernel::shared_from(tuning)) return 0;
  const auto workers = static_cast<std::int64_t>(context_.scheduler->workers());
  const std::int64_t ranges = workers * kRangesPerWorker;
  if (fewest > 1 && units < fewest * ranges) {  // what each range sets up is dear: one a worker
    return std::max(fewest, ceil_div(units, workers));
  }
  const double part = kernel::shared_part(tuning) / nanoseconds;
  const auto pays = static_cast<std::int64_t>(std::ceil(part * static_cast<double>(units)));
  return round_up(std::min(pays, ceil_div(units, ranges)), fewest);
}

}  // namespace frazil::exec
