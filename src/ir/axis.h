#pragma once

#include <cstddef>
#include <cstdint>

namespace frazil {

/// An axis of `rank` axes counted from the front: ONNX counts one below 0 from the end, so that -1 is the last.
/// `axis` must be in [-rank, rank]; with a larger -axis the result is far outside of rank.
constexpr std::size_t from_front(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

}  // namespace frazil
