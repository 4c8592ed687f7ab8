#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace frazil {

/// Element types: all of ONNX's. Sub-byte types take one byte per element in memory.
enum class Elem : std::uint8_t {
  boolean,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f16,
  bf16,
  f32,
  f64,
  c64,
  c128,
  string,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f8e8m0,
  f4e2m1,
  i4,
  u4,
  i2,
  u2,
};
inline constexpr int kElemCount = 26;

/// Returns the name in the text form: "bool", "f32", "i64", "f8e4m3fn", ...
std::string_view name_of(Elem e);
std::optional<Elem> elem_from_name(std::string_view name);

/// Returns the bytes per element in memory; sizeof(std::string) for string.
std::size_t byte_size(Elem e);
/// Returns 2 or 4 for the sub-byte types, otherwise 8 * byte_size().
int bit_width(Elem e);

constexpr bool is_signed_int(Elem e) { return (e >= Elem::i8 && e <= Elem::i64) || e == Elem::i4 || e == Elem::i2; }
constexpr bool is_unsigned_int(Elem e) { return (e >= Elem::u8 && e <= Elem::u64) || e == Elem::u4 || e == Elem::u2; }
constexpr bool is_int(Elem e) { return is_signed_int(e) || is_unsigned_int(e); }
constexpr bool is_small_float(Elem e) {
  return e == Elem::f16 || e == Elem::bf16 || (e >= Elem::f8e4m3fn && e <= Elem::f4e2m1);
}
constexpr bool is_float(Elem e) { return e == Elem::f32 || e == Elem::f64 || is_small_float(e); }
constexpr bool is_complex(Elem e) { return e == Elem::c64 || e == Elem::c128; }

/// Returns the type of arithmetic on e: f32 for the small floats, i8 or u8 for sub-byte integers, otherwise e.
constexpr Elem compute_elem(Elem e) {
  if (is_small_float(e)) return Elem::f32;
  if (e == Elem::i4 || e == Elem::i2) return Elem::i8;
  if (e == Elem::u4 || e == Elem::u2) return Elem::u8;
  return e;
}

/// A set of element types as bits.
using ElemSet = std::uint32_t;
constexpr ElemSet one(Elem e) { return ElemSet{1} << static_cast<int>(e); }
constexpr bool contains(ElemSet s, Elem e) { return (s & one(e)) != 0; }

}  // namespace frazil
