#pragma once

#include <cstddef>

namespace frazil {

/// The largest rank of a value: in files, in the text form and in inference. A graph stores the extents of each value.
inline constexpr std::size_t kMaxAxes = 1024;

}  // namespace frazil
