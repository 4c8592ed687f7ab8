#include "plan/lower/plan_writer.h"

#include <algorithm>
#include <optional>

namespace frazil {

bool is_object(const Type& type) { return !type.is_tensor() || !type.ranked || type.elem == Elem::string; }

PlanWriter::PlanWriter(const Graph& g, Scope& s, const Needs& n, Plan& p)
    : graph(g),
      scope(s),
      needs(n),
      plan(p),
      regs(s, p.groups, static_cast<std::uint32_t>(s.symbol_count())),
      slot_of_(g.value_count()) {}

void PlanWriter::eval_symbol(SymbolId symbol) {
  const std::uint32_t group = regs.group(scope.symbol_dim(symbol));
  const auto* last = plan.steps.empty() ? nullptr : plan.steps.back().as<step::Evaluate>();
  if (last == nullptr || last->group != group) eval(group);
}

void PlanWriter::copy(SlotId from, SlotId to, NodeId node) {
  emit(step::Launch{.params = params::Copy{}, .in = {from}, .out = {to}}, node);
}

void PlanWriter::check(const Constraint& c, NodeId node) {
  const step::Check check{regs.reg(c.a), regs.reg(c.b), static_cast<std::uint32_t>(plan.texts.size())};
  plan.texts.push_back(c.what);
  emit(check, node);
}

void PlanWriter::guard(NodeId node) {
  for (const Assumption& a : assumptions_at(graph, node)) {
    emit(step::Guard{.predicate = regs.reg(a.predicate), .expected = a.value, .key = a.key}, node);
  }
}

void PlanWriter::after_definition(Value v) {
  const auto& bound = needs.bound_by(v);
  if (bound.empty()) return;
  const std::uint32_t group = regs.new_group();
  step::Bind bind{.from = contiguous(slot(v), {}), .count = kNoReg, .elements = {}};
  const Type& type = graph.type(v);
  const Dim count = type.ranked ? product(scope, type.shape) : Dim(1);
  if (!count.is_const()) bind.count = regs.reg(count);
  for (auto [symbol, element] : bound) {
    bind.elements.push_back({symbol, element});
    regs.bind(symbol, group);
  }
  emit(std::move(bind));
  eval(group);
}

std::vector<step::Assign::Copy> PlanWriter::own_extents(Value v, const std::vector<Reg>& dims) const {
  const Shape& shape = graph.type(v).shape;
  std::vector<step::Assign::Copy> copies;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto symbol = scope.as_symbol(shape[i]);
    if (!symbol || !is_unbacked(scope, *symbol)) continue;
    const auto origin = graph.extent_origin(*symbol);
    if (origin && origin->value == v) copies.push_back({*symbol, dims[i]});
  }
  return copies;
}

void PlanWriter::assign_extents(Value v, const std::vector<Reg>& dims) {
  step::Assign assign{own_extents(v, dims)};
  if (assign.copies.empty()) return;
  std::optional<std::uint32_t> group;
  for (const auto& [symbol, reg] : assign.copies) {
    if (!regs.is_bound(symbol)) {
      if (!group) group = regs.new_group();
      regs.bind(symbol, *group);
    }
    group = regs.group(scope.symbol_dim(symbol));
  }
  emit(std::move(assign));
  eval(*group);
}

std::uint32_t PlanWriter::new_storage(Place place, std::uint32_t index) {
  plan.storages.push_back({.place = place, .index = index});
  has_capacity.push_back(false);
  return static_cast<std::uint32_t>(plan.storages.size() - 1);
}

void PlanWriter::set_layout(SlotId slot, Layout layout) {
  layout.contiguous = is_row_major(scope, layout);
  Slot& s = plan.slot(slot);
  s.dims.clear();
  s.strides.clear();
  for (Dim d : layout.shape) s.dims.push_back(regs.reg(d));
  if (!layout.contiguous) {
    for (Dim d : layout.strides) s.strides.push_back(regs.reg(d));
  }
  s.offset = layout.offset == Dim(0) ? kNoReg : regs.reg(layout.offset);
  layouts_[slot.id] = std::move(layout);
}

SlotId PlanWriter::new_slot(Value v, const Type& type, std::uint32_t storage, Layout layout) {
  const SlotId id{static_cast<std::uint32_t>(plan.slots.size())};
  plan.slots.push_back({.elem = type.elem,
                        .dims = {},
                        .strides = {},
                        .offset = kNoReg,
                        .storage = storage,
                        .value = v,
                        .object = is_object(type)});
  layouts_.emplace_back();
  set_layout(id, std::move(layout));
  return id;
}

Reg PlanWriter::bytes_of(Elem elem, const Shape& shape) {
  return regs.reg(scope.mul(product(scope, shape), static_cast<std::int64_t>(byte_size(elem))));
}

SlotId PlanWriter::own_slot(Value v, const Type& type) {
  if (is_object(type)) return new_slot(v, type, new_storage(Place::object), row_major(scope, type.shape));
  const Dim bytes = scope.mul(product(scope, type.shape), static_cast<std::int64_t>(byte_size(type.elem)));
  // A value of zero bytes may have extents that are known only at run time.
  const bool known = at_start(bytes) && std::ranges::all_of(type.shape, [&](Dim d) { return at_start(d); });
  const std::uint32_t made = new_storage(known ? Place::arena : Place::growing);
  plan.storages[made].bytes = regs.reg(bytes);
  return new_slot(v, type, made, row_major(scope, type.shape));
}

SlotId PlanWriter::temp_like(SlotId slot) {
  return own_slot(plan.slot(slot).value, Type::tensor(plan.slot(slot).elem, layout(slot).shape));
}

SlotId PlanWriter::view_slot(SlotId base, Value v, Layout layout) {
  const Type type = Type::tensor(plan.slot(base).elem, layout.shape);
  return new_slot(v, type, plan.slot(base).storage, std::move(layout));
}

SlotId PlanWriter::slot(Value v) {
  if (has_slot(v)) return slot_of_[v.id];
  // Only constants have no definition before their first use.
  const Type& type = graph.type(v);
  const std::uint32_t made = new_storage(is_object(type) ? Place::object : Place::constant, v.id);
  return slot_of_[v.id] = new_slot(v, type, made, row_major(scope, type.shape));
}

SlotId PlanWriter::contiguous(SlotId slot, NodeId for_node) {
  if (plan.slot(slot).object || layout(slot).contiguous) return slot;
  const SlotId packed = temp_like(slot);
  const std::uint32_t from = plan.slot(slot).storage;
  const bool may_be_dense = has_capacity[from] && plan.storages[from].place != Place::growing;
  KernelParams how = params::Copy{};
  if (may_be_dense) how = params::Pack{};
  emit(step::Launch{.params = std::move(how), .in = {slot}, .out = {packed}}, for_node);
  return packed;
}

}  // namespace frazil
