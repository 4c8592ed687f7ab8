#pragma once

#include <optional>
#include <vector>

#include "ir/infer/infer.h"

namespace frazil {

/// The largest element count of an integer tensor whose known value is tracked.
inline constexpr std::int64_t kMaxKnownElements = 64;

/// Returns the known value of an Elementwise node's integer or bool output, if all operands are known and the result is
/// exact.
std::optional<std::vector<Dim>> known_elementwise(InferCx& cx);
/// Returns the known value of a view of integer operands with known values.
std::optional<std::vector<Dim>> known_view(InferCx& cx, const ViewMap& map);
/// Returns the known value of a constant integer or bool tensor of at most 1024 elements.
std::optional<std::vector<Dim>> known_constant(const Tensor& tensor);

}  // namespace frazil
