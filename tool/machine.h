#pragma once

#include <cstddef>
#include <string>

namespace frazil::tool {

/// What one core of this machine reaches, as measured; figures to hold a profile against.
struct Machine {
  std::string isa;                                ///< the instruction set that kernels use
  double peak_gflops = 0;                         ///< f32 multiply-add, two operations each
  double l2_gbs = 0, l3_gbs = 0, memory_gbs = 0;  ///< reading
  std::size_t l2_bytes = 0, l3_bytes = 0;
  std::size_t memory_bytes = 0;  ///< of the buffer that stands for memory; a larger L3 holds it
  double seconds = 0;            ///< that measuring took

  /// The bandwidth of the smallest level that holds so many bytes.
  double gbs_for(double bytes) const;
};

/// Measured at the first call, in less than 0.2 s.
const Machine& machine();

}  // namespace frazil::tool
