#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/value/error.h"
#include "tensor/tensor.h"

namespace frazil {

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;

/// The value of an attribute, as importers, printers and bindings see it.
using AttrValue = std::variant<std::int64_t, float, std::string, Ints, Floats, Strings, Tensor>;
enum class AttrKind : std::uint8_t {
  integer,
  real,
  string,
  integers,
  reals,
  strings,
  tensor
};  // in the order of AttrValue
std::string_view name_of(AttrKind kind);

/// One attribute of an operator: a member of its attribute struct. The member's initialiser is the default. A
/// std::optional member is an optional attribute without a default.
struct AttrField {
  std::string_view name;
  AttrKind kind;
  bool required = false;  ///< no default: the node must set it
  std::string_view doc;
  Status (*write)(std::string_view name, void* attrs, const AttrValue& value);  ///< see set()
  std::optional<AttrValue> (*get)(const void* attrs);
  int since = 0;              ///< the opset that introduced it, if it is newer than the operator
  bool element_type = false;  ///< the value is the number of an element type in ONNX; the text form has its name

  /// Returns Code::bad_model, which names the attribute, if the value has another kind or a text that does not parse.
  Status set(void* attrs, const AttrValue& value) const { return write(name, attrs, value); }
};

/// The attributes of one operator: a plain struct and a table of its fields. Shared, and immutable once a node has
/// them.
struct AttrTable {
  std::span<const AttrField> fields;
  std::shared_ptr<void> (*make)() = nullptr;
  std::shared_ptr<void> (*copy)(const void* attrs) = nullptr;
  const AttrField* find(std::string_view name) const;
};

using Attrs = std::shared_ptr<const void>;

/// Returns true if two attribute values have the same bits. Tensors compare by elements.
bool same(const AttrValue& a, const AttrValue& b);
/// Returns true if all fields of a table are the same.
bool same(const AttrTable& table, const void* a, const void* b);

namespace detail {

// Non-template helpers, defined in attr.cc. Every file that calls an operator instantiates the templates below for each
// attribute in the operator's header.
std::optional<AttrValue> integer_value(std::int64_t value);
std::unexpected<Fault> wrong_kind(std::string_view name, AttrKind kind, const AttrValue& value);
/// Adds the attribute's name to the fault of a text.
std::unexpected<Fault> wrong_text(std::string_view name, Fault fault);
std::unexpected<Fault> wrong_text(std::string_view name, std::size_t index, Fault fault);
/// Takes ownership of `attrs`, even if it throws.
std::shared_ptr<void> shared(void* attrs, void (*destroy)(void*));

template <class T>
struct AttrTraits;
template <class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>)
struct AttrTraits<T> {
  static constexpr AttrKind kind = AttrKind::integer;
  static Status set(std::string_view name, T& m, const AttrValue& v) {
    const auto* p = std::get_if<std::int64_t>(&v);
    if (p == nullptr) return wrong_kind(name, kind, v);
    m = static_cast<T>(*p);
    return {};
  }
  static std::optional<AttrValue> get(const T& m) { return integer_value(static_cast<std::int64_t>(m)); }
};
template <>
struct AttrTraits<Elem> {  // defined in attr.cc
  static constexpr AttrKind kind = AttrKind::integer;
  static Status set(std::string_view name, Elem& m, const AttrValue& v);
  static std::optional<AttrValue> get(Elem m);
  /// ONNX writes 0 where an optional element type is not given.
  static bool is_absent(const AttrValue& v);
};
template <class T, AttrKind K>
struct AttrTraitsBase {  // defined in attr.cc, for the types below
  static constexpr AttrKind kind = K;
  static Status set(std::string_view name, T& m, const AttrValue& v);
  static std::optional<AttrValue> get(const T& m);
};
template <>
struct AttrTraits<float> : AttrTraitsBase<float, AttrKind::real> {};
template <>
struct AttrTraits<std::string> : AttrTraitsBase<std::string, AttrKind::string> {};
template <>
struct AttrTraits<Ints> : AttrTraitsBase<Ints, AttrKind::integers> {};
template <>
struct AttrTraits<Floats> : AttrTraitsBase<Floats, AttrKind::reals> {};
template <>
struct AttrTraits<Strings> : AttrTraitsBase<Strings, AttrKind::strings> {};
template <>
struct AttrTraits<Tensor> : AttrTraitsBase<Tensor, AttrKind::tensor> {};

/// A type whose attributes are text, a string or a list of strings: text() returns it, and parse() reads it.
template <class T>
concept Textual = requires(const T& value) {
  { T::parse(value.text()) } -> std::same_as<Result<T>>;
};
template <class T>
using TextOf = std::remove_cvref_t<decltype(std::declval<const T&>().text())>;

template <Textual T>
struct AttrTraits<T> {
  static constexpr AttrKind kind = AttrTraits<TextOf<T>>::kind;
  static Status set(std::string_view name, T& m, const AttrValue& v) {
    const auto* text = std::get_if<TextOf<T>>(&v);
    if (text == nullptr) return wrong_kind(name, kind, v);
    auto parsed = T::parse(*text);
    if (!parsed) return wrong_text(name, std::move(parsed).error());
    m = std::move(*parsed);
    return {};
  }
  static std::optional<AttrValue> get(const T& m) { return AttrValue(TextOf<T>(m.text())); }
};
template <Textual T>
struct AttrTraits<std::vector<T>> {
  static constexpr AttrKind kind = AttrKind::strings;
  static Status set(std::string_view name, std::vector<T>& m, const AttrValue& v) {
    const auto* texts = std::get_if<Strings>(&v);
    if (texts == nullptr) return wrong_kind(name, kind, v);
    m.clear();
    for (const std::string& text : *texts) {
      auto parsed = T::parse(text);
      if (!parsed) return wrong_text(name, m.size(), std::move(parsed).error());
      m.push_back(std::move(*parsed));
    }
    return {};
  }
  static std::optional<AttrValue> get(const std::vector<T>& m) {
    Strings texts;
    for (const T& one : m) texts.push_back(one.text());
    return AttrValue(std::move(texts));
  }
};

template <class T>
struct OptionalOf {
  using type = T;
  static constexpr bool is = false;
};
template <class T>
struct OptionalOf<std::optional<T>> {
  using type = T;
  static constexpr bool is = true;
};

template <class M>
struct MemberOf;
template <class C, class T>
struct MemberOf<T C::*> {
  using Class = C;
  using Type = T;
};

template <auto M>
Status set_member(std::string_view name, void* p, const AttrValue& v) {
  using F = MemberOf<decltype(M)>;
  using O = OptionalOf<typename F::Type>;
  typename F::Type& m = static_cast<typename F::Class*>(p)->*M;
  using Traits = AttrTraits<typename O::type>;
  if constexpr (O::is) {
    m.reset();
    if constexpr (requires { Traits::is_absent(v); }) {
      if (Traits::is_absent(v)) return {};
    }
    return Traits::set(name, m.emplace(), v);
  } else {
    return Traits::set(name, m, v);
  }
}
template <auto M>
std::optional<AttrValue> get_member(const void* p) {
  using F = MemberOf<decltype(M)>;
  using O = OptionalOf<typename F::Type>;
  const typename F::Type& m = static_cast<const typename F::Class*>(p)->*M;
  if constexpr (O::is) {
    if (!m) return std::nullopt;
    return AttrTraits<typename O::type>::get(*m);
  } else {
    return AttrTraits<typename F::Type>::get(m);
  }
}

}  // namespace detail

/// Makes a row of an attribute table: attr<&SoftmaxAttrs::axis>("axis", "the axis that sums to 1").
template <auto M>
constexpr AttrField attr(std::string_view name, std::string_view doc = {}, int since = 0) {
  using T = typename detail::OptionalOf<typename detail::MemberOf<decltype(M)>::Type>::type;
  return {name,  detail::AttrTraits<T>::kind, false, doc, &detail::set_member<M>, &detail::get_member<M>,
          since, std::is_same_v<T, Elem>};
}
template <auto M>
constexpr AttrField required(std::string_view name, std::string_view doc = {}) {
  AttrField f = attr<M>(name, doc);
  f.required = true;
  return f;
}

/// The attributes of an operator without attributes.
struct NoAttrs {
  static constexpr std::span<const AttrField> fields{};
};

template <class A>
std::shared_ptr<void> shared_attrs(A attrs) {
  return detail::shared(new A(std::move(attrs)), [](void* p) { delete static_cast<A*>(p); });
}

template <class A>
constexpr AttrTable attr_table() {
  return {A::fields, [] { return shared_attrs(A{}); },
          [](const void* p) { return shared_attrs(*static_cast<const A*>(p)); }};
}

}  // namespace frazil
