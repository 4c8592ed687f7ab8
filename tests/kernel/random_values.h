#pragma once

#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

namespace frazil::kernel {

/// n numbers in [-size, size), or integers over the whole range of T.
template <class T>
std::vector<T> values(std::int64_t n, unsigned seed = 5, T size = 1) {
  std::mt19937_64 gen(seed);
  std::vector<T> x(static_cast<std::size_t>(n));
  for (T& v : x) {
    if constexpr (std::is_floating_point_v<T>) {
      v = std::uniform_real_distribution<T>(-size, size)(gen);
    } else {
      v = static_cast<T>(gen());
    }
  }
  return x;
}

}  // namespace frazil::kernel
