#pragma once

#include <cstddef>

namespace frazil {

/// Axes of a value, at most: in files, in the text form and as inferred. A graph holds the extents of each value.
inline constexpr std::size_t kMostAxes = 1024;

}  // namespace frazil
