#pragma once

#include <cstdint>
#include <string_view>

#include <frazil/array.h>

#include "tool/error.h"

// Functions that make tensors. Their errors omit the input's name, which callers add.
namespace frazil::tool {

using api::Array;
using api::Dtype;
using api::Sizes;

/// Checks that a tensor takes at most `max_bytes`.
void check_bytes(Dtype dtype, const Sizes& sizes, std::uint64_t max_bytes);
/// Makes a tensor of random values: floats and the parts of complex numbers N(0,1), integers and bools 0 or 1, strings
/// "0" or "1".
Array random_array(Dtype dtype, const Sizes& sizes, std::uint64_t key);
/// Makes a tensor of uniform values in [from, to), rounded to the element type. Both bounds must be values of that
/// type.
Array random_array_in(Dtype dtype, const Sizes& sizes, std::uint64_t key, std::string_view from, std::string_view to);
/// Makes a tensor whose elements all have the value of `text`. Bools accept 0, 1, false and true.
Array filled_array(Dtype dtype, const Sizes& sizes, std::string_view text);

bool is_float(Dtype dtype);
bool is_complex(Dtype dtype);
/// Returns "f32[2,3]".
std::string type_text(Dtype dtype, const Sizes& sizes);

}  // namespace frazil::tool
