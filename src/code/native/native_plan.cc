#include "code/native/native_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <utility>

#include <fmt/ranges.h>

#include "code/tile/tile_state.h"
#include "plan/analyse/dataflow.h"

namespace frazil::code {

std::int64_t NativeBody::elements() const {
  std::int64_t count = code != nullptr ? n : 0;
  for (const std::int64_t e : extents) count *= e;
  return product ? count + product->k * product->n / 8 : count;
}

std::size_t NativeBody::instructions() const {
  constexpr std::int64_t kColumns = 16;
  const std::size_t of_body = code != nullptr ? code->body.size() : 0;
  return product ? of_body + static_cast<std::size_t>(ceil_div(product->n, kColumns)) : of_body;
}

namespace {

/// Returns the layout along a row. A row of one element counts as one element, unless the program works on rows.
InnerStep step_of(const TileOperand& o, const TileState& s) {
  if (o.inner_step == 0 || (s.inner == 1 && !s.rows)) return InnerStep::one;
  return o.inner_step == o.size ? InnerStep::dense : InnerStep::strided;
}

}  // namespace

std::optional<NativeBody> native_body(const TileCode& code, const TileState& s) {
  if (!s.prepared || s.outer == 0 || s.inner == 0) return std::nullopt;
  NativeBody body{.code = &code, .n = s.inner, .stride = s.stride};
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
  if (s.rows) body.scratch_bytes = s.stride * (code.buffers + 1U);
  if (!why_not_native(code, body.form).empty()) return std::nullopt;
  return body;
}

namespace {

/// The outcome of a step's code. The interpreter runs steps without code.
enum class StepCode : std::uint8_t {
  none,
  may_leave,  ///< it may leave the step to the interpreter
  stays,      ///< it always runs the step
};

struct CodeOf {
  const Plan& plan;
  bool plain(SlotId s) const { return !plan.slot(s).object && plan.storage(s).place != Place::tiles; }
  bool integer(SlotId s) const {
    const Elem e = plan.slot(s).elem;
    return plain(s) && (e == Elem::i64 || e == Elem::i32);
  }
  bool integer_or_boolean(SlotId s) const { return integer(s) || (plain(s) && plan.slot(s).elem == Elem::boolean); }
  static StepCode stays_if(bool can) { return can ? StepCode::stays : StepCode::none; }
  static StepCode may_leave_if(bool can) { return can ? StepCode::may_leave : StepCode::none; }

  StepCode operator()(const step::Launch& l) const {
    const auto lies = [&](SlotId s) { return !s || plain(s); };
    return may_leave_if(l.device == kHost && l.extents.empty() && std::ranges::all_of(l.in, lies) &&
                        std::ranges::all_of(l.out, lies));
  }
  StepCode operator()(const step::Evaluate& e) const { return e.group == 0 ? StepCode::may_leave : StepCode::stays; }
  StepCode operator()(const step::Branch& b) const { return stays_if(plain(b.condition)); }
  StepCode operator()(const step::LeaveAt&) const { return StepCode::stays; }
  StepCode operator()(const step::BackEdge&) const { return StepCode::stays; }
  StepCode operator()(const step::Jump&) const { return StepCode::stays; }
  StepCode operator()(const step::Set&) const { return StepCode::stays; }
  StepCode operator()(const step::Add&) const { return StepCode::stays; }
  StepCode operator()(const step::Assign&) const { return StepCode::stays; }
  StepCode operator()(const step::Check&) const { return StepCode::may_leave; }
  StepCode operator()(const step::Guard&) const { return StepCode::may_leave; }
  StepCode operator()(const step::Swap& s) const {
    const auto fixed = [&](SlotId of) { return plain(of) && plan.storage(of).place != Place::growing; };
    return stays_if(fixed(s.source) && fixed(s.variable));
  }
  StepCode operator()(const step::Load& l) const { return stays_if(integer(l.from)); }
  StepCode operator()(const step::Pick& p) const { return may_leave_if(integer(p.index)); }
  StepCode operator()(const step::Bind& b) const { return stays_if(b.count == kNoReg && integer_or_boolean(b.from)); }
  StepCode operator()(const step::Store& s) const { return may_leave_if(integer_or_boolean(s.to)); }
  StepCode operator()(const step::Reserve&) const { return StepCode::may_leave; }
  StepCode operator()(const step::Reset& r) const { return may_leave_if(!plan.accumulators[r.accumulator.id].object); }
  StepCode operator()(const step::Append& a) const {
    return may_leave_if(a.in_place && !plan.accumulators[a.accumulator.id].object && plain(a.part));
  }
  StepCode operator()(const auto&) const { return StepCode::none; }
};

StepCode code_of(const Plan& plan, const Step& step) { return std::visit(CodeOf{plan}, step.body); }

}  // namespace

bool has_native_code(const Plan& plan, const Step& step) { return code_of(plan, step) != StepCode::none; }

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
    if (launch == nullptr) return code_of(*plan, plan->steps[i]) == StepCode::stays;
    const auto grows = [&](SlotId s) { return s && plan->storage(s).place == Place::growing; };
    return bodies[i] && !bodies[i]->product && guards[i].empty() && std::ranges::none_of(launch->out, grows);
  };
  enters.assign(plan->steps.size(), 0);
  for (StepIndex i = 0; i < plan->steps.size(); ++i) {
    if ((i == 0 || !stays(i - 1)) && has_code(i)) enters[i] = 1;
    if (const auto* again = plan->steps[i].as<step::BackEdge>()) enters[again->target] = 1;
    const auto* launch = plan->steps[i].as<step::Launch>();
    if (launch == nullptr || stays(i)) continue;
    for (StepIndex k = i + 1; k <= i + launch->concurrent; ++k) enters[k] |= static_cast<std::uint8_t>(has_code(k));
  }
}

