#pragma once

#include <set>
#include <vector>

#include "plan/model/plan.h"

namespace frazil {

/// The steps that may run next.
std::vector<StepIndex> successors(const Plan& plan, StepIndex step);

/// Calls `f.reg(r)` for each register that the step defines, `f.slot(s)` for each slot that it writes or updates, and
/// `f.accumulator(a)` for each accumulator that it empties or adds to.
template <class F>
struct StepDefinitions : FieldVisitor {
  const Plan& plan;
  F f;
  StepDefinitions(const Plan& of, F to) : plan(of), f(std::move(to)) {}
  void one(const SlotId& s) {
    if (s) f.slot(s);
  }
  void one(const std::vector<SlotId>& list) {
    for (SlotId s : list) one(s);
  }
  void writes(std::string_view, const auto& x) { one(x); }
  void updates(std::string_view, const auto& x) { one(x); }
  void defines(std::string_view, const Reg& r) { f.reg(r); }
  void group(std::string_view, const std::uint32_t& g) {
    for (const auto& ins : plan.groups[g].program.code) f.reg(ins.dst);
  }
  void accumulator(std::string_view, const AccumulatorId& a) {
    const Accumulator& acc = plan.accumulators[a.id];
    f.reg(acc.count);
    for (Reg r : acc.dims) f.reg(r);
    f.accumulator(a);
  }
};

/// Calls `f.slot(s)` for each slot that the step reads or updates and `f.reg(r)` for each register that it reads, those
/// of these slots' extents, strides and offsets among them.
template <class F>
struct StepUses : FieldVisitor {
  const Plan& plan;
  F f;
  StepUses(const Plan& of, F to) : plan(of), f(std::move(to)) {}
  void one(const Reg& r) {
    if (r != kNoReg) f.reg(r);
  }
  void one(const std::vector<Reg>& list) {
    for (Reg r : list) one(r);
  }
  void one(const SlotId& s) {
    if (!s) return;
    const Slot& slot = plan.slot(s);
    if (!slot.object) {
      one(slot.dims);
      one(slot.strides);
      one(slot.offset);
    }
    f.slot(s);
  }
  void one(const std::vector<SlotId>& list) {
    for (SlotId s : list) one(s);
  }
  void reads(std::string_view, const auto& x) { one(x); }
  void updates(std::string_view, const auto& x) { one(x); }
  void uses(std::string_view, const auto& x) { one(x); }
  void group(std::string_view, const std::uint32_t& g) {
    for (SymbolId s : plan.groups[g].sources) one(s);
  }
};

template <class F>
void for_definitions(const Plan& plan, const Step& step, F f) {
  StepDefinitions<F> visitor(plan, std::move(f));
  for_fields(step, visitor);
}

template <class F>
void for_uses(const Plan& plan, const Step& step, F f) {
  StepUses<F> visitor(plan, std::move(f));
  for_fields(step, visitor);
}

/// Registers and storages as bits of one set: which are defined in front of each step, on every path that leads there
/// from a first step.
class DefinedAt {
 public:
  using Bits = std::vector<bool>;
  /// What is defined in front of step `from`. With `whole_only` a step that writes a part of a storage does not define
  /// it.
  DefinedAt(const Plan& plan, StepIndex from, Bits initial, bool whole_only = false);

  static Bits none(const Plan& plan) { return Bits(plan.registers + plan.storages.size(), false); }
  static std::size_t storage_bit(const Plan& plan, std::uint32_t storage) { return plan.registers + storage; }
  bool reached(StepIndex step) const { return reached_[step]; }
  bool has_reg(StepIndex step, Reg r) const { return at_[step][r]; }
  bool has_storage(StepIndex step, std::uint32_t storage) const { return at_[step][storage_bit(plan_, storage)]; }

 private:
  void apply(StepIndex step, Bits& bits) const;
  bool flow_into(StepIndex to, const Bits& from);

  const Plan& plan_;
  const bool whole_only_;
  std::vector<Bits> at_;  // per step
  Bits reached_;
};

/// What a request brings: the extents of inputs, weights, memory that is empty at first.
DefinedAt::Bits defined_by_request(const Plan& plan);

/// What is read from one step on before it is written whole.
struct Live {
  std::set<SlotId> slots;
  std::set<Reg> regs;
};
Live live_at(const Plan& plan, StepIndex step);

/// Calls f(reg) for the registers of a slot's extents, strides and offset, and of its storage's size.
void for_registers(const Plan& plan, SlotId s, auto f) {
  const Slot& slot = plan.slot(s);
  for (Reg r : slot.dims) f(r);
  for (Reg r : slot.strides) f(r);
  if (slot.offset != kNoReg) f(slot.offset);
  if (const Reg bytes = plan.storages[slot.storage].bytes; bytes != kNoReg) f(bytes);
}

}  // namespace frazil
