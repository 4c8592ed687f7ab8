#pragma once

#include <cstddef>
#include <string>

namespace frazil::tool {

/// Measured limits of one core of this machine, as reference values for a profile.
struct Machine {
  std::string isa;                                ///< the instruction set that kernels use
  double peak_gflops = 0;                         ///< f32 multiply-adds, two operations each
  double l2_gbs = 0, l3_gbs = 0, memory_gbs = 0;  ///< read bandwidth
  std::size_t l2_bytes = 0, l3_bytes = 0;
  std::size_t memory_bytes =
      0;               ///< size of the buffer used to measure memory; larger than L3 unless the cache is bigger
  double seconds = 0;  ///< duration of the measurement

  /// Returns the bandwidth of the smallest level that holds this many bytes.
  double gbs_for(double bytes) const;
};

/// Measures on the first call, in less than 0.2 s.
const Machine& machine();

}  // namespace frazil::tool