namespace {

void add(std::string& key, std::string_view name, const auto& numbers) {
  fmt::format_to(std::back_inserter(key), "{} {};", name, fmt::join(numbers, " "));
}

void add_product(std::string& key, const NativeProduct& p) {
  add(key, "product", std::array{p.k, p.n, p.a_step, p.b_row, p.b_panel});
  add(key, "of", std::array{p.a, p.b, p.bias, p.addend, p.into, p.epilogue.first, p.epilogue.count});
  fmt::format_to(std::back_inserter(key), "{} {:x};", p.packed_at, std::bit_cast<std::uint32_t>(p.negative_slope));
}

void add_body(std::string& key, const NativeBody& body) {
  if (body.product) add_product(key, *body.product);
  if (body.code == nullptr) return;
  key += key_of(*body.code, true);
  fmt::format_to(std::back_inserter(key), "{}; n {} stride {};", body.form.str(), body.n, body.stride);
  add(key, "inner", body.inner);
  add(key, "extents", body.extents);
  for (const auto& steps : body.steps) add(key, "steps", steps);
}

/// A writer of keys. It writes only numbers, and lists with their lengths, so that no user's name can look like a part
/// of another plan.
class KeyWriter {
 public:
  explicit KeyWriter(const Plan& plan) {
    add(key_, "plan", std::array{plan.registers});
    std::ranges::for_each(plan.slots, [&](const Slot& s) { slot(s); });
    for (const Storage& s : plan.storages) {
      add(key_, "storage", std::array{static_cast<Reg>(s.place), static_cast<Reg>(s.device), s.bytes});
    }
    std::ranges::for_each(plan.groups, [&](const RegGroup& g) { group(g); });
    for (const Accumulator& a : plan.accumulators) {
      add(key_, "accumulator", std::array{a.storage, a.count, Reg{a.object}, static_cast<Reg>(a.elem)});
      add(key_, "dims", a.dims);
    }
    std::ranges::for_each(plan.steps, [&](const Step& s) { step(s); });
  }
  std::string take() { return std::move(key_); }

  // The roles of a step's fields; see plan/model/step.h.
  void reads(std::string_view, const auto& slots) { one(slots); }
  void writes(std::string_view, const auto& slots) { one(slots); }
  void updates(std::string_view, const auto& slots) { one(slots); }
  void uses(std::string_view, const auto& regs) { one(regs); }
  void defines(std::string_view, const auto& regs) { one(regs); }
  void target(std::string_view, StepIndex to) { number(to); }
  void group(std::string_view, std::uint32_t g) { number(g); }
  void accumulator(std::string_view, AccumulatorId a) { number(a.id); }
  void fused(std::string_view, std::uint32_t k) { number(k); }
  void value(std::string_view, const KernelParams&) {}  // a launch is called as prepared, or has a body
  void value(std::string_view, DeviceId device) { number(static_cast<int>(device)); }
  void value(std::string_view, auto n) { number(n); }

 private:
  void number(auto n) { fmt::format_to(std::back_inserter(key_), " {}", static_cast<std::int64_t>(n)); }
  void one(SlotId s) { number(s.id); }
  void one(Reg r) { number(r); }
  template <class T>
  void one(const std::vector<T>& list) {
    number(list.size());
    for (const T& item : list) one(item);
  }

  void slot(const Slot& s) {
    add(key_, "slot", std::array{static_cast<Reg>(s.elem), s.offset, s.storage, Reg{s.object}});
    add(key_, "dims", s.dims);
    add(key_, "strides", s.strides);
  }
  void group(const RegGroup& g) {
    add(key_, "group", g.sources);
    add(key_, "dependents", g.dependents);
    for (const auto& i : g.program.code) {
      fmt::format_to(std::back_inserter(key_), "{} {} {} {} {};", static_cast<int>(i.op), i.dst, i.a, i.b, i.imm);
    }
  }
  void step(const Step& s) {
    key_ += name_of(s);
    for_fields(s, *this);
    key_ += ';';
  }

  std::string key_;
};

}  // namespace

std::string NativePlan::key() const {
  std::string key = KeyWriter(*plan).take();
  const auto to = std::back_inserter(key);
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

}  // namespace frazil::code
