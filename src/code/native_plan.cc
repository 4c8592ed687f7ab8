#include "code/native_plan.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/ranges.h>

#include "code/tile_state.h"
#include "plan/dataflow.h"

namespace frazil {

std::int64_t NativeBody::elements() const {
  std::int64_t count = n;
  for (const std::int64_t e : extents) count *= e;
  return count;
}

namespace {

/// A row of one element is computed as one element, unless the program works on rows.
InnerStep step_of(const TileOperand& o, const TileState& s) {
  if (o.inner_step == 0 || (s.inner == 1 && !s.rows)) return InnerStep::one;
  return o.inner_step == o.size ? InnerStep::dense : InnerStep::strided;
}

}  // namespace

std::optional<NativeBody> native_body(const KernelEntry& entry, const void* state) {
  if (!entry.runs_body) return std::nullopt;
  const auto& s = *static_cast<const TileState*>(state);
  if (!s.prepared || s.outer == 0 || s.inner == 0) return std::nullopt;
  NativeBody body{.code = static_cast<const TileCode*>(entry.code.get()), .n = s.inner, .stride = s.stride};
  const TileArrays arrays(s);
  const auto count = static_cast<std::size_t>(s.count());
  for (std::size_t k = 0; k < count; ++k) {
    body.form.steps.push_back(step_of(arrays.operands[k], s));
    body.inner.push_back(arrays.operands[k].inner_step);
  }
  for (int a = 0; a < s.rank; ++a) {
    body.extents.push_back(arrays.extents[a]);
    const std::int64_t* const steps = arrays.steps + a * s.count();
    body.steps.emplace_back(steps, steps + count);
  }
  if (s.rows) body.scratch_bytes = s.stride * (body.code->buffers + 1U);
  if (!why_not_native(*body.code, body.form).empty()) return std::nullopt;
  return body;
}

namespace {

/// Whether there is code for a kind of step, where it does not depend on the step's operands.
struct HasCode {
  const Plan& plan;
  bool plain(SlotId s) const { return !plan.slot(s).object && plan.storage(s).place != Place::tiles; }
  bool integer(SlotId s) const { return plain(s) && is_integer_or_boolean(plan.slot(s).elem); }
  static bool is_integer_or_boolean(Elem e) { return e == Elem::i64 || e == Elem::i32 || e == Elem::boolean; }

