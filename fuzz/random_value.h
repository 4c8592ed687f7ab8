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
  special,  ///< including NaN, infinities, -0, denormals, and the limits of integers
  huge,     ///< close to the largest value of the type
  same,     ///< all equal
};

Look random_look(Choices& choices);
/// Throws std::bad_alloc if the allocation fails.
Tensor random_tensor(Elem elem, Sizes sizes, Look look, Choices& choices);
/// Creates an integer tensor from numbers, which wrap around.
Tensor integer_tensor(Elem elem, Sizes sizes, std::span<const std::int64_t> values);
/// Creates a random value of a type. `eval` returns its extents.
Datum random_datum(const Type& type, const std::function<std::int64_t(Dim)>& eval, Look look, Choices& choices);

}  // namespace frazil::fuzz
