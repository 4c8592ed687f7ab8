#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace bench {

/// SplitMix64: small, and the same on every machine.
class Random {
 public:
  Random(std::uint64_t seed, std::string_view name) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (unsigned char c : name) hash = (hash ^ c) * 0x100000001b3u;
    state_ = seed * 0x9e3779b97f4a7c15u + hash;
  }

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  double normal() {
    double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t state_;
};

}  // namespace bench
