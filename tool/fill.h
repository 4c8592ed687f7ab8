#pragma once

#include <cstdint>
#include <string_view>

#include "base/value/error.h"
#include "tensor/tensor.h"

// Functions that fill new contiguous tensors. Faults omit the input's name, which callers add.
namespace frazil::tool {

/// Fills with random values: floats and the parts of complex numbers N(0,1), integers and bools 0 or 1, strings "0" or
/// "1".
void fill_random(Tensor& tensor, std::uint64_t key);
/// Fills with uniform values in [from, to), rounded to the element type. Both bounds must be values of that type.
Status fill_range(Tensor& tensor, std::uint64_t key, std::string_view from, std::string_view to);
/// Sets every element to the value of `text`. Bools accept 0, 1, false and true.
Status fill_value(Tensor& tensor, std::string_view text);

}  // namespace frazil::tool
