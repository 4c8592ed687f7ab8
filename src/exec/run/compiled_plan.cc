#include "exec/run/compiled_plan.h"

#include <algorithm>

#include "code/entries.h"

namespace frazil::exec {
namespace {

/// Copies the fields of a step that the interpreter reads into its Op.
struct OpFields {
  const Plan& plan;
  Op& op;
  void operator()(const step::Launch& l) const { op.a = l.concurrent; }
  void operator()(const step::Evaluate& e) const { op.a = e.group; }
  void operator()(const step::Branch& b) const { op.target = b.target; }
  void operator()(const step::LeaveAt& l) const { op.a = l.counter, op.b = l.limit, op.target = l.target; }
  void operator()(const step::BackEdge& a) const { op.target = a.target; }
  void operator()(const step::Jump& j) const { op.target = j.target; }
  void operator()(const step::Set& s) const { op.a = s.to, op.number = s.number; }
  void operator()(const step::Add& a) const { op.a = a.to, op.number = a.number; }
  void operator()(const step::Swap& s) const {
    op.a = plan.slot(s.source).storage, op.b = plan.slot(s.variable).storage;
  }
  void operator()(const step::Guard& g) const { op.a = g.predicate, op.number = g.expected; }
  void operator()(const auto&) const {}
};

OperandCode operand_of(const Plan& plan, SlotId s) {
  if (!s) return {};
  const Slot& slot = plan.slot(s);
  return {slot.storage, slot.offset, static_cast<std::uint32_t>(byte_size(slot.elem))};
}

std::shared_ptr<const FusedKernel> fused_of(const Plan& plan, const step::Launch& launch) {
  return launch.fused == kNone ? nullptr : plan.fused[launch.fused];
}

}  // namespace

std::shared_ptr<const code::CompiledStep> compile_on(const Device& device, const Plan& plan,
                                                     const step::Launch& launch) {
  return device.compile(launch.params, fused_of(plan, launch), static_cast<std::uint32_t>(launch.in.size()));
}

CompiledPlan::CompiledPlan(const Plan& plan, const Devices& devices, const std::shared_ptr<code::NativeSource>& native)
    : plan_(plan), ops_(plan.steps.size()), launches_(std::make_unique<LaunchCode[]>(plan.steps.size())) {
  for (StepIndex i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    ops_[i].kind = static_cast<std::uint8_t>(step.body.index());
    std::visit(OpFields{plan, ops_[i]}, step.body);
    const auto* const launch = step.as<step::Launch>();
    if (launch == nullptr) continue;
    for (std::uint32_t k = 0; launch->concurrent > 1 && k < launch->concurrent; ++k) launches_[i + k].grouped = true;
    LaunchCode& code = launches_[i];
    add_operands(code, *launch);
    if (launch->device != kHost) {
      const Device& device = *devices[static_cast<std::size_t>(launch->device) - 1];
      keep_state(code, *device_steps_.emplace(i, compile_on(device, plan, *launch)).first->second);
    } else if (auto entry = code::hand_entry(launch->params, fused_of(plan, *launch), code.inputs, native)) {
      keep_state(code, entry->step);
      code.first_emits = entry->emits != nullptr;
      swap_entry(i, std::move(entry));
    }
  }
}

void CompiledPlan::add_operands(LaunchCode& code, const step::Launch& launch) {
  code.first = static_cast<std::uint32_t>(operands_.size());
  code.inputs = static_cast<std::uint16_t>(launch.in.size());
  code.outputs = static_cast<std::uint16_t>(launch.out.size());
  for (SlotId s : launch.in) operands_.push_back(operand_of(plan_, s));
  for (SlotId s : launch.out) {
    operands_.push_back(operand_of(plan_, s));
    code.grows |= s && plan_.storage(s).place == Place::growing;
  }
  max_operands_ = std::max(max_operands_, launch.in.size() + launch.out.size());
}

void CompiledPlan::keep_state(LaunchCode& code, const code::CompiledStep& step) {
  code.state = state_bytes_;
  state_bytes_ += (step.state_bytes + 15) & ~std::size_t{15};
  code.first_step = &step;
}

void CompiledPlan::swap_entry(StepIndex step, std::shared_ptr<const code::KernelEntry> entry) {
  const std::scoped_lock lock(entries_mutex_);
  entries_.push_back(std::move(entry));
  launches_[step].entry.store(entries_.back().get(), std::memory_order_release);
  swaps_.fetch_add(1, std::memory_order_release);
}

}  // namespace frazil::exec
