#include "plan/resume/resume.h"

#include <algorithm>
#include <set>
#include <span>
#include <unordered_map>

#include <fmt/format.h>

#include "plan/analyse/dataflow.h"
#include "plan/model/value_names.h"
#include "plan/resume/guard_path.h"

namespace frazil {
namespace {

/// Calls `f` as for_definitions() does, for all steps of an item.
template <class F>
void for_item_definitions(const Plan& plan, const GuardPath::Item& item, F f) {
  for (StepIndex i = item.begin; i < item.end; ++i) for_definitions(plan, plan.steps[i], f);
}

/// The definitions of an item. A storage of which it writes only a part is not in `whole`.
struct Defined {
  std::set<Reg> regs;
  std::set<SlotId> slots;
  std::set<std::uint32_t> storages, whole;

  Defined(const Plan& plan, const GuardPath::Item& item) { for_item_definitions(plan, item, Collect{plan, *this}); }

 private:
  struct Collect {
    const Plan& plan;
    Defined& to;
    void reg(Reg r) const { to.regs.insert(r); }
    void slot(SlotId s) const {
      const Slot& slot = plan.slot(s);
      to.slots.insert(s);
      to.storages.insert(slot.storage);
      if (slot.object || slot.is_whole()) to.whole.insert(slot.storage);
    }
    void accumulator(AccumulatorId a) const { to.storages.insert(plan.accumulators[a.id].storage); }
  };
};

/// Returns names of registers by what they hold: extents of inputs, symbols, capacities, and values computed from
/// these. Other registers have name 0.
std::vector<std::uint64_t> register_names(const Plan& plan, const ValueNames& values) {
  std::vector<std::uint64_t> names(plan.registers, 0);
  for (SymbolId s = 0; s < plan.graph->scope().symbol_count(); ++s) names[s] = values.of_symbol(s).value_or(0);
  for (std::size_t i = plan.inputs.size(); i-- > 0;) {
    for (std::size_t axis = plan.input_dims[i].size(); axis-- > 0;) {
      const SymbolId s = plan.input_dims[i][axis].symbol;
      if (s != kNone) names[s] = values.of_input(i, axis);
    }
  }
  for (const Plan::Append& a : plan.appends) {
    if (a.input == kNone) names[a.capacity] = values.of_capacity(a.from, a.axis);
  }
  for (const RegGroup& group : plan.groups) {
    for (const auto& ins : group.program.code) {
      const bool constant = ins.op == DimProgram::Op::constant;
      const bool ordered =
          ins.op == DimProgram::Op::sub || ins.op == DimProgram::Op::floordiv || ins.op == DimProgram::Op::mod;
      std::uint64_t a = constant ? 1 : names[ins.a], b = constant ? 1 : names[ins.b];
      if (a == 0 || b == 0) continue;
      if (!ordered && a > b) std::swap(a, b);
      names[ins.dst] = values.of_operation(ins.op, a, b, constant ? ins.imm : 0);
    }
  }
  return names;
}

/// Calls f(reg) for the registers that give the extents of variables of loops around a guard. Plans hold these at each
/// guard, so they are copied even if nothing reads them later.
void for_carried_registers(const Plan& plan, const GuardPath& path, auto f) {
  for (const std::uint32_t r : path.regions) {
    if (plan.regions[r].head == kNone) continue;
    for (const SlotId s : plan.regions[r].variables) {
      if (s) for_registers(plan, s, f);
    }
  }
}

// ---- what the old plan has ----

/// The values and registers, by name, that a plan has when one of its guards fails. These are the ones that the plan
/// itself would have read from there on.
class Available {
 public:
  Available(const Plan& plan, const GuardPath& path, KeyNumbers& numbers)
      : p_(plan), path_(path), names_(*plan.graph, numbers), live_(live_at(plan, path.guard)) {
    find_last_writes();
    find_done();
    std::set<std::uint32_t> whole;
    for (SlotId s : live_.slots) {
      if (is_all(s)) whole.insert(p_.slot(s).storage);
    }
    for (std::uint32_t s = 0; s < p_.slots.size(); ++s) {
      const bool same_bytes = is_all({s}) && whole.contains(p_.slots[s].storage);
      if (same_bytes || live_.slots.contains({s})) add_slot({s});
    }
    const auto regs = register_names(plan, names_);
    for_carried_registers(plan, path, [&](Reg r) { live_.regs.insert(r); });
    for (Reg r : live_.regs) {
      if (regs[r] != 0) regs_.emplace(regs[r], r);
    }
  }

