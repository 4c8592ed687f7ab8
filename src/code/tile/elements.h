#pragma once

#include <cstddef>
#include <cstdint>

#include "base/value/elem.h"

// Conversion of runs of elements between memory, with any type and distance, and adjacent elements of that type's
// compute_elem().
namespace frazil::code {

/// Loads n elements that are `step` bytes apart; with step 0, one repeated element.
void load_run(Elem elem, const std::byte* from, std::int64_t step, std::byte* to, std::int64_t n);
/// Stores n elements of the compute type, or one that `repeats`, `step` bytes apart. `value` may be `to`.
void store_run(Elem elem, const void* value, std::byte* to, std::int64_t step, std::int64_t n, bool repeats);

}  // namespace frazil::code
