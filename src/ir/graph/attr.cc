#include "ir/graph/attr.h"

#include <bit>

#include "tensor/onnx_proto.h"

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

std::unexpected<Fault> wrong_kind(std::string_view name, AttrKind kind, const AttrValue& value) {
  return fail(Code::bad_model, "attribute '{}': expected {}, got {}", name, name_of(kind),
              name_of(static_cast<AttrKind>(value.index())));
}

std::unexpected<Fault> wrong_text(std::string_view name, Fault fault) {
  return within(fmt::format("attribute '{}': ", name), std::move(fault));
}

std::unexpected<Fault> wrong_text(std::string_view name, std::size_t index, Fault fault) {
  return within(fmt::format("attribute '{}[{}]': ", name, index), std::move(fault));
}

Status AttrTraits<Elem>::set(std::string_view name, Elem& m, const AttrValue& v) {
  const auto* number = std::get_if<std::int64_t>(&v);
  if (number == nullptr) return wrong_kind(name, kind, v);
  const auto elem = elem_from_onnx(*number);
  if (!elem) return fail(Code::bad_model, "attribute '{}': {} is not an element type", name, *number);
  m = *elem;
  return {};
}
std::optional<AttrValue> AttrTraits<Elem>::get(Elem m) { return integer_value(onnx_data_type(m)); }
bool AttrTraits<Elem>::is_absent(const AttrValue& v) {
  const auto* number = std::get_if<std::int64_t>(&v);
  return number != nullptr && *number == 0;
}

template <class T, AttrKind K>
Status AttrTraitsBase<T, K>::set(std::string_view name, T& m, const AttrValue& v) {
  const T* p = std::get_if<T>(&v);
  if (p == nullptr) return wrong_kind(name, K, v);
  m = *p;
  return {};
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
