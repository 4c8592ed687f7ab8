#include "ir/graph/type.h"

#include <algorithm>

#include <fmt/format.h>

namespace frazil {

Type Type::sequence(Type item) {
  return {Kind::sequence, Elem::f32, true, {}, std::make_shared<const Type>(std::move(item))};
}
Type Type::optional(Type item) {
  return {Kind::optional, Elem::f32, true, {}, std::make_shared<const Type>(std::move(item))};
}
Type Type::map(Elem key, Type value) {
  return {Kind::map, key, true, {}, std::make_shared<const Type>(std::move(value))};
}

bool Type::has_one_element() const {
  return is_tensor() && ranked && std::ranges::all_of(shape, [](Dim d) { return d == Dim(1); });
}

bool Type::operator==(const Type& other) const {
  const Type *a = this, *b = &other;
  for (;;) {
    if (a->kind != b->kind || a->elem != b->elem || a->ranked != b->ranked || a->shape != b->shape) return false;
    if (!a->item || !b->item) return !a->item && !b->item;
    a = a->item.get();
    b = b->item.get();
  }
}

std::string str(const Type& type, const Scope& scope) {
  switch (type.kind) {
    case Type::Kind::sequence: return fmt::format("seq<{}>", str(*type.item, scope));
    case Type::Kind::optional: return fmt::format("opt<{}>", str(*type.item, scope));
    case Type::Kind::map: return fmt::format("map<{}, {}>", name_of(type.elem), str(*type.item, scope));
    case Type::Kind::tensor: break;
  }
  if (!type.ranked) return fmt::format("{}[...]", name_of(type.elem));
  std::string dims;
  for (Dim d : type.shape) dims += (dims.empty() ? "" : ",") + scope.str(d);
  return fmt::format("{}[{}]", name_of(type.elem), dims);
}

}  // namespace frazil