  SlotId slot(std::uint64_t name) const {
    const auto it = slots_.find(name);
    return it == slots_.end() ? SlotId{} : it->second;
  }
  Reg reg(std::uint64_t name) const {
    const auto it = regs_.find(name);
    return it == regs_.end() ? kNoReg : it->second;
  }
  bool has(Reg r) const { return live_.regs.contains(r); }
  /// Returns true for a slot of a loop around the guard that iterations pass on. A variable must be as the last
  /// iteration left it.
  bool has_carried(SlotId s, const PlannedRegion& loop, bool variable) const {
    const std::uint32_t storage = p_.slot(s).storage;
    return (!variable || last_write_[storage] <= loop.head) &&
           std::ranges::any_of(live_.slots, [&](SlotId l) { return p_.slot(l).storage == storage; });
  }

 private:
  /// Finds the step after the last one that writes each storage, and after the last one of each node.
  void find_last_writes() {
    last_write_.assign(p_.storages.size(), 0);
    for (const GuardPath::Item& item : path_.items) {
      for (std::uint32_t storage : Defined(p_, item).storages) last_write_[storage] = item.end;
      for (StepIndex i = item.begin; i < item.end; ++i) {
        last_step_[p_.steps[i].node.id] = item.end;
        for (NodeId m : p_.steps[i].members) last_step_[m.id] = item.end;
      }
    }
  }

  bool is_all(SlotId s) const { return p_.slot(s).object || p_.slot(s).is_whole(); }

  /// Finds the step after which each node is done. A view has no steps: it is done when the nodes before it are.
  void find_done() {
    StepIndex last = 0;
    for (const GuardPath::Level& level : path_.levels) {
      const auto& nodes = p_.graph->block(level.block).nodes;
      for (std::size_t i = 0; i < level.position; ++i) {
        last = std::max(last, last_step_[nodes[i].id]);
        done_[nodes[i].id] = last;
      }
    }
  }

  void add_slot(SlotId s) {
    const Slot& slot = p_.slot(s);
    const auto node = slot.value ? p_.graph->producer(slot.value) : std::nullopt;
    const auto done = node ? done_.find(node->id) : done_.end();
    if (done == done_.end() || last_write_[slot.storage] > done->second) return;
    const Storage& storage = p_.storages[slot.storage];
    const bool shared = storage.place == Place::arena;
    if (shared && (storage.first > path_.guard || storage.last < path_.guard)) return;
    if (storage.place != Place::tiles) slots_.emplace(names_.of(slot.value), s);
  }

  const Plan& p_;
  const GuardPath& path_;
  ValueNames names_;
  Live live_;
  std::vector<StepIndex> last_write_;                       // per storage
  std::unordered_map<std::uint32_t, StepIndex> last_step_;  // per node: the step after its last one
  std::unordered_map<std::uint32_t, StepIndex> done_;  // per node that has run: the step after the last one up to it
  std::unordered_map<std::uint64_t, SlotId> slots_;
  std::unordered_map<std::uint64_t, Reg> regs_;
};

// ---- what the new plan needs ----

/// Walks back from the guard and finds the source of everything that is needed.
class ResumePlanner {
 public:
  ResumePlanner(const Plan& from, const GuardPath& old, const Plan& to, const GuardPath& path)
      : from_(from),
        old_(old),
        available_(from, old, numbers_),
        to_(to),
        path_(path),
        names_(*to.graph, numbers_),
        reg_names_(register_names(to, names_)),
        given_(defined_by_request(to)) {
    for (const auto& ins : to.groups[0].program.code) given_[ins.dst] = true;
    const Live live = live_at(to, path.guard);
    for (SlotId s : live.slots) need(s);
    for (Reg r : live.regs) need(r);
    for_carried_registers(to, path, [&](Reg r) { need(r); });
  }

  std::expected<Resume, std::string> run() {
    if (!same_regions()) return std::unexpected("the regions around the guard differ");
    for (std::size_t i = path_.items.size(); i-- > 0;) {
      const GuardPath::Item& item = path_.items[i];
      if (!(item.loop == kNone ? steps(item) : head(item, i))) return std::unexpected(std::move(why_));
    }
    if (!nothing_left()) return std::unexpected(std::move(why_));
    std::ranges::reverse(resume_.actions);
    resume_.at = path_.guard;
    find_groups();
    return std::move(resume_);
  }

