#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

namespace frazil::kernel {

using Dims = std::vector<std::int64_t>;

inline std::int64_t count_of(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace frazil::kernel
