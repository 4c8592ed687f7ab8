#pragma once

#include <cstdint>

#include "base/value/elem.h"

namespace frazil::kernel {

enum class Reduce : std::uint8_t { sum, mean, max, min, prod, sum_square, sum_abs };

/// Returns true for f32, f64, i32 and i64, and for i8 and u8 if op is max or min.
bool reduce_supports(Reduce op, Elem elem) noexcept;

/// Reduces x[outer, extent, inner] to y[outer, inner], both contiguous. The summation tree depends on the extents only,
/// not on the instruction set or the thread. Integers wrap; an integer mean truncates. max and min propagate NaN. If
/// extent is 0, sum is 0, prod is 1, max is -inf or the lowest integer, min is +inf or the highest, mean is NaN or 0.
/// Returns false, without writing, if not reduce_supports().
bool reduce(Reduce op, Elem elem, const void* x, void* y, std::int64_t outer, std::int64_t extent,
            std::int64_t inner) noexcept;

enum class Arg : std::uint8_t { max, min };

/// Writes to y[outer, inner] the position along `extent` of the extreme of x[outer, extent, inner]. If `last`, it is
/// the last of equal elements, else the first. NaN is the extreme. If extent is 0, the position is 0. Supports f32,
/// f64, i32, i64, i8, u8; returns false for others.
bool arg_reduce(Arg op, bool last, Elem elem, const void* x, std::int64_t* y, std::int64_t outer, std::int64_t extent,
                std::int64_t inner) noexcept;

}  // namespace frazil::kernel
