#include "plan/model/verify_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "plan/analyse/dataflow.h"
#include "plan/analyse/path_sets.h"
#include "plan/memory/concurrent_steps.h"

namespace frazil {
namespace {

template <class... A>
std::unexpected<Fault> fault(fmt::format_string<A...> format, A&&... args) {
  return fail(Code::internal, "plan: {}", fmt::format(format, std::forward<A>(args)...));
}

/// Checks tables and steps: handles, types, devices.
class PlanVerifier {
 public:
  explicit PlanVerifier(const Plan& plan) : p_(plan) {}

  Status run() {
    FRAZIL_CHECK(tables());
    for (StepIndex i = 0; i < p_.steps.size(); ++i) {
      if (Status s = step(i); !s) return within(fmt::format("step {} ({}): ", i, name_of(p_.steps[i])), s.error());
    }
    return {};
  }

 private:
  bool is_reg(Reg r) const { return r < p_.registers; }
  bool is_slot(SlotId s) const { return s.id < p_.slots.size(); }

  // ---- tables ----

  Status tables() const {
    if (p_.steps.empty() || p_.steps.back().as<step::Halt>() == nullptr) return fault("it does not end with a halt");
    for (std::uint32_t i = 0; i < p_.slots.size(); ++i) FRAZIL_CHECK(slot(i));
    for (const Storage& s : p_.storages) {
      if (s.bytes != kNoReg && !is_reg(s.bytes)) return fault("a storage has register {} for its bytes", s.bytes);
      if (s.pool != kNone && s.pool >= p_.pools.size()) return fault("a storage has pool {}", s.pool);
      FRAZIL_CHECK(device(s));
    }
    for (const Accumulator& a : p_.accumulators) {
      const bool good = a.storage < p_.storages.size() && is_reg(a.count) &&
                        std::ranges::all_of(a.dims, [&](Reg r) { return is_reg(r); });
      if (!good) return fault("an accumulator names a register or storage that is not there");
    }
    for (const auto* list : {&p_.inputs, &p_.outputs}) {
      for (SlotId s : *list) {
        if (!is_slot(s)) return fault("an input or output has slot s{}", s.id);
      }
    }
    for (const auto& kernel : p_.fused) FRAZIL_CHECK(verify(*kernel));
    return {};
  }

  Status device(const Storage& s) const {
    const bool placed = s.place == Place::constant || s.place == Place::arena;
    if (s.device != kHost && !placed) return fault("device {} has a storage '{}'", number(s.device), name_of(s.place));
    if (s.pool == kNone || p_.pool_device[s.pool] == s.device) return {};
    return fault("pool {} is not in the memory of device {}", s.pool, number(s.device));
  }
  static int number(DeviceId d) { return static_cast<int>(d); }

  Status slot(std::uint32_t id) const {
    const Slot& s = p_.slots[id];
    if (s.storage >= p_.storages.size()) return fault("slot s{} has storage m{}", id, s.storage);
    if (!s.strides.empty() && s.strides.size() != s.dims.size()) return fault("slot s{}: strides of another rank", id);
    for (const auto* regs : {&s.dims, &s.strides}) {
      for (Reg r : *regs) {
        if (!is_reg(r)) return fault("slot s{} has register r{}", id, r);
      }
    }
    if (s.offset != kNoReg && !is_reg(s.offset)) return fault("slot s{} has register r{}", id, s.offset);
    const bool object = p_.storages[s.storage].place == Place::object;
    return s.object == object ? Status{}
                              : fault("slot s{}: object is {}, its storage's place is {}", id, s.object,
                                      name_of(p_.storages[s.storage].place));
  }

  // ---- steps ----

