#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "base/limits/execution_limits.h"
#include "base/value/extents.h"
#include "ir/op/axis.h"
#include "ir/op/opaque.h"

// Copies elements of any type in reference kernels. Strings are objects; all other elements are bytes.
namespace frazil::ops {

/// Copies `count` elements, or fewer if the run must stop.
inline void move_elements(Elem elem, std::byte* dst, const std::byte* src, std::int64_t count) {
  if (elem == Elem::string) {
    const auto* const from = reinterpret_cast<const std::string*>(src);
    auto* const to = reinterpret_cast<std::string*>(dst);
    PollThrottle throttle;
    for (std::int64_t i = 0; i < count && !throttle.stop(16); ++i) assign_text(to[i], from[i]);
    return;
  }
  constexpr std::int64_t kPiece = std::int64_t{1} << 20;
  const std::int64_t bytes = count * static_cast<std::int64_t>(byte_size(elem));
  for (std::int64_t at = 0; at < bytes; at += kPiece) {
    if (at > 0 && stop_requested()) return;
    std::memcpy(dst + at, src + at, static_cast<std::size_t>(std::min(kPiece, bytes - at)));
  }
}

/// The extents [outer, extent, inner] around one axis. `outer` is 0 if `inner` is, so that loops are skipped.
struct AxisSplit {
  std::int64_t outer = 1, extent = 1, inner = 1;
  AxisSplit(std::span<const std::int64_t> sizes, std::size_t axis)
      : extent(sizes[axis]), inner(product(sizes.subspan(axis + 1))) {
    outer = inner == 0 ? 0 : product(sizes.first(axis));
  }
};

}  // namespace frazil::ops