 private:
  /// Stores the reason why the request cannot continue. Returns false.
  template <class... A>
  bool no(fmt::format_string<A...> format, A&&... args) {
    why_ = fmt::format(format, std::forward<A>(args)...);
    return false;
  }
  std::string describe(SlotId s) const {
    const Value v = to_.slot(s).value;
    const std::string name = v ? to_.graph->value_name(v) : "";
    return name.empty() ? fmt::format("slot s{}", s.id) : fmt::format("value '{}'", name);
  }

  bool same_regions() const {
    return std::ranges::equal(old_.regions, path_.regions, [&](std::uint32_t a, std::uint32_t b) {
      const PlannedRegion &x = from_.regions[a], &y = to_.regions[b];
      return from_.graph->node(x.node).stable == to_.graph->node(y.node).stable &&
             x.counters.size() == y.counters.size() && x.variables.size() == y.variables.size() &&
             x.accumulators.size() == y.accumulators.size();
    });
  }

  void need(Reg r) {
    if (!given_[r]) needed_regs_.insert(r);
  }
  void need(SlotId s) {
    const Place place = to_.storage(s).place;
    if (place != Place::constant && place != Place::input) needed_slots_.insert(s);
  }

  /// Checks what is still needed. It must not be defined by a step before the guard: it exists from the beginning, or
  /// it is never read.
  bool nothing_left() {
    const DefinedAt defined(to_, 0, given_);
    if (!defined.reached(path_.guard)) return no("the guard is never reached");
    for (Reg r : needed_regs_) {
      if (defined.has_reg(path_.guard, r)) return no("no step on the way gives register r{}", r);
    }
    for (SlotId s : needed_slots_) {
      const std::uint32_t storage = to_.slot(s).storage;
      if (given_[DefinedAt::storage_bit(to_, storage)]) continue;
      if (defined.has_storage(path_.guard, storage)) return no("no step on the way makes {}", describe(s));
    }
    return true;
  }

  /// Finds the register groups of which a register was copied.
  void find_groups() {
    std::set<std::uint32_t> groups;
    for (const Resume::Action& action : resume_.actions) {
      const auto* copy = std::get_if<Resume::CopyRegister>(&action);
      if (copy == nullptr) continue;
      for (std::uint32_t g = 1; g < to_.groups.size(); ++g) {
        const RegGroup& group = to_.groups[g];
        const auto computes = [&](const DimProgram::Ins& ins) { return ins.dst == copy->to; };
        if (std::ranges::find(group.sources, copy->to) != group.sources.end() ||
            std::ranges::any_of(group.program.code, computes)) {
          groups.insert(g);
        }
      }
    }
    resume_.groups.assign(groups.begin(), groups.end());
  }

  // ---- steps ----

  /// Copies what the steps define and is needed, or runs them. Check and Reserve steps always run: what they check, and
  /// the memory that they reserve, belongs to the request.
  bool steps(const GuardPath::Item& item) {
    const Defined defined(to_, item);
    std::vector<SlotId> wanted;
    for (SlotId s : needed_slots_) {
      if (defined.storages.contains(to_.slot(s).storage)) wanted.push_back(s);
    }
    const Step& first = to_.steps[item.begin];
    const bool always =
        item.end == item.begin + 1 && (first.as<step::Check>() != nullptr || first.as<step::Reserve>() != nullptr);
    return (!always && copy(wanted, defined)) || run_steps(item, defined, wanted);
  }

  /// Copies all that is needed of what an item defines. Returns false, and does nothing, if the old plan lacks a part
  /// of it.
  bool copy(const std::vector<SlotId>& wanted, const Defined& defined) {
    std::vector<Resume::Action> actions;
    std::set<Reg> needed = needed_regs_;
    std::set<SlotId> copies;
    for (SlotId s : wanted) {
      if (available(s)) {
        copies.insert(s);
        continue;
      }
      for (SlotId part : defined.slots) {
        if (to_.slot(part).storage == to_.slot(s).storage) copies.insert(part);
      }
    }
    for (SlotId s : copies) {
      const SlotId old = available(s);
      if (!old) return false;
      actions.emplace_back(Resume::CopySlot{old, s});
      for_registers(to_, s, [&](Reg r) {
        if (!given_[r]) needed.insert(r);
      });
    }
    for (Reg r : defined.regs) {
      if (!needed.contains(r)) continue;
      const Reg old = available(r);
      if (old == kNoReg) return false;
      actions.emplace_back(Resume::CopyRegister{old, r});
      needed.erase(r);
    }
    needed_regs_ = std::move(needed);
    for (SlotId s : wanted) {
      if (copies.contains(s) || defined.whole.contains(to_.slot(s).storage)) needed_slots_.erase(s);
    }
    resume_.actions.insert(resume_.actions.end(), actions.begin(), actions.end());
    return true;
  }

