#pragma once

#include <functional>

#include "choices.h"
#include "ir/graph/type.h"
#include "tensor/datum.h"

namespace frazil::fuzz {

/// The distribution of a tensor's elements.
enum class Look : std::uint8_t {
  index,    ///< -1..4
  plain,    ///< a few multiples of 1/2 around 0
  spread,   ///< many magnitudes around 1
  special,  ///< with NaN, infinities, -0, denormals, and the limits of integers
  huge,     ///< close to the largest of the type
  same,     ///< all equal
};

Look random_look(Choices& choices);
/// Throws std::bad_alloc when the allocation fails.
Tensor random_tensor(Elem elem, Sizes sizes, Look look, Choices& choices);
/// An integer tensor from numbers, which wrap.
Tensor integer_tensor(Elem elem, Sizes sizes, std::span<const std::int64_t> values);
/// A random value of a type whose extents `eval` gives.
Datum random_datum(const Type& type, const std::function<std::int64_t(Dim)>& eval, Look look, Choices& choices);

}  // namespace frazil::fuzz
