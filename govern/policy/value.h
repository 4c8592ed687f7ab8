#pragma once

#include <cstdint>
#include <string_view>

namespace frazil::govern {

/// The kind of a value or of a type of the policy language.
enum class ValueKind : std::uint8_t { absent, error, boolean, integer, real, text, list, map, record };

/// A reason why an expression has no value.
enum class EvalError : std::uint8_t {
  absent_field,
  no_key,
  no_index,
  overflow,
  division,
  conversion,
  stopped,     ///< the limit of steps was reached; && and || do not absorb this error
  wrong_kind,  ///< a field holds a value of another type than declared
};

/// A value of an expression: 16 bytes, without ownership. A text, a list, a map and a record refer to memory that must
/// outlive them. A map has `size` pairs of a key and a value in `items`, a record has one item for each field.
struct Value {
  ValueKind kind = ValueKind::absent;
  EvalError error = EvalError::absent_field;  ///< if kind is error
  std::uint32_t size = 0;                     ///< bytes of a text, items of a list, pairs of a map, fields of a record
  union {
    bool boolean;
    std::int64_t integer = 0;
    double real;
    const char* text;
    const Value* items;
    std::uint64_t node;  ///< the node at fault, if kind is error
  };

  static Value of(bool value);
  static Value of(std::int64_t value);
  static Value of(double value);
  static Value of(std::string_view value);
  static Value compound(ValueKind kind, const Value* items, std::uint32_t size);
  static Value failed(EvalError error, std::uint32_t node);

  bool is_true() const { return kind == ValueKind::boolean && boolean; }
  bool is_false() const { return kind == ValueKind::boolean && !boolean; }
  bool is_error() const { return kind == ValueKind::error; }
  std::string_view view() const { return {text, size}; }
};

inline Value Value::of(bool value) {
  Value v;
  v.kind = ValueKind::boolean;
  v.boolean = value;
  return v;
}
inline Value Value::of(std::int64_t value) {
  Value v;
  v.kind = ValueKind::integer;
  v.integer = value;
  return v;
}
inline Value Value::of(double value) {
  Value v;
  v.kind = ValueKind::real;
  v.real = value;
  return v;
}
inline Value Value::of(std::string_view value) {
  Value v;
  v.kind = ValueKind::text;
  v.size = static_cast<std::uint32_t>(value.size());
  v.text = value.data();
  return v;
}
inline Value Value::compound(ValueKind kind, const Value* items, std::uint32_t size) {
  Value v;
  v.kind = kind;
  v.size = size;
  v.items = items;
  return v;
}
inline Value Value::failed(EvalError error, std::uint32_t node) {
  Value v;
  v.kind = ValueKind::error;
  v.error = error;
  v.node = node;
  return v;
}

}  // namespace frazil::govern
