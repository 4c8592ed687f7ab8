#pragma once

#include <cstddef>
#include <cstdint>

namespace frazil {

/// Returns the axis counted from the front. ONNX counts negative axes from the end: -1 is the last. `axis` must be in
/// [-rank, rank]; for a smaller one, the result is far above rank.
constexpr std::size_t from_front(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

}  // namespace frazil