  bool run_steps(const GuardPath::Item& item, const Defined& defined, const std::vector<SlotId>& wanted) {
    resume_.actions.emplace_back(Resume::Run{item.begin, item.end});
    for (Reg r : defined.regs) needed_regs_.erase(r);
    for (SlotId s : wanted) {
      if (defined.whole.contains(to_.slot(s).storage)) needed_slots_.erase(s);
    }
    for (StepIndex i = item.begin; i < item.end; ++i) {
      if (draws(to_.steps[i])) return no("{} draws random numbers", to_.graph->describe(to_.steps[i].node));
      for_uses(to_, to_.steps[i], Reads{*this});
      for_definitions(to_, to_.steps[i], Written{*this, defined});
    }
    return true;
  }
  struct Reads {
    ResumePlanner& r;
    void reg(Reg reg) const { r.need(reg); }
    void slot(SlotId s) const { r.need(s); }
  };
  struct Written {
    ResumePlanner& r;
    const Defined& defined;
    void reg(Reg) const {}
    void accumulator(AccumulatorId) const {}
    void slot(SlotId s) const {
      for_registers(r.to_, s, [&](Reg reg) {
        if (!defined.regs.contains(reg)) r.need(reg);
      });
    }
  };

  bool draws(const Step& step) const {
    const auto node = [&](NodeId n) { return n && draws_random_numbers(*to_.graph, n); };
    return node(step.node) || std::ranges::any_of(step.members, node);
  }

  SlotId available(SlotId s) const {
    const Slot& slot = to_.slot(s);
    return slot.value && to_.graph->producer(slot.value) ? available_.slot(names_.of(slot.value)) : SlotId{};
  }
  Reg available(Reg r) const { return reg_names_[r] == 0 ? kNoReg : available_.reg(reg_names_[r]); }

  // ---- loops ----

  /// Handles the head of a loop: what one iteration passes to the next comes from the old plan's loop.
  bool head(const GuardPath::Item& item, std::size_t position) {
    const PlannedRegion& loop = to_.regions[item.loop];
    const auto depth = std::ranges::find(path_.regions, item.loop) - path_.regions.begin();
    const PlannedRegion& old = from_.regions[old_.regions[static_cast<std::size_t>(depth)]];
    return head_accumulators(loop, old) && head_slots(loop, old, position) && head_registers(loop, old, position);
  }

  bool head_accumulators(const PlannedRegion& loop, const PlannedRegion& old) {
    for (std::size_t a = 0; a < loop.accumulators.size(); ++a) {
      const AccumulatorId to{loop.accumulators[a]}, from{old.accumulators[a]};
      if ((to.id == kNone) != (from.id == kNone)) return no("a loop's result is in another storage");
      if (to.id == kNone) continue;
      resume_.actions.emplace_back(Resume::CopyAccumulator{from, to});
      const Accumulator& acc = to_.accumulators[to.id];
      needed_regs_.erase(acc.count);
      for (Reg r : acc.dims) needed_regs_.erase(r);
      std::erase_if(needed_slots_, [&](SlotId s) { return to_.slot(s).storage == acc.storage; });
    }
    return true;
  }

  bool head_slots(const PlannedRegion& loop, const PlannedRegion& old, std::size_t position) {
    const Defined body(to_, {.begin = loop.head, .end = loop.end});
    const std::set<SlotId> needed = needed_slots_;
    std::set<SlotId> copied;
    for (SlotId s : needed) {
      const std::uint32_t storage = to_.slot(s).storage;
      const auto [to, from, variable] = carried(loop, old, storage);
      if (!to && !body.storages.contains(storage)) continue;
      if (to ? !available_.has_carried(from, old, variable) : written_before(storage, position)) {
        return no("{} is not as the last iteration left it", describe(s));
      }
      needed_slots_.erase(s);
      if (!to || !copied.insert(to).second) continue;
      resume_.actions.emplace_back(Resume::CopySlot{from, to});
      for_registers(to_, to, [&](Reg r) { need(r); });
    }
    return true;
  }