  /// Checks every handle in a step's fields.
  struct Handles : FieldVisitor {
    const PlanVerifier& v;
    Status status;
    explicit Handles(const PlanVerifier& of) : v(of) {}
    void one(std::string_view name, SlotId s, bool optional) {
      if (status && !(optional && !s) && !v.is_slot(s)) status = fault("'{}' is slot s{}", name, s.id);
    }
    void reads(std::string_view name, const SlotId& s) { one(name, s, false); }
    void writes(std::string_view name, const SlotId& s) { one(name, s, false); }
    void updates(std::string_view name, const SlotId& s) { one(name, s, false); }
    void reads(std::string_view name, const std::vector<SlotId>& list) {
      for (SlotId s : list) one(name, s, true);
    }
    void writes(std::string_view name, const std::vector<SlotId>& list) {
      for (SlotId s : list) one(name, s, true);
    }
    void reg(std::string_view name, Reg r) {
      if (status && !v.is_reg(r)) status = fault("'{}' is register r{}", name, r);
    }
    void uses(std::string_view name, const Reg& r) { reg(name, r); }
    void defines(std::string_view name, const Reg& r) { reg(name, r); }
    void uses(std::string_view name, const std::vector<Reg>& list) {
      for (Reg r : list) reg(name, r);
    }
    void target(std::string_view, const StepIndex& to) {
      if (status && to >= v.p_.steps.size()) status = fault("it jumps to step {}", to);
    }
    void group(std::string_view, const std::uint32_t& g) {
      if (status && g >= v.p_.groups.size()) status = fault("it evaluates group {}", g);
    }
    void accumulator(std::string_view, const AccumulatorId& a) {
      if (status && a.id >= v.p_.accumulators.size()) status = fault("it names accumulator {}", a.id);
    }
    void fused(std::string_view, const std::uint32_t& k) {
      if (status && k != kNone && k >= v.p_.fused.size()) status = fault("it names fused kernel {}", k);
    }
  };

  Status step(StepIndex i) const {
    Handles handles(*this);
    for_fields(p_.steps[i], handles);
    FRAZIL_CHECK(handles.status);
    FRAZIL_CHECK(devices(p_.steps[i]));
    return std::visit([&](const auto& body) { return types(body); }, p_.steps[i].body);
  }

  /// Checks that a step reads and writes only memory of the device that runs it. A Transfer is between two devices.
  Status devices(const Step& step) const {
    if (const auto* t = step.as<step::Transfer>()) {
      const Storage &from = p_.storage(t->from), &to = p_.storage(t->to);
      if (from.device == to.device) return fault("it copies from device {} to the same", number(to.device));
      const bool whole = p_.slot(t->from).is_whole() && p_.slot(t->to).is_whole();
      return whole ? Status{} : fault("it copies what is not the whole of two storages");
    }
    const auto* launch = step.as<step::Launch>();
    const DeviceId runs = launch == nullptr ? kHost : launch->device;
    Status status;
    for_slots(step, [&](SlotId s) {
      const Storage& storage = p_.storage(s);
      if (!status || storage.device == runs || storage.place == Place::tiles) return;
      status = fault("slot s{} lies on device {}, the step runs on {}", s.id, number(storage.device), number(runs));
    });
    return status;
  }

  Status types(const auto&) const { return {}; }

  Status needs(SlotId s, ElemSet elems, std::string_view what) const {
    const Slot& slot = p_.slot(s);
    if (!slot.object && contains(elems, slot.elem)) return {};
    return fault("'{}' is {}", what, slot.object ? "an object" : name_of(slot.elem));
  }
  static constexpr ElemSet kIndex = one(Elem::i32) | one(Elem::i64);

  Status types(const step::Branch& b) const { return needs(b.condition, one(Elem::boolean), "condition"); }
  Status types(const step::Load& l) const { return needs(l.from, kIndex, "from"); }
  Status types(const step::Pick& k) const { return needs(k.index, kIndex, "index"); }
  Status types(const step::Store& s) const { return needs(s.to, kIndex | one(Elem::boolean), "to"); }
  Status types(const step::Check& c) const {
    return c.what < p_.texts.size() ? Status{} : fault("it has no text {}", c.what);
  }
  Status types(const step::Swap& s) const {
    const bool tensors = !p_.slot(s.source).object && !p_.slot(s.variable).object;
    if (!tensors || !p_.slot(s.source).is_whole() || !p_.slot(s.variable).is_whole()) {
      return fault("it swaps what is not the whole of two storages");
    }
    const Storage &a = p_.storage(s.source), &b = p_.storage(s.variable);
    const bool sized = a.place == Place::growing || a.bytes == b.bytes;
    return a.swapped && b.swapped && a.place == b.place && sized ? Status{}
                                                                 : fault("its storages do not fit each other");
  }
  Status types(const step::Grow& g) const {
    return g.axis < p_.slot(g.of).dims.size() ? Status{} : fault("it has no axis {}", g.axis);
  }
  Status types(const step::Append& a) const {
    const Accumulator& acc = p_.accumulators[a.accumulator.id];
    const Slot& part = p_.slot(a.part);
    if (acc.object) return {};
    if (part.object || part.elem != acc.elem || part.dims.size() != acc.dims.size()) {
      return fault("s{} is not an element of accumulator {}", a.part.id, a.accumulator.id);
    }
    const bool fits = a.in_place ? part.storage == acc.storage : part.strides.empty();
    return fits ? Status{} : fault("s{} is not where accumulator {} expects it", a.part.id, a.accumulator.id);
  }

