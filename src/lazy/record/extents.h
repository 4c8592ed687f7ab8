#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ir/edit/builder.h"

namespace frazil::lazy {

/// Which extents of recorded types are the same: 0 and 1 are themselves, equal ones share a number from 2 on.
class Extents {
 public:
  std::uint64_t class_of(std::int64_t extent) {
    if (extent < kFirst) return static_cast<std::uint64_t>(extent);
    const auto at = std::ranges::find(seen_, extent);
    const auto number = static_cast<std::uint64_t>(at - seen_.begin());
    if (at == seen_.end()) seen_.push_back(extent);
    return number + kFirst;
  }
  /// The extent in a graph: itself, or its class's symbol.
  Dim dim_of(std::int64_t extent, Builder& builder) {
    if (extent < kFirst) return extent;
    return builder.dim(fmt::format("n{}", class_of(extent) - kFirst), {.min = kFirst});
  }
  Shape shape_of(const Sizes& sizes, Builder& builder) {
    Shape shape;
    for (const std::int64_t extent : sizes) shape.push_back(dim_of(extent, builder));
    return shape;
  }

 private:
  static constexpr std::int64_t kFirst = 2;
  std::vector<std::int64_t> seen_;
};

}  // namespace frazil::lazy