  struct Carried {
    SlotId to{}, from{};
    bool variable = false;
  };
  /// Returns the slots, in both plans, of the loop variable in `storage`, or of the result in `storage` that the loop's
  /// iterations fill.
  Carried carried(const PlannedRegion& loop, const PlannedRegion& old, std::uint32_t storage) const {
    const auto pick = [&](const std::vector<SlotId>& to, const std::vector<SlotId>& from, bool variable) -> Carried {
      for (std::size_t i = 0; i < to.size(); ++i) {
        if (to[i] && from[i] && to_.slot(to[i]).storage == storage) return {to[i], from[i], variable};
      }
      return {};
    };
    const Carried variable = pick(loop.variables, old.variables, true);
    return variable.to ? variable : pick(loop.stacked, old.stacked, false);
  }

  bool head_registers(const PlannedRegion& loop, const PlannedRegion& old, std::size_t position) {
    const Defined body(to_, {.begin = loop.head, .end = loop.end});
    const std::set<Reg> needed = needed_regs_;
    for (Reg r : needed) {
      const auto counter = std::ranges::find(loop.counters, r) - loop.counters.begin();
      const bool counts = static_cast<std::size_t>(counter) < loop.counters.size();
      if (!counts && !body.regs.contains(r)) continue;
      const Reg from = counts ? old.counters[static_cast<std::size_t>(counter)] : available(r);
      if (from != kNoReg && available_.has(from)) {
        resume_.actions.emplace_back(Resume::CopyRegister{from, r});
      } else if (defined_before(r, position)) {
        return no("register r{} is not as the last iteration left it", r);
      }
      needed_regs_.erase(r);
    }
    return true;
  }

  bool written_before(std::uint32_t storage, std::size_t position) const {
    return std::ranges::any_of(std::span(path_.items).first(position), [&](const GuardPath::Item& item) {
      return Defined(to_, item).storages.contains(storage);
    });
  }
  bool defined_before(Reg r, std::size_t position) const {
    return std::ranges::any_of(std::span(path_.items).first(position),
                               [&](const GuardPath::Item& item) { return Defined(to_, item).regs.contains(r); });
  }

  KeyNumbers numbers_;  // of names in both plans
  const Plan& from_;
  const GuardPath& old_;
  Available available_;
  const Plan& to_;
  const GuardPath& path_;
  ValueNames names_;
  std::vector<std::uint64_t> reg_names_;
  DefinedAt::Bits given_;  // defined before the first step
  std::set<Reg> needed_regs_;
  std::set<SlotId> needed_slots_;
  Resume resume_;
  std::string why_;
};

std::optional<StepIndex> guard_of(const Plan& plan, AssumptionKey key) {
  for (StepIndex i = 0; i < plan.steps.size(); ++i) {
    const auto* guard = plan.steps[i].as<step::Guard>();
    if (guard != nullptr && guard->key == key) return i;
  }
  return std::nullopt;
}

}  // namespace

std::expected<Resume, std::string> plan_resume(const Plan& from, StepIndex guard, const Plan& to) {
  const auto at = guard_of(to, from.steps[guard].as<step::Guard>()->key);
  const auto old = GuardPath::of(from, guard);
  const auto path = at ? GuardPath::of(to, *at) : std::nullopt;
  if (!old || !path) return std::unexpected("the guard is after blocks whose order of steps is unknown");
  return ResumePlanner(from, *old, to, *path).run();
}

std::string Resume::str() const {
  std::string text;
  struct Line {
    std::string& text;
    void operator()(const Run& run) const { text += fmt::format("run {}..{}\n", run.begin, run.end); }
    void operator()(const CopySlot& c) const { text += fmt::format("s{} = s{}\n", c.to.id, c.from.id); }
    void operator()(const CopyRegister& c) const { text += fmt::format("r{} = r{}\n", c.to, c.from); }
    void operator()(const CopyAccumulator& c) const { text += fmt::format("a{} = a{}\n", c.to.id, c.from.id); }
  };
  for (const Action& action : actions) std::visit(Line{text}, action);
  return text + fmt::format("continue at {}\n", at);
}

}  // namespace frazil
