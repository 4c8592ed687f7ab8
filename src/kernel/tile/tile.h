#pragma once

#include <cstddef>

#include "base/value/elem.h"
#include "base/value/scalar_op.h"

/// The scalar primitives on tiles: contiguous runs of elements. A tile ideally has at most 1024 elements, so that a
/// chain of calls stays in L1. Any n (0 too) and any alignment is valid. Nothing outside of [0, n) is accessed.
///
/// Element i of a result depends only on element i of the operands. It does not depend on n, its position, alignment,
/// or whether a scalar operand is repeated in memory instead. It is the same on every Isa, except for the payload and
/// sign of NaNs. `out` may be the same address as an operand if their elements have the same size; other overlaps are
/// not allowed.
///
/// The error of f32 is within 1 ulp for exp, log, log1p, sin, cos and pow, 1.5 ulp for expm1 and erf, and 2.6 ulp for
/// tanh and logistic (measured, see math.h). sqrt is correctly rounded. Other functions of f32 (tan, asin, sinh, ...; 2
/// ulp) and those of f64 use the C library.
namespace frazil::kernel {

using TileFn = void (*)(void* out, const void* const* in, std::size_t n);

/// Returns the function for `op` with operands of type `elem`. For select, the first operand is bool and `elem` is the
/// type of the other two. Bit k of `scalar_mask` means that operand k is ONE element used for all n. Masks are 0 for
/// one operand, 0 to 2 for two (all scalar: mask 0 with n = 1), and 0 to 7 for select. Types are bool, i8 to i64, u8 to
/// u64, f32, f64; the caller converts values of other types. Returns nullptr for cast, constant and load, and if op is
/// not defined for the type. Defined are:
///   bool: lnot, land, lor, lxor, min, max, eq, select;
///   integers: neg, abs, sign, lnot, add, sub, mul, div, mod, fmod, pow, min, max, land, lor, lxor, shl, shr, lt, le,
///     eq, select;
///   floats: all but lnot, land, lor, lxor, shl, shr.
/// These rules add to base/value/scalar_op.h: a negative shift count is treated as one that is too large; shr of a
/// signed type is arithmetic; a zero result of mod on floats has the divisor's sign.
TileFn tile_fn(ScalarOp op, Elem elem, unsigned scalar_mask);

/// Returns the function that converts n elements in[0] of `from` to n elements out of `to`. Types are those of tile_fn,
/// and f16 and bf16 from and to f32; nullptr for others. Float to integer truncates toward zero, saturates, and maps
/// NaN to 0. Integer to integer wraps. Anything to bool is x != 0 (NaN is true). To float rounds to nearest even.
TileFn cast_fn(Elem from, Elem to);

/// Returns the function that quantises n elements in[0] of f32 to n elements out of `to`, u8 or i8. in[1] and in[2] are
/// one element each: the scale and the zero point. The result is round(x / scale) + zero point, clamped to the limits
/// of `to`, and 0 for NaN. The bits are those of the separate operations.
TileFn quantise_fn(Elem to);

/// Writes the element of `size` bytes (1, 2, 4, 8 or 16) at `value` n times to out.
void fill(void* out, const void* value, std::size_t size, std::size_t n);

}  // namespace frazil::kernel
