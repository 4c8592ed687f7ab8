#include "exec/run/prepared_steps.h"

#include <algorithm>

namespace frazil::exec {
namespace {

/// Returns the first aligned address of a block.
std::byte* aligned_start(std::byte* block) {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  return block + (kAlignment - address % kAlignment) % kAlignment;
}

}  // namespace

PreparedSteps::PreparedSteps(RunContext& context, const Executable& executable, const Values& values)
    : context_(context),
      compiled_(executable.compiled()),
      packed_(executable.packed()),
      plan_(values.plan),
      values_(values),
      steps_(plan_.steps.size()),
      state_memory_(compiled_.state_bytes() + kAlignment),
      states_(aligned_start(state_memory_.data())),
      shapes_(values) {}

void PreparedSteps::invalidate_all() {
  for (PreparedStep& p : steps_) p.ready = PreparedStep::Ready::no;
}

/// Returns the memory of the step's state. The first entries of all steps share one block; an entry that replaced one
/// has its own memory.
std::byte* PreparedSteps::state_of(StepIndex pc, const code::CompiledStep& compiled) {
  const PreparedStep& p = steps_[pc];
  const LaunchCode& code = compiled_.launch(pc);
  if (p.step == &compiled) return p.state;
  if (p.step == nullptr && code.first_step == &compiled) return states_ + code.state;
  auto& memory = swapped_states_[pc];
  memory = std::make_unique<std::byte[]>(compiled.state_bytes + kAlignment);
  return aligned_start(memory.get());
}

Status PreparedSteps::prepare(StepIndex pc, const code::KernelEntry& entry) {
  steps_[pc].run = entry.run;
  return prepare(pc, entry.step);
}

Status PreparedSteps::prepare(StepIndex pc, const code::CompiledStep& compiled) {
  const Step& step = plan_.steps[pc];
  const auto& launch = *step.as<step::Launch>();
  PreparedStep& p = steps_[pc];
  ++context_.counters.prepared;
  invalidate(pc);
  p.state = state_of(pc, compiled);
  p.step = &compiled;
  FRAZIL_CHECK(shapes_.read(step, launch));
  weights_.clear();
  for (SlotId s : launch.in) weights_.push_back(weight_of(plan_, s));
  code::Prepare cx{.in = shapes_.in(),
                   .out = shapes_.out(),
                   .domain = shapes_.domain(),
                   .weights = weights_,
                   .fast = context_.fast,
                   .packed = packed_};
  if (Status s = compiled.prepare(cx, compiled.code.get(), p.state); !s) {
    return at_node(values_.where(step), std::move(s).error());
  }
  p.units = cx.units;
  p.last_units = cx.last_units;
  p.nanoseconds = cx.nanoseconds;
  p.awaits_code = cx.awaits_code;
  p.sharing = sharing_of(cx, launch.device == kHost ? context_.scheduler.get() : nullptr);
  p.scratch = aligned(cx.scratch_bytes);
  p.scratch_bytes = p.sharing.grain == 0 ? p.scratch : context_.scheduler->workers() * p.scratch;
  // Extents next to a 0 may be anything, so loops over them could take very long.
  const bool empty = std::ranges::all_of(cx.out, [](const code::OperandShape& o) { return !o.given || o.empty(); });
  p.ready = empty ? PreparedStep::Ready::nothing_to_do : PreparedStep::Ready::yes;
  return {};
}

}  // namespace frazil::exec
