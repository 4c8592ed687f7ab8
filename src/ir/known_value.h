#pragma once

#include <optional>
#include <vector>

#include "ir/infer.h"

namespace frazil {

/// Largest element count whose integer value inference follows.
inline constexpr std::int64_t kMaxContent = 64;

/// Content of an Elementwise node's integer or bool output, where every operand's is known and the result is exact.
std::optional<std::vector<Dim>> known_elementwise(InferCx& cx);
/// Known value of a view of integer operands whose values are known.
std::optional<std::vector<Dim>> known_view(InferCx& cx, const ViewMap& map);
/// Content of a constant integer or bool tensor of at most 1024 elements.
std::optional<std::vector<Dim>> known_constant(const Tensor& tensor);

}  // namespace frazil
