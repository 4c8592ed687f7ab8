#include "plan/section.h"

#include <algorithm>
#include <optional>

namespace frazil {

// ---- the cache ----

std::shared_ptr<const Section> SectionCache::find(std::uint64_t hash) {
  const std::scoped_lock lock(mutex_);
  const auto at = sections_.find(hash);
  return at == sections_.end() ? nullptr : at->second.lock();
}

void SectionCache::add(std::uint64_t hash, const std::shared_ptr<const Section>& section) {
  const std::scoped_lock lock(mutex_);
  sections_.insert_or_assign(hash, section);
  if (sections_.size() >= sweep_at_) forget_unused();
}

void SectionCache::sweep() {
  const std::scoped_lock lock(mutex_);
  forget_unused();
}

void SectionCache::forget_unused() {
  std::erase_if(sections_, [](const auto& entry) { return entry.second.expired(); });
  sweep_at_ = std::max<std::size_t>(64, 2 * sections_.size());
}

SectionCache& SectionCache::shared() {
  static SectionCache cache;
  return cache;
}

namespace {

/// Changes every slot, register, node, fused kernel and text that a step names.
template <class M>
struct Renumber : FieldVisitor {
  M& map;
  explicit Renumber(M& m) : map(m) {}
  void slots(SlotId& s) {
    if (s) s = map.slot(s);
  }
  void slots(std::vector<SlotId>& list) {
    for (SlotId& s : list) slots(s);
  }
  void registers(Reg& r) { r = map.reg(r); }
  void registers(std::vector<Reg>& list) {
    for (Reg& r : list) registers(r);
  }
  void reads(std::string_view, auto& x) { slots(x); }
  void writes(std::string_view, auto& x) { slots(x); }
  void updates(std::string_view, auto& x) { slots(x); }
  void uses(std::string_view, auto& x) { registers(x); }
  void fused(std::string_view, std::uint32_t& k) {
    if (k != kNone) k = map.fused(k);
  }
};

template <class M>
Step renumbered(Step step, M& map) {
  for_fields(step, Renumber<M>(map));
  if (auto* check = step.as<step::Check>()) check->what = map.text(check->what);
  if (step.node) step.node = map.node(step.node);
  for (NodeId& n : step.members) n = map.node(n);
  return step;
}

/// Steps that stand alone: no jumps, groups, accumulators or registers that they define.
bool can_move(const Step& step) {
  if (const auto* launch = step.as<step::Launch>()) return launch->extents.empty();
  return step.as<step::Store>() != nullptr || step.as<step::Check>() != nullptr;
}

/// Runs a program on Dims.
std::vector<Dim> evaluate(Scope& scope, const DimProgram& program, std::span<const SymbolId> symbols) {
  using Op = DimProgram::Op;
  std::vector<Dim> regs(program.registers);
  for (std::size_t i = 0; i < symbols.size(); ++i) regs[i] = scope.symbol_dim(symbols[i]);
  for (const auto& ins : program.code) {
    const Dim a = regs[ins.a], b = regs[ins.b];
    switch (ins.op) {
      case Op::constant: regs[ins.dst] = ins.imm; break;
      case Op::add: regs[ins.dst] = scope.add(a, b); break;
      case Op::sub: regs[ins.dst] = scope.sub(a, b); break;
      case Op::mul: regs[ins.dst] = scope.mul(a, b); break;
      case Op::floordiv: regs[ins.dst] = scope.floordiv(a, b); break;
      case Op::mod: regs[ins.dst] = scope.mod(a, b); break;
      case Op::min: regs[ins.dst] = scope.min(a, b); break;
      case Op::max: regs[ins.dst] = scope.max(a, b); break;
    }
  }
  return regs;
}

std::vector<std::uint32_t> stables_of(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<std::uint32_t> stables;
  for (NodeId n : nodes) stables.push_back(graph.node(n).stable);
  return stables;
}

}  // namespace

// ---- from a plan to a section ----

/// Gives what a stretch of a plan names its numbers in a section; `movable` turns false at what has none.
class SectionMaker {
 public:
  SectionMaker(const SectionRecorder& from, const NodeRun& run) : from_(from), w_(from.w_), run_(run) {
    program_.registers = static_cast<std::uint32_t>(w_.scope.symbol_count());
    made_.values = static_cast<std::uint32_t>(run.values.size());
    for (std::uint32_t i = 0; i < run.values.size(); ++i) {
      number_[run.values[i].id] = i;
      if (w_.has_slot(run.values[i])) outside_.try_emplace(w_.slot_of(run.values[i]).id, i);
    }
    for (std::uint32_t i = 0; i < run.nodes.size(); ++i) node_[run.nodes[i].id] = i;
  }

