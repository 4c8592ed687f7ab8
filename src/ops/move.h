#pragma once

#include <cstring>
#include <string>

#include "base/governor.h"
#include "ir/opaque.h"

// Moving elements of any type in reference kernels: strings are objects, everything else is bytes.
namespace frazil::ops {

/// Copies `count` elements.
inline void move_elements(Elem elem, std::byte* dst, const std::byte* src, std::int64_t count) {
  if (elem == Elem::string) {
    const auto* const from = reinterpret_cast<const std::string*>(src);
    auto* const to = reinterpret_cast<std::string*>(dst);
    for (std::int64_t i = 0; i < count; ++i) assign_text(to[i], from[i]);
  } else if (count > 0) {
    std::memcpy(dst, src, static_cast<std::size_t>(count) * byte_size(elem));
  }
}

inline std::int64_t product(std::span<const std::int64_t> sizes) { return element_count(sizes); }

/// [outer, extent, inner] around one axis.
struct AxisSplit {
  std::int64_t outer = 1, extent = 1, inner = 1;
  AxisSplit(std::span<const std::int64_t> sizes, std::size_t axis)
      : outer(product(sizes.first(axis))), extent(sizes[axis]), inner(product(sizes.subspan(axis + 1))) {}
};

inline std::size_t from_front(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

}  // namespace frazil::ops
