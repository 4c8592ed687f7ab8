#include "ir/graph/type.h"

#include <algorithm>
#include <limits>

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

std::string short_str(const Type& type, const Scope& scope, std::size_t most) {
  const auto item = [&] { return short_str(*type.item, scope, most); };
  switch (type.kind) {
    case Type::Kind::sequence: return fmt::format("seq<{}>", item());
    case Type::Kind::optional: return fmt::format("opt<{}>", item());
    case Type::Kind::map: return fmt::format("map<{}, {}>", name_of(type.elem), item());
    case Type::Kind::tensor: break;
  }
  if (!type.ranked) return fmt::format("{}[...]", name_of(type.elem));
  std::string dims;
  for (const Dim d : type.shape) {
    const std::string dim = scope.str(d);
    dims += (dims.empty() ? "" : ",") + (dim.size() > most ? "?" : dim);
  }
  return fmt::format("{}[{}]", name_of(type.elem), dims);
}

std::string str(const Type& type, const Scope& scope) {
  return short_str(type, scope, std::numeric_limits<std::size_t>::max());
}

}  // namespace frazil
