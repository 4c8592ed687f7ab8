#pragma once

#include <cstddef>
#include <type_traits>

#include "code/abi/abi.h"
#include "plan/model/kernel_params.h"

namespace frazil::code {

/// The operands of a product or convolution besides the two that it multiplies, by role. Each is a number of an operand
/// in the call; 0: not given.
struct ProductOperands {
  std::size_t bias = 0;                ///< one per column, or output channel
  std::size_t scale = 0, shift = 0;    ///< the same
  std::size_t addend = 0;              ///< one per element of the result
  std::size_t a_zero = 0, b_zero = 0;  ///< zero points; a is the image of a convolution

  ProductOperands() = default;
  /// P is params::MatMul or params::Conv.
  template <class P>
  ProductOperands(std::span<const OperandShape> in, const P& p) {
    std::size_t own = in.size();  // operands of the operator; those of fused nodes follow them
    const auto take = [&](bool there) { return there ? --own : 0; };
    addend = take(p.added);
    if constexpr (std::is_same_v<P, params::Conv>) {
      shift = take(p.shifted);
      scale = take(p.scaled);
    }
    const auto given = [&](std::size_t i) { return i < own && in[i].given ? i : 0; };
    p.zero_points ? (a_zero = given(2), b_zero = given(3)) : bias = given(2);
  }

  /// Returns the memory of operand `number`, or null if that is 0.
  static const std::byte* of(const Call& call, std::size_t number) { return number != 0 ? call.in[number] : nullptr; }
};

}  // namespace frazil::code
