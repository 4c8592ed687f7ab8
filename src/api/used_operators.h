#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <frazil/operators.h>

namespace frazil::api {

/// Returns the operators of an ONNX file, as used_operators() of its path does. Throws Code::bad_model.
std::vector<UsedOperator> used_operators(std::span<const std::byte> content);

}  // namespace frazil::api
