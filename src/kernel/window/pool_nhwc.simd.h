#pragma once

#include <cstdint>

#include "kernel/simd/isa_list.h"
#include "kernel/window/pool.h"

namespace frazil::kernel {

/// The reduction of the elements of a window.
enum class PoolFold : std::uint8_t { maximum, sum };

// pool_line: folds each window of output line `oy` of one image x[in_h, in_w, channels] into y[out_w, channels]. An
// empty window gives -inf for `maximum`, 0 for `sum`.
// pool_line_16: the same for f16 or bf16
// pool_bytes_line: the largest bytes of the same windows
#define FRAZIL_X(ns)                                                                                        \
  namespace ns {                                                                                            \
  void pool_line(const PoolParams& p, PoolFold fold, std::int64_t channels, const float* x, std::int64_t oy, \
                 float* y) noexcept;                                                                        \
  void pool_line_16(const PoolParams& p, PoolFold fold, Elem elem, std::int64_t channels, const void* x,    \
                    std::int64_t oy, float* y) noexcept;                                                    \
  void pool_bytes_line(const PoolParams& p, bool is_signed, std::int64_t channels, const std::uint8_t* x,   \
                       std::int64_t oy, std::uint8_t* y) noexcept;                                          \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#undef FRAZIL_X

}  // namespace frazil::kernel
