#pragma once

#include <cstddef>

#include "base/value/elem.h"
#include "base/value/scalar_op.h"

/// The scalar primitives on tiles: contiguous runs of elements, ideally at most 1024 of them, so that a chain of calls
/// stays in L1. Any n (0 too) and any alignment of the element type is valid; nothing outside of [0, n) is accessed.
///
/// Element i of a result depends on element i of the operands only, not on n, its position, alignment, or whether a
/// scalar operand is repeated in memory instead; it is the same on every Isa (all up to the payload and sign of NaNs).
/// `out` may be the same address as an operand if their elements have the same size; other overlaps are not allowed.
///
/// Accuracy of f32: exp, log, log1p, sin, cos, pow within 1 ulp, expm1 and erf 1.5, tanh and logistic 2.6 (measured,
/// see math.h); sqrt is correctly rounded. Other functions of f32 (tan, asin, sinh, ...; 2 ulp) and those of f64
/// use the C library.
namespace frazil::kernel {

using TileFn = void (*)(void* out, const void* const* in, std::size_t n);

/// The function for `op` with operands of type `elem` (for select: the type of the second and third, the first is
/// bool). Bit k of `scalar_mask` means that operand k is ONE element used for all n. Masks: 0 for one operand; 0, 1,
/// 2 for two (all scalar: mask 0 with n = 1); 0 to 7 for select. Types: bool, i8 to i64, u8 to u64, f32, f64; the
/// caller
/// converts values of other types. nullptr where op is not defined for the type (or is cast, constant, load):
///   bool: lnot, land, lor, lxor, min, max, eq, select;
///   integers: neg, abs, sign, lnot, add, sub, mul, div, mod, fmod, pow, min, max, land, lor, lxor, shl, shr, lt, le,
///     eq, select;
///   floats: all but lnot, land, lor, lxor, shl, shr.
/// In addition to base/value/scalar_op.h: a negative shift count is treated as one that is too large; shr of a signed
/// type is arithmetic; a zero result of mod on floats has the divisor's sign.
TileFn tile_fn(ScalarOp op, Elem elem, unsigned scalar_mask);

/// in[0] holds n elements of `from`, out receives n of `to`; the same types as for tile_fn, and f16 and bf16 from and
/// to f32, else nullptr. Total: float to integer truncates toward zero, saturates, and maps NaN to 0; integer to
/// integer wraps; anything to bool is x != 0 (NaN is true); to float rounds to nearest even.
TileFn cast_fn(Elem from, Elem to);

/// in[0] holds n of f32, in[1] and in[2] one each, the scale and the zero point; out receives n of `to`, u8 or i8:
/// round(x / scale) + zero point within its limits, 0 for NaN, with the bits of these operations one by one.
TileFn quantise_fn(Elem to);

/// Writes the element of `size` bytes (1, 2, 4, 8 or 16) at `value` n times to out.
void fill(void* out, const void* value, std::size_t size, std::size_t n);

}  // namespace frazil::kernel