  std::shared_ptr<const Section> make() {
    for (Dim d : from_.asked_) made_.registers.push_back(dim(d));
    for (std::size_t s = from_.slots_; s < w_.plan.slots.size(); ++s) add_slot(SlotId{static_cast<std::uint32_t>(s)});
    for (std::size_t i = from_.steps_; i < w_.plan.steps.size(); ++i) {
      movable_ &= can_move(w_.plan.steps[i]);
      if (movable_) made_.steps.push_back(renumbered(w_.plan.steps[i], *this));
    }
    for (Value v : run_.values) {
      if (w_.has_slot(v) && is_new(w_.slot_of(v))) made_.results.emplace_back(number_.at(v.id), slot(w_.slot_of(v)).id);
    }
    made_.fused.assign(w_.plan.fused.begin() + static_cast<std::ptrdiff_t>(from_.fused_), w_.plan.fused.end());
    made_.stables = stables_of(w_.graph, run_.nodes);
    number_symbols();
    if (!movable_ || w_.plan.groups.size() != from_.groups_) return nullptr;
    return std::make_shared<const Section>(std::move(made_));
  }

  SlotId slot(SlotId s) {
    if (is_new(s)) return SlotId{made_.values + s.id - static_cast<std::uint32_t>(from_.slots_)};
    const auto at = outside_.find(s.id);
    movable_ &= at != outside_.end();
    return SlotId{at == outside_.end() ? 0 : at->second};
  }
  Reg reg(Reg r) {
    const auto d = w_.regs.dim(r);
    movable_ &= d.has_value();
    return d ? dim(*d) : 0;
  }
  NodeId node(NodeId n) {
    const auto at = node_.find(n.id);
    movable_ &= at != node_.end();
    return NodeId{at == node_.end() ? 0 : at->second};
  }
  std::uint32_t fused(std::uint32_t k) const { return k - static_cast<std::uint32_t>(from_.fused_); }
  std::uint32_t text(std::uint32_t t) {
    made_.texts.push_back(w_.plan.texts[t]);
    return static_cast<std::uint32_t>(made_.texts.size() - 1);
  }

 private:
  bool is_new(SlotId s) const { return s.id >= from_.slots_; }
  Reg dim(Dim d) { return w_.scope.emit(d, program_, known_); }

  void add_slot(SlotId id) {
    const Slot& s = w_.plan.slot(id);
    const Storage& storage = w_.plan.storage(id);
    Section::LocalSlot local{.elem = s.elem, .place = storage.place, .shape = {}, .strides = {}};
    if (const auto at = s.value ? number_.find(s.value.id) : number_.end(); at != number_.end())
      local.value = at->second;
    local.constant = s.value && w_.graph.constant(s.value) != nullptr && w_.slot_of(s.value) == id;
    movable_ &= !local.constant || local.value != kNone;
    const auto [first, is_first] = storages_.try_emplace(s.storage, id);
    if (s.storage < from_.storages_)
      local.storage_of = storage_owner(s.storage);
    else if (!is_first)
      local.storage_of = slot(first->second).id;
    if (storage.bytes != kNoReg) local.bytes = reg(storage.bytes);
    const Layout& layout = w_.layout(id);
    for (Dim d : layout.shape) local.shape.push_back(dim(d));
    for (Dim d : layout.strides) local.strides.push_back(dim(d));
    local.offset = dim(layout.offset);
    movable_ &= storage.place == Place::arena || storage.place == Place::growing || storage.place == Place::tiles ||
                storage.place == Place::object || local.constant || local.storage_of != kNone;
    made_.slots.push_back(std::move(local));
  }

  /// An outside value whose slot has the storage.
  std::uint32_t storage_owner(std::uint32_t storage) {
    for (const auto& [slot, value] : outside_) {
      if (slot < from_.slots_ && w_.plan.slots[slot].storage == storage) return value;
    }
    movable_ = false;
    return 0;
  }

  /// The program's first registers are all symbols of the graph: leaves those of the run.
  void number_symbols() {
    const auto all = static_cast<std::uint32_t>(w_.scope.symbol_count());
    const auto own = static_cast<std::uint32_t>(run_.symbols.size());
    std::vector<Reg> to(all, kNoReg);
    for (std::uint32_t i = 0; i < own; ++i) to[run_.symbols[i]] = i;
    const auto move = [&](Reg& r) {
      if (r == kNoReg) return;
      r = r < all ? to[r] : r - all + own;
      movable_ &= r != kNoReg;
    };
    made_.extents = std::move(program_);
    made_.extents.registers += own - all;
    for (auto& ins : made_.extents.code) {
      move(ins.dst);
      if (ins.op == DimProgram::Op::constant) continue;
      move(ins.a), move(ins.b);
    }
    std::ranges::for_each(made_.registers, move);
    for (auto& s : made_.slots) {
      std::ranges::for_each(s.shape, move);
      std::ranges::for_each(s.strides, move);
      move(s.offset), move(s.bytes);
    }
    struct Moves {
      decltype(move)& one;
      SlotId slot(SlotId s) const { return s; }
      Reg reg(Reg r) const { return one(r), r; }
      NodeId node(NodeId n) const { return n; }
      std::uint32_t fused(std::uint32_t k) const { return k; }
      std::uint32_t text(std::uint32_t t) const { return t; }
    } moves{move};
    for (Step& step : made_.steps) step = renumbered(std::move(step), moves);
  }

