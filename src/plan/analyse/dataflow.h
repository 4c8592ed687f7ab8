#pragma once

#include <set>
#include <vector>

#include "plan/model/plan.h"

namespace frazil {

/// Returns the steps that may run directly after `step`.
std::vector<StepIndex> successors(const Plan& plan, StepIndex step);

/// A visitor that reports what a step defines. Calls `f.reg(r)` for each register that the step defines and `f.slot(s)`
/// for each slot that it writes or updates. For each accumulator that it names, calls `f.accumulator(a)`, and `f.reg`
/// for the registers of its count and extents.
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

/// A visitor that reports what a step reads. Calls `f.slot(s)` for each slot that the step reads or updates. Calls
/// `f.reg(r)` for each register that it reads, including the extents, strides and offsets of these slots.
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

/// The registers and storages that are defined before each step, on every path from a first step. One set of bits per
/// step holds both.
class DefinedAt {
 public:
  using Bits = std::vector<bool>;
  /// Finds what is defined before each step reachable from `from`; before `from` itself, that is `initial`. With
  /// `whole_only`, a step that writes part of a storage does not define it.
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

/// Returns what is defined when a request starts: extents of inputs, inputs, weights, and storages that start empty.
DefinedAt::Bits defined_by_request(const Plan& plan);

/// The slots and registers that are read from a step on before they are written in full.
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