  Status types(const step::Launch& l) const {
    for (const auto& e : l.extents) {
      if (e.output >= l.out.size() || !l.out[e.output] || e.axis >= p_.slot(l.out[e.output]).dims.size()) {
        return fault("it defines an extent of an output that it does not have");
      }
    }
    if ((l.kernel() == Kernel::fused) != (l.fused != kNone)) return fault("it names a fused kernel, or none");
    return l.fused == kNone ? Status{} : fused(l, *p_.fused[l.fused]);
  }

  Status fused(const step::Launch& l, const FusedKernel& k) const {
    if (l.in.size() != k.operands.size() || l.out.size() != k.stores.size() || l.domain.size() != k.domain.size()) {
      return fault("its kernel has {} operands, {} stores, {} axes", k.operands.size(), k.stores.size(),
                   k.domain.size());
    }
    for (std::size_t i = 0; i < l.in.size(); ++i) {
      if (l.in[i]) FRAZIL_CHECK(fits(l.in[i], k.operands[i].elem, k.operands[i].access, false));
    }
    for (std::size_t i = 0; i < l.out.size(); ++i) {
      if (!l.out[i]) return fault("a fused kernel stores nothing for an output");
      FRAZIL_CHECK(fits(l.out[i], k.stores[i].elem, k.stores[i].access, true));
    }
    return {};
  }

  Status fits(SlotId s, Elem elem, const Access& access, bool store) const {
    const Slot& slot = p_.slot(s);
    const bool ranks = slot.dims.size() == access.axes.size() || (!store && access.axes.empty());
    return !slot.object && slot.elem == elem && ranks ? Status{} : fault("s{} does not fit its fused kernel", s.id);
  }

  const Plan& p_;
};

/// Checks that steps are prepared again when necessary, and that storages live at the same time share no memory. Also
/// checks that steps which may run at the same time do not depend on each other.
class UpkeepChecker {
 public:
  explicit UpkeepChecker(const Plan& plan) : p_(plan) {}

  Status run() const {
    FRAZIL_CHECK(dependents());
    FRAZIL_CHECK(pools());
    return together();
  }

 private:
  /// Checks that a step is prepared again when a register of its extents or strides changes.
  Status dependents() const {
    std::vector<std::uint32_t> group_of(p_.registers, kNone);
    for (std::uint32_t g = 0; g < p_.groups.size(); ++g) {
      for (const auto& ins : p_.groups[g].program.code) {
        if (ins.dst >= p_.registers) return fault("group {} writes register r{}", g, ins.dst);
        group_of[ins.dst] = g;
      }
    }
    for (StepIndex i = 0; i < p_.steps.size(); ++i) {
      if (p_.steps[i].as<step::Launch>() == nullptr) continue;
      Status status;
      for_slots(p_.steps[i], [&](SlotId s) {
        const auto known = [&](Reg r) {
          if (!status || group_of[r] == kNone || depends(group_of[r], i)) return;
          status = fault("step {} depends on register r{} of group {}, which does not list the step as dependent", i, r,
                         group_of[r]);
        };
        std::ranges::for_each(p_.slot(s).dims, known);
        std::ranges::for_each(p_.slot(s).strides, known);
      });
      FRAZIL_CHECK(status);
    }
    return {};
  }

  bool depends(std::uint32_t group, StepIndex i) const {
    return std::ranges::binary_search(p_.groups[group].dependents, i);
  }

  /// Checks that storages of one pool are live one after the other. One may begin where another ends, in a step that
  /// works in place.
  Status pools() const {
    std::vector<std::vector<std::uint32_t>> members(p_.pools.size());
    for (std::uint32_t i = 0; i < p_.storages.size(); ++i) {
      const Storage& s = p_.storages[i];
      if (s.place == Place::arena && s.pool != kNone) members[s.pool].push_back(i);
    }
    for (auto& pool : members) {
      std::ranges::sort(pool, {}, [&](std::uint32_t i) { return p_.storages[i].first; });
      for (std::size_t k = 1; k < pool.size(); ++k) {
        const Storage &before = p_.storages[pool[k - 1]], &after = p_.storages[pool[k]];
        if (before.last < after.first) continue;
        if (before.last != after.first || !in_place(after.first)) {
          return fault("storages m{} and m{} are live at the same time in pool {}", pool[k - 1], pool[k], before.pool);
        }
      }
    }
    return {};
  }