  const SectionRecorder& from_;
  const PlanWriter& w_;
  const NodeRun& run_;
  Section made_;
  DimProgram program_;
  DimRegisters known_;
  bool movable_ = true;
  std::unordered_map<std::uint32_t, std::uint32_t> number_, node_;  // per value and node: in the run
  std::unordered_map<std::uint32_t, std::uint32_t> outside_;        // per slot of a value: the value's number
  std::unordered_map<std::uint32_t, SlotId> storages_;              // per storage: its first new slot
};

SectionRecorder::SectionRecorder(PlanWriter& writer)
    : w_(writer),
      steps_(writer.plan.steps.size()),
      slots_(writer.plan.slots.size()),
      storages_(writer.plan.storages.size()),
      fused_(writer.plan.fused.size()),
      groups_(writer.plan.groups.size()) {
  w_.regs.record(&asked_);
}

SectionRecorder::~SectionRecorder() { w_.regs.record(nullptr); }

std::shared_ptr<const Section> SectionRecorder::section(const NodeRun& run) {
  w_.regs.record(nullptr);
  return SectionMaker(*this, run).make();
}

// ---- from a section to a plan ----

namespace {

class SectionPlacer {
 public:
  SectionPlacer(PlanWriter& writer, const Fusion& fusion, const Section& section, const NodeRun& run)
      : w_(writer), fusion_(fusion), section_(section), run_(run) {}

  void place() {
    dims_ = evaluate(w_.scope, section_.extents, run_.symbols);
    for (Reg r : section_.registers) w_.regs.reg(dims_[r]);
    for (const auto& local : section_.slots) slots_.push_back(add_slot(local));
    for (const auto& [value, slot] : section_.results) w_.set_slot(run_.values[value], this->slot(SlotId{slot}));
    same_nodes_ = stables_of(w_.graph, run_.nodes) == section_.stables;
    for (const Step& step : section_.steps) place(step);
  }

  SlotId slot(SlotId s) const {
    return s.id < section_.values ? w_.slot(run_.values[s.id]) : slots_[s.id - section_.values];
  }
  Reg reg(Reg r) const { return w_.regs.reg(dims_[r]); }
  NodeId node(NodeId n) const { return run_.nodes[n.id]; }
  std::uint32_t text(std::uint32_t t) const {
    w_.plan.texts.push_back(section_.texts[t]);
    return static_cast<std::uint32_t>(w_.plan.texts.size() - 1);
  }
  /// The kernel itself where its instructions come from the same nodes.
  std::uint32_t fused(std::uint32_t k) const {
    w_.plan.fused.push_back(same_nodes_ ? section_.fused[k] : fusion_.group(node_)->kernel);
    return static_cast<std::uint32_t>(w_.plan.fused.size() - 1);
  }

 private:
  void place(const Step& step) {
    if (step.node) node_ = node(step.node);
    w_.plan.steps.push_back(renumbered(step, *this));
  }

  SlotId add_slot(const Section::LocalSlot& local) {
    const Value v = local.value == kNone ? Value{} : run_.values[local.value];
    if (local.constant) return w_.slot(v);
    std::uint32_t storage = 0;
    if (local.storage_of != kNone) {
      storage = w_.plan.slot(slot(SlotId{local.storage_of})).storage;
    } else {
      storage = w_.new_storage(local.place);
      if (local.bytes != kNoReg) w_.plan.storages[storage].bytes = reg(local.bytes);
    }
    Layout layout{dims(local.shape), dims(local.strides), dims_[local.offset], false};
    Type type = Type::tensor(local.elem, layout.shape);
    const SlotId made = w_.new_slot(v, type, storage, std::move(layout));
    w_.plan.slot(made).object = local.place == Place::object;
    return made;
  }

  std::vector<Dim> dims(const std::vector<Reg>& regs) const {
    std::vector<Dim> all;
    for (Reg r : regs) all.push_back(dims_[r]);
    return all;
  }

  PlanWriter& w_;
  const Fusion& fusion_;
  const Section& section_;
  const NodeRun& run_;
  std::vector<Dim> dims_;  // per register of the section
  std::vector<SlotId> slots_;
  NodeId node_{};  // of the step that is being placed
  bool same_nodes_ = false;
};

}  // namespace

void place_section(PlanWriter& writer, const Fusion& fusion, const Section& section, const NodeRun& run) {
  SectionPlacer(writer, fusion, section, run).place();
}

}  // namespace frazil
