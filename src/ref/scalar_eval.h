#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/value/error.h"
#include "ir/op/scalar.h"

// Scalar programs on batches of points. A register holds one value per point in a compute type: bool, integers, float,
// double, complex. For strings it holds pointers.
namespace frazil::ref {

inline constexpr std::size_t kBatch = 256;
using Text = const std::string*;

/// Calls f.operator()<T>() with the register type of a compute type. Returns false for small floats and sub-byte
/// integers.
template <class F>
bool with_register_type(Elem elem, F&& f) {
  switch (elem) {
    case Elem::boolean: return f.template operator()<bool>();
    case Elem::i8: return f.template operator()<std::int8_t>();
    case Elem::i16: return f.template operator()<std::int16_t>();
    case Elem::i32: return f.template operator()<std::int32_t>();
    case Elem::i64: return f.template operator()<std::int64_t>();
    case Elem::u8: return f.template operator()<std::uint8_t>();
    case Elem::u16: return f.template operator()<std::uint16_t>();
    case Elem::u32: return f.template operator()<std::uint32_t>();
    case Elem::u64: return f.template operator()<std::uint64_t>();
    case Elem::f32: return f.template operator()<float>();
    case Elem::f64: return f.template operator()<double>();
    case Elem::c64: return f.template operator()<std::complex<float>>();
    case Elem::c128: return f.template operator()<std::complex<double>>();
    case Elem::string: return f.template operator()<Text>();
    default: return false;
  }
}

/// Reads `n` elements of a contiguous tensor, starting at `offset` with stride `step`, into a register starting at
/// `at`.
void load_elements(Elem elem, const std::byte* data, std::int64_t offset, std::int64_t step, std::size_t n,
                   std::byte* reg, std::size_t at);
/// Writes `n` register values of compute_elem(elem) to elements [offset, offset + n). Small floats are rounded to
/// nearest even and not saturated (the body of Cast clamps if needed). Sub-byte integers wrap.
void store_elements(Elem elem, std::byte* data, std::int64_t offset, const std::byte* reg, std::size_t n);
/// Casts between compute types. Returns false if the cast is not defined.
bool cast_elements(Elem from, Elem to, const std::byte* in, std::byte* out, std::size_t n);

/// Return the larger (smaller) of a and b; NaN if either is NaN.
template <class T>
T larger(T a, T b) {
  return a != a || a > b ? a : b;
}
template <class T>
T smaller(T a, T b) {
  return a != a || a < b ? a : b;
}

/// A scalar program and its registers.
class TapeRun {
 public:
  /// Returns Code::unsupported if an instruction is not defined for its type.
  static Result<TapeRun> make(ScalarTape tape);

  /// Returns the register of operand k; null if the program does not read it.
  std::byte* operand(std::size_t k);
  /// Computes the first n <= kBatch points.
  void run(std::size_t n);
  Elem type() const { return tape_.code.back().type; }
  const std::byte* result() const { return registers_.back().data(); }

 private:
  struct alignas(64) Register : std::array<std::byte, kBatch * 16> {};
  bool step(std::size_t i, std::size_t n);
  void fill_constant(std::size_t i);
  ScalarTape tape_;
  std::vector<Register> registers_;
};

}  // namespace frazil::ref
