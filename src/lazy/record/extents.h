#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ir/edit/builder.h"

namespace frazil::lazy {

/// The classes of equal extents in recorded types. 0 and 1 are their own classes; other extents are numbered from 2 on.
class Extents {
 public:
  std::uint64_t class_of(std::int64_t extent) {
    if (extent < kFirst) return static_cast<std::uint64_t>(extent);
    const auto at = std::ranges::find(seen_, extent);
    const auto number = static_cast<std::uint64_t>(at - seen_.begin());
    if (at == seen_.end()) seen_.push_back(extent);
    return number + kFirst;
  }
  /// Returns the extent in a graph: a constant for 0 and 1, otherwise the symbol of its class.
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
