#pragma once

#include <cmath>

#include "base/value/float.h"
#include "ir/op/opaque.h"

// Reads and writes any number as a double in reference kernels.
namespace frazil::ops {

template <class T>
T& element(std::byte* p, std::int64_t i) {
  return reinterpret_cast<T*>(p)[i];
}
template <class T>
const T& element(const std::byte* p, std::int64_t i) {
  return reinterpret_cast<const T*>(p)[i];
}

/// Calls f with a null pointer of the storage type of a number or bool. Returns false for 8-bit floats and for other
/// element types.
template <class F>
bool visit_storage(Elem elem, F f) {
  switch (elem) {
    case Elem::boolean: return f(static_cast<bool*>(nullptr)), true;
    case Elem::i8:
    case Elem::i4:
    case Elem::i2: return f(static_cast<std::int8_t*>(nullptr)), true;
    case Elem::i16: return f(static_cast<std::int16_t*>(nullptr)), true;
    case Elem::i32: return f(static_cast<std::int32_t*>(nullptr)), true;
    case Elem::i64: return f(static_cast<std::int64_t*>(nullptr)), true;
    case Elem::u8:
    case Elem::u4:
    case Elem::u2: return f(static_cast<std::uint8_t*>(nullptr)), true;
    case Elem::u16: return f(static_cast<std::uint16_t*>(nullptr)), true;
    case Elem::u32: return f(static_cast<std::uint32_t*>(nullptr)), true;
    case Elem::u64: return f(static_cast<std::uint64_t*>(nullptr)), true;
    case Elem::f16: return f(static_cast<Half*>(nullptr)), true;
    case Elem::bf16: return f(static_cast<BFloat16*>(nullptr)), true;
    case Elem::f32: return f(static_cast<float*>(nullptr)), true;
    case Elem::f64: return f(static_cast<double*>(nullptr)), true;
    default: return false;
  }
}

template <class T>
double to_number(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return static_cast<float>(value);
  else
    return static_cast<double>(value);
}
/// Converts a number. For integer targets, the number is truncated and saturated.
template <class T>
T from_number(double value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T(narrow_to_odd(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (std::isnan(value)) return 0;
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

/// Returns element i of numbers or bools.
inline double number_at(const TensorView& x, std::int64_t i) {
  double number = 0;
  visit_storage(x.elem,
                [&](auto* type) { number = to_number(element<std::remove_pointer_t<decltype(type)>>(x.data, i)); });
  return number;
}

/// Returns all elements as doubles, or none for non-numeric types.
inline std::vector<double> to_numbers(const TensorView& x) {
  std::vector<double> numbers;
  visit_storage(x.elem, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    numbers.reserve(static_cast<std::size_t>(x.count()));
    for (std::int64_t i = 0; i < x.count(); ++i) numbers.push_back(to_number(element<T>(x.data, i)));
  });
  return numbers;
}

inline void from_numbers(Elem elem, std::byte* out, std::span<const double> numbers) {
  visit_storage(elem, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      element<T>(out, static_cast<std::int64_t>(i)) = from_number<T>(numbers[i]);
  });
}

}  // namespace frazil::ops
