#pragma once

#include <cstdint>

#include "base/value/elem.h"

namespace frazil::kernel {

enum class Reduce : std::uint8_t { sum, mean, max, min, prod, sum_square, sum_abs };

/// f32, f64, i32, i64 for all; i8 and u8 for max and min only.
bool reduce_supports(Reduce op, Elem elem) noexcept;

/// x[outer, extent, inner] -> y[outer, inner], contiguous. The summation tree depends on the extents only, not on ISA
/// or thread. Integers wrap; an integer mean truncates. NaN is propagated by max and min. Without elements: sum 0, prod
/// 1, max -inf or the lowest, min +inf or the highest, mean NaN or 0. Returns false, without writing, if not
/// reduce_supports().
bool reduce(Reduce op, Elem elem, const void* x, void* y, std::int64_t outer, std::int64_t extent,
            std::int64_t inner) noexcept;

enum class Arg : std::uint8_t { max, min };

/// x[outer, extent, inner] -> y[outer, inner]: the position along `extent`, first or last among equals; NaN is the
/// extreme. Supports f32, f64, i32, i64, i8, u8; returns false for others. Without elements: 0.
bool arg_reduce(Arg op, bool last, Elem elem, const void* x, std::int64_t* y, std::int64_t outer, std::int64_t extent,
                std::int64_t inner) noexcept;

}  // namespace frazil::kernel