  Status together() const {
    const ConcurrentSteps independent(p_);
    for (StepIndex i = 0; i < p_.steps.size(); ++i) {
      const auto* launch = p_.steps[i].as<step::Launch>();
      if (launch == nullptr) continue;
      const std::uint32_t most = std::max(independent.count(i), 1u);
      if (launch->concurrent >= 1 && launch->concurrent <= most) continue;
      return fault("step {} may run at the same time as the next ones, {} steps in all, expected 1 to {}", i,
                   launch->concurrent, most);
    }
    return {};
  }

  bool in_place(StepIndex i) const {
    const auto* launch = i < p_.steps.size() ? p_.steps[i].as<step::Launch>() : nullptr;
    return launch != nullptr && launch->in_place;
  }

  const Plan& p_;
};

/// Checks that every register and storage is defined before it is read, on each path. A jump back leads to a step that
/// has run before, so what was defined there still is.
class DefinitionChecker {
 public:
  explicit DefinitionChecker(const Plan& plan)
      : p_(plan), defined_(defined_by_request(plan)), arriving_(plan.steps.size(), kNowhere), heads_(arriving_) {}

  Status run() {
    find_heads();
    arriving_[0] = defined_.here();
    bool falls_through = false;
    for (StepIndex i = 0; i < p_.steps.size(); ++i) {
      if (!arrive(i, falls_through)) continue;
      FRAZIL_CHECK(check(i));
      for_definitions(p_, p_.steps[i], SetBits{*this});
      FRAZIL_TRY(falls_through, leave(i));
    }
    return {};
  }

 private:
  static constexpr PathSets::State kNowhere = ~PathSets::State{0};
  static constexpr PathSets::State kExpected = kNowhere - 1;  ///< the target of a backward jump, not reached yet

  struct SetBits {
    DefinitionChecker& c;
    void reg(Reg r) const { c.defined_.set(r); }
    void slot(SlotId s) const { c.defined_.set(DefinedAt::storage_bit(c.p_, c.p_.slot(s).storage)); }
    void accumulator(AccumulatorId) const {}
  };

  struct Check {
    const DefinitionChecker& c;
    Status& status;
    void reg(Reg r) const {
      if (!status || c.defined_.has(r)) return;
      status = fail(Code::internal, "register r{} is read before it is set", r);
    }
    void slot(SlotId s) const {
      const std::uint32_t storage = c.p_.slot(s).storage;
      if (!status || c.p_.slot(s).object || c.p_.storages[storage].place == Place::tiles) return;
      if (c.defined_.has(DefinedAt::storage_bit(c.p_, storage))) return;
      status = fail(Code::internal, "slot s{} is read before it is written", s.id);
    }
  };

  void find_heads() {
    for (StepIndex i = 0; i < p_.steps.size(); ++i) {
      for (const StepIndex next : successors(p_, i)) {
        if (next <= i) heads_[next] = kExpected;
      }
    }
  }

  /// Restores the set of registers and storages that are defined before step i. Returns false if step i is unreachable.
  bool arrive(StepIndex i, bool falls_through) {
    if (arriving_[i] != kNowhere) {
      defined_.go(falls_through ? defined_.meet(defined_.here(), arriving_[i]) : arriving_[i]);
    } else if (!falls_through) {
      return false;
    }
    if (heads_[i] == kExpected) heads_[i] = defined_.here();
    return true;
  }

  /// Records what is defined for the successors of step i. Returns true if the next step may follow it.
  Result<bool> leave(StepIndex i) {
    bool falls_through = false;
    for (const StepIndex next : successors(p_, i)) {
      if (next == i + 1) {
        falls_through = true;
      } else if (next > i) {
        const PathSets::State here = defined_.here();
        arriving_[next] = arriving_[next] == kNowhere ? here : defined_.meet(arriving_[next], here);
      } else if (heads_[next] >= kExpected || !defined_.covers(heads_[next])) {
        return fault("step {} ({}) jumps back to step {}, which was not passed", i, name_of(p_.steps[i]), next);
      }
    }
    return falls_through;
  }

  Status check(StepIndex i) const {
    Status status;
    for_uses(p_, p_.steps[i], Check{*this, status});
    if (status) return {};
    return within(fmt::format("plan: step {} ({}): ", i, name_of(p_.steps[i])), std::move(status).error());
  }

  const Plan& p_;
  PathSets defined_;
  std::vector<PathSets::State> arriving_, heads_;  // per step
};

}  // namespace

Status verify(const Plan& plan) {
  FRAZIL_CHECK(PlanVerifier(plan).run());
  FRAZIL_CHECK(UpkeepChecker(plan).run());
  return DefinitionChecker(plan).run();
}

}  // namespace frazil
