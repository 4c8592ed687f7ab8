#include "plan/analyse/dataflow.h"

#include <algorithm>

namespace frazil {

std::vector<StepIndex> successors(const Plan& plan, StepIndex i) {
  const Step& step = plan.steps[i];
  if (step.as<step::Halt>() != nullptr) return {};
  if (const auto* jump = step.as<step::Jump>()) return {jump->target};
  if (const auto* again = step.as<step::BackEdge>()) return {again->target};
  if (const auto* branch = step.as<step::Branch>()) return {i + 1, branch->target};
  if (const auto* leave = step.as<step::LeaveAt>()) return {i + 1, leave->target};
  return {i + 1};
}

DefinedAt::DefinedAt(const Plan& plan, StepIndex from, Bits initial, bool whole_only)
    : plan_(plan), whole_only_(whole_only), at_(plan.steps.size()), reached_(plan.steps.size()) {
  std::vector<StepIndex> work{from};
  reached_[from] = true;
  at_[from] = std::move(initial);
  while (!work.empty()) {
    const StepIndex i = work.back();
    work.pop_back();
    Bits after = at_[i];
    apply(i, after);
    for (StepIndex next : successors(plan, i)) {
      if (flow_into(next, after)) work.push_back(next);
    }
  }
}

namespace {

struct SetBits {
  const Plan& plan;
  DefinedAt::Bits& bits;
  bool whole_only;
  void reg(Reg r) const { bits[r] = true; }
  void slot(SlotId s) const {
    const Slot& slot = plan.slot(s);
    if (whole_only && !slot.object && !slot.is_whole()) return;
    bits[DefinedAt::storage_bit(plan, slot.storage)] = true;
  }
  void accumulator(AccumulatorId) const {}
};

}  // namespace

void DefinedAt::apply(StepIndex i, Bits& bits) const {
  for_definitions(plan_, plan_.steps[i], SetBits{plan_, bits, whole_only_});
}

bool DefinedAt::flow_into(StepIndex to, const Bits& from) {
  if (!reached_[to]) {
    reached_[to] = true;
    at_[to] = from;
    return true;
  }
  bool changed = false;
  for (std::size_t b = 0; b < from.size(); ++b) {
    if (!at_[to][b] || from[b]) continue;
    at_[to][b] = false;
    changed = true;
  }
  return changed;
}

DefinedAt::Bits defined_by_request(const Plan& plan) {
  auto bits = DefinedAt::none(plan);
  for (const auto& dims : plan.input_dims) {
    for (const auto& d : dims) {
      if (d.symbol != kNone) bits[d.symbol] = true;
    }
  }
  for (const Plan::Append& a : plan.appends) {
    if (a.input == kNone) continue;
    bits[a.capacity] = bits[a.input_capacity] = true;
  }
  const auto storage = [&](std::uint32_t id) { bits[DefinedAt::storage_bit(plan, id)] = true; };
  for (const Accumulator& a : plan.accumulators) storage(a.storage);  // a Reset empties it
  for (std::uint32_t i = 0; i < plan.storages.size(); ++i) {
    const Storage& s = plan.storages[i];  // by_rows: a part that no iteration writes has no elements
    if (s.place == Place::constant || s.place == Place::input || s.by_rows) storage(i);
  }
  for (const Slot& slot : plan.slots) {
    const bool given =
        slot.object && slot.value &&
        (plan.graph->constant(slot.value) != nullptr || plan.graph->block_of(slot.value) == Graph::kMain);
    if (given && plan.graph->def(slot.value).kind != ValueDef::Kind::node) storage(slot.storage);
  }
  return bits;
}

namespace {

/// Adds what a step reads, unless it is defined before.
struct TakeLive {
  const Plan& plan;
  const DefinedAt& defined;
  StepIndex step;
  Live& live;
  void reg(Reg r) const {
    if (!defined.has_reg(step, r)) live.regs.insert(r);
  }
  void slot(SlotId s) const {
    if (!defined.has_storage(step, plan.slot(s).storage)) live.slots.insert(s);
  }
};

/// Adds the extents of what the step writes, except those that it defines itself.
struct TakeExtents {
  TakeLive take;
  void reg(Reg) const {}
  void accumulator(AccumulatorId) const {}
  void slot(SlotId s) const {
    const auto* launch = take.plan.steps[take.step].as<step::Launch>();
    for_registers(take.plan, s, [&](Reg r) {
      const auto own = [&](const step::OutputExtent& e) { return e.to == r; };
      if (launch == nullptr || std::ranges::none_of(launch->extents, own)) take.reg(r);
    });
  }
};

}  // namespace

Live live_at(const Plan& plan, StepIndex from) {
  const DefinedAt defined(plan, from, DefinedAt::none(plan), true);
  Live live;
  for (StepIndex i = 0; i < plan.steps.size(); ++i) {
    if (!defined.reached(i)) continue;
    const TakeLive take{plan, defined, i, live};
    for_uses(plan, plan.steps[i], take);
    for_definitions(plan, plan.steps[i], TakeExtents{take});
    if (plan.steps[i].as<step::Halt>() == nullptr) continue;
    for (SlotId s : plan.outputs) {
      take.slot(s);
      for_registers(plan, s, [&](Reg r) { take.reg(r); });
    }
  }
  return live;
}

}  // namespace frazil
