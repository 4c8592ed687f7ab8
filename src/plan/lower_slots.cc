#include <algorithm>

#include "plan/lower.h"

namespace frazil {

std::uint32_t Lowering::emit(Step step) {
  plan_.steps.push_back(std::move(step));
  return here() - 1;
}

void Lowering::eval(std::uint32_t group) {
  Step s;
  s.kind = Step::Kind::eval;
  s.index = group;
  emit(std::move(s));
}

void Lowering::eval_symbol(SymbolId symbol) {
  const std::uint32_t group = regs_->group(scope_.symbol_dim(symbol));
  if (plan_.steps.back().kind != Step::Kind::eval || plan_.steps.back().index != group) eval(group);
}

bool Lowering::is_object(const Type& type) const {
  return !type.is_tensor() || !type.ranked || type.elem == Elem::string;
}

std::uint32_t Lowering::new_storage(Place place, std::uint32_t index) {
  plan_.storages.push_back({.place = place, .index = index});
  renamable_.push_back(false);
  spaced_.push_back(false);
  return static_cast<std::uint32_t>(plan_.storages.size() - 1);
}

Layout Lowering::row_major(const Shape& shape) {
  Layout l{shape, std::vector<Dim>(shape.size(), Dim(1)), 0, true};
  Dim stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    l.strides[i] = stride;
    stride = scope_.mul(stride, shape[i]);
  }
  return l;
}

void Lowering::set_layout(std::uint32_t slot, Layout layout) {
  const Layout plain = row_major(layout.shape);
  layout.contiguous = true;
  for (std::size_t i = 0; i < layout.shape.size(); ++i) {
    if (layout.shape[i] != Dim(1) && layout.strides[i] != plain.strides[i]) layout.contiguous = false;
  }
  Slot& s = plan_.slots[slot];
  s.dims.clear();
  s.strides.clear();
  for (Dim d : layout.shape) s.dims.push_back(regs_->reg(d));
  if (!layout.contiguous) {
    for (Dim d : layout.strides) s.strides.push_back(regs_->reg(d));
  }
  s.offset = layout.offset == Dim(0) ? kNoReg : regs_->reg(layout.offset);
  layouts_[slot] = std::move(layout);
}

std::uint32_t Lowering::new_slot(Value v, const Type& type, std::uint32_t storage, Layout layout) {
  const auto id = static_cast<std::uint32_t>(plan_.slots.size());
  plan_.slots.push_back({.elem = type.elem,
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

std::uint32_t Lowering::own_slot(Value v, const Type& type) {
  if (is_object(type)) return new_slot(v, type, new_storage(Place::object), row_major(type.shape));
  Dim bytes = scope_.mul(scope_.product(type.shape), static_cast<std::int64_t>(byte_size(type.elem)));
  // Zero bytes may have extents that only the run tells.
  const auto at_start = [&](Dim d) { return regs_->group(d) == 0; };
  const bool known = at_start(bytes) && std::ranges::all_of(type.shape, at_start);
  const std::uint32_t storage = new_storage(known ? Place::arena : Place::growing);
  plan_.storages[storage].bytes = regs_->reg(bytes);
  return new_slot(v, type, storage, row_major(type.shape));
}

std::uint32_t Lowering::temp_like(std::uint32_t slot) {
  return own_slot(plan_.slots[slot].value, Type::tensor(plan_.slots[slot].elem, layouts_[slot].shape));
}

std::uint32_t Lowering::slot(Value v) {
  std::uint32_t& s = slot_of_[v.id];
  if (s != kNone) return s;
  // Only constants come without a definition.
  const std::uint32_t storage = new_storage(Place::constant, v.id);
  if (is_object(graph_.type(v))) plan_.storages[storage].place = Place::object;
  plan_.storages[storage].index = v.id;
  const std::uint32_t made = new_slot(v, graph_.type(v), storage, row_major(graph_.type(v).shape));
  slot_of_[v.id] = made;
  return made;
}

void Lowering::copy(std::uint32_t from, std::uint32_t to, NodeId node) {
  Step s;
  s.kind = Step::Kind::kernel;
  s.kernel = Kernel::copy;
  s.node = node;
  s.in = {from};
  s.out = {to};
  emit(std::move(s));
}

void Lowering::move(std::uint32_t from, std::uint32_t to, NodeId node) {
  Step s;
  s.kind = Step::Kind::move;
  s.node = node;
  s.in = {from};
  s.out = {to};
  emit(std::move(s));
}

std::uint32_t Lowering::contiguous(std::uint32_t slot, NodeId for_node) {
  if (plan_.slots[slot].object || layouts_[slot].contiguous) return slot;
  const std::uint32_t packed = temp_like(slot), storage = plan_.slots[slot].storage;
  copy(slot, packed, for_node);
  if (spaced_[storage] && plan_.storages[storage].place != Place::growing) plan_.steps.back().kernel = Kernel::pack;
  return packed;
}

std::uint32_t Lowering::view_slot(std::uint32_t base, Value v, Layout layout) {
  Type type = Type::tensor(plan_.slots[base].elem, layout.shape);
  return new_slot(v, type, plan_.slots[base].storage, std::move(layout));
}

bool Lowering::is_whole(std::uint32_t slot) const {
  return layouts_[slot].contiguous && layouts_[slot].offset == Dim(0);
}

}  // namespace frazil
