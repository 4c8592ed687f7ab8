#include "ir/graph/attr.h"

#include <bit>

namespace frazil {

std::string_view name_of(AttrKind kind) {
  constexpr std::string_view names[] = {"int", "float", "string", "ints", "floats", "strings", "tensor"};
  return names[static_cast<std::size_t>(kind)];
}

const AttrField* AttrTable::find(std::string_view name) const {
  for (const AttrField& f : fields) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

namespace detail {

std::optional<AttrValue> integer_value(std::int64_t value) { return value; }

std::shared_ptr<void> shared(void* attrs, void (*destroy)(void*)) { return {attrs, destroy}; }

template <class T, AttrKind K>
bool AttrTraitsBase<T, K>::set(T& m, const AttrValue& v) {
  const T* p = std::get_if<T>(&v);
  return p && (m = *p, true);
}
template <class T, AttrKind K>
std::optional<AttrValue> AttrTraitsBase<T, K>::get(const T& m) {
  return m;
}
template struct AttrTraitsBase<float, AttrKind::real>;
template struct AttrTraitsBase<std::string, AttrKind::string>;
template struct AttrTraitsBase<Ints, AttrKind::integers>;
template struct AttrTraitsBase<Floats, AttrKind::reals>;
template struct AttrTraitsBase<Strings, AttrKind::strings>;
template struct AttrTraitsBase<Tensor, AttrKind::tensor>;

}  // namespace detail

namespace {

bool same_bits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

struct SameVisitor {
  const AttrValue& other;
  template <class T>
  bool operator()(const T& a) const {
    const T& b = std::get<T>(other);
    if constexpr (std::is_same_v<T, float>)
      return same_bits(a, b);
    else if constexpr (std::is_same_v<T, Floats>)
      return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_bits);
    else if constexpr (std::is_same_v<T, Tensor>)
      return a.defined() == b.defined() && (!a.defined() || identical(a, b));
    else
      return a == b;
  }
};

}  // namespace

bool same(const AttrValue& a, const AttrValue& b) { return a.index() == b.index() && std::visit(SameVisitor{b}, a); }

bool same(const AttrTable& table, const void* a, const void* b) {
  for (const AttrField& f : table.fields) {
    const auto x = f.get(a), y = f.get(b);
    if (x.has_value() != y.has_value() || (x && !same(*x, *y))) return false;
  }
  return true;
}

}  // namespace frazil
