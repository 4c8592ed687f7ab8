#pragma once

#include <cstddef>
#include <cstdint>

#include "base/value/elem.h"

// Runs of elements between memory, where they have any type and distance, and compute_elem() of that type, side by
// side.
namespace frazil::code {

/// n elements that are `step` bytes apart; 0: one, repeated.
void load_run(Elem elem, const std::byte* from, std::int64_t step, std::byte* to, std::int64_t n);
/// n elements of the compute type, or one that `repeats`, to places `step` bytes apart. `value` may be `to`.
void store_run(Elem elem, const void* value, std::byte* to, std::int64_t step, std::int64_t n, bool repeats);

}  // namespace frazil::code