  bool operator()(const step::Launch& l) const {
    const auto lies = [&](SlotId s) { return !s || plain(s); };
    return l.device == kHost && l.extents.empty() && std::ranges::all_of(l.in, lies) &&
           std::ranges::all_of(l.out, lies);
  }
  bool operator()(const step::Evaluate&) const { return true; }
  bool operator()(const step::Branch& b) const { return plain(b.condition); }
  bool operator()(const step::LeaveAt&) const { return true; }
  bool operator()(const step::Again&) const { return true; }
  bool operator()(const step::Jump&) const { return true; }
  bool operator()(const step::Set&) const { return true; }
  bool operator()(const step::Add&) const { return true; }
  bool operator()(const step::Assign&) const { return true; }
  bool operator()(const step::Check&) const { return true; }
  bool operator()(const step::Guard&) const { return true; }
  bool operator()(const step::Swap& s) const {
    const auto stays = [&](SlotId of) { return plain(of) && plan.storage(of).place != Place::growing; };
    return stays(s.source) && stays(s.variable);
  }
  bool operator()(const step::Load& l) const { return integer(l.from) && plan.slot(l.from).elem != Elem::boolean; }
  bool operator()(const step::Pick& p) const { return integer(p.index) && plan.slot(p.index).elem != Elem::boolean; }
  bool operator()(const step::Bind& b) const { return integer(b.from); }
  bool operator()(const step::Store& s) const { return integer(s.to); }
  bool operator()(const step::Reserve&) const { return true; }
  bool operator()(const step::Reset& r) const { return !plan.accumulators[r.accumulator.id].object; }
  bool operator()(const step::Append& a) const {
    return a.in_place && !plan.accumulators[a.accumulator.id].object && plain(a.part);
  }
  bool operator()(const auto&) const { return false; }
};

/// Whether a step with code always runs to its end.
struct Stays {
  bool operator()(const step::Evaluate& e) const { return e.group != 0; }
  bool operator()(const step::Branch&) const { return true; }
  bool operator()(const step::LeaveAt&) const { return true; }
  bool operator()(const step::Again&) const { return true; }
  bool operator()(const step::Jump&) const { return true; }
  bool operator()(const step::Set&) const { return true; }
  bool operator()(const step::Add&) const { return true; }
  bool operator()(const step::Assign&) const { return true; }
  bool operator()(const step::Swap&) const { return true; }
  bool operator()(const step::Load&) const { return true; }
  bool operator()(const step::Bind&) const { return true; }
  bool operator()(const auto&) const { return false; }
};

}  // namespace

bool has_native_code(const Plan& plan, const Step& step) { return std::visit(HasCode{plan}, step.body); }

std::vector<bool> fixed_registers(const Plan& plan) {
  std::vector<bool> fixed(plan.registers, true);
  struct Changes {
    std::vector<bool>& fixed;
    void reg(Reg r) const {
      if (r != kNoReg) fixed[r] = false;
    }
    void slot(SlotId) const {}
    void accumulator(AccumulatorId) const {}
  };
  for (const Step& step : plan.steps) {
    const auto* evaluate = step.as<step::Evaluate>();
    if (evaluate == nullptr || evaluate->group != 0) for_definitions(plan, step, Changes{fixed});
  }
  return fixed;
}

std::vector<Reg> extents_of(const Plan& plan, const step::Launch& launch) {
  std::vector<Reg> regs = launch.domain;
  for (const auto* list : {&launch.in, &launch.out}) {
    for (const SlotId s : *list) {
      if (!s) continue;
      const Slot& slot = plan.slot(s);
      regs.insert(regs.end(), slot.dims.begin(), slot.dims.end());
      regs.insert(regs.end(), slot.strides.begin(), slot.strides.end());
    }
  }
  std::ranges::sort(regs);
  const auto rest = std::ranges::unique(regs);
  regs.erase(rest.begin(), rest.end());
  return regs;
}

void NativePlan::find_entries() {
  const auto has_code = [&](StepIndex i) { return has_native_code(*plan, plan->steps[i]); };
  const auto stays = [&](StepIndex i) {
    const auto* launch = plan->steps[i].as<step::Launch>();
    if (launch == nullptr) return has_code(i) && std::visit(Stays{}, plan->steps[i].body);
    const auto grows = [&](SlotId s) { return s && plan->storage(s).place == Place::growing; };
    return bodies[i].has_value() && guards[i].empty() && std::ranges::none_of(launch->out, grows);
  };
  enters.assign(plan->steps.size(), 0);
  for (StepIndex i = 0; i < plan->steps.size(); ++i) {
    if ((i == 0 || !stays(i - 1)) && has_code(i)) enters[i] = 1;
    if (const auto* again = plan->steps[i].as<step::Again>()) enters[again->target] = 1;
  }
}

namespace {

void add(std::string& key, std::string_view name, const auto& numbers) {
  fmt::format_to(std::back_inserter(key), "{} {};", name, fmt::join(numbers, " "));
}

void add_body(std::string& key, const NativeBody& body) {
  key += key_of(*body.code);
  fmt::format_to(std::back_inserter(key), "{}; n {} stride {};", body.form.str(), body.n, body.stride);
  add(key, "inner", body.inner);
  add(key, "extents", body.extents);
  for (const auto& steps : body.steps) add(key, "steps", steps);
}

}  // namespace

std::string NativePlan::key() const {
  std::string key = plan->str();
  const auto to = std::back_inserter(key);
  for (const Slot& s : plan->slots) {
    fmt::format_to(to, "slot {} {} {} {};", name_of(s.elem), s.offset, s.storage, s.object);
    add(key, "dims", s.dims);
  }
  for (const Storage& s : plan->storages) fmt::format_to(to, "storage {} {};", name_of(s.place), s.bytes);
  for (const RegGroup& g : plan->groups) {
    add(key, "group", g.sources);
    for (const auto& i : g.program.code) {
      fmt::format_to(to, "{} {} {} {} {};", static_cast<int>(i.op), i.dst, i.a, i.b, i.imm);
    }
  }
  for (const Accumulator& a : plan->accumulators) {
    fmt::format_to(to, "accumulator {} {} {};", a.storage, a.count, a.object);
    add(key, "dims", a.dims);
  }
  for (StepIndex i = 0; i < plan->steps.size(); ++i) {
    if (enters[i] != 0) fmt::format_to(to, "enter {};", i);
    if (!bodies[i]) continue;
    fmt::format_to(to, "body {};", i);
    add_body(key, *bodies[i]);
    for (const KnownRegister& known : guards[i]) fmt::format_to(to, "r{} = {};", known.reg, known.value);
  }
  fmt::format_to(to, "capacities {};", capacity_step);
  return key;
}

}  // namespace frazil
