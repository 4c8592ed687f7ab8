#pragma once

#include <cstdint>

#include "base/value/elem.h"

namespace frazil::kernel {

/// 2-D pooling over `planes` (= batch * channels) contiguous images x[planes, in_h, in_w] -> y[planes, out_h, out_w].
struct PoolParams {
  std::int64_t planes = 0;
  std::int64_t in_h = 1, in_w = 1;
  std::int64_t out_h = 1, out_w = 1;
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t dilation_h = 1, dilation_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
};

/// NaN is the largest value. A window entirely in the padding gives -inf and index -1. `indices` (null: none) are flat
/// positions in x, the first maximum of a window; with column_major the position inside the plane is w * in_h + h.
void max_pool(const PoolParams& p, const float* x, float* y, std::int64_t* indices, bool column_major) noexcept;

/// Divides by the number of window positions inside the image or, with count_include_pad, inside the padded image;
/// positions beyond the trailing pad, due to a rounded-up output extent, are not counted. A count of 0 gives 0.
void average_pool(const PoolParams& p, const float* x, float* y, bool count_include_pad) noexcept;

/// Computes planes [begin, end), for callers that split the work.
void max_pool_range(const PoolParams& p, const float* x, float* y, std::int64_t* indices, bool column_major,
                    std::int64_t begin, std::int64_t end) noexcept;
void average_pool_range(const PoolParams& p, const float* x, float* y, bool count_include_pad, std::int64_t begin,
                        std::int64_t end) noexcept;

/// The same for x[planes, in_h, in_w, channels] -> y[planes, out_h, out_w, channels], planes being images; lines
/// [begin, end) of planes * out_h.
void max_pool_nhwc(const PoolParams& p, std::int64_t channels, const float* x, float* y, std::int64_t begin,
                   std::int64_t end) noexcept;
void average_pool_nhwc(const PoolParams& p, std::int64_t channels, const float* x, float* y, bool count_include_pad,
                       std::int64_t begin, std::int64_t end) noexcept;

/// The same for f16 and bf16, folded in f32. `line`: room for out_w * channels numbers.
void max_pool_nhwc_16(const PoolParams& p, Elem elem, std::int64_t channels, const void* x, void* y, std::int64_t begin,
                      std::int64_t end, float* line) noexcept;
void average_pool_nhwc_16(const PoolParams& p, Elem elem, std::int64_t channels, const void* x, void* y,
                          bool count_include_pad, std::int64_t begin, std::int64_t end, float* line) noexcept;
/// The largest byte of each window, of either sign; the least number where a window is entirely in the padding. Planes
/// [begin, end), or with channels last lines [begin, end).
void max_pool_bytes(const PoolParams& p, bool is_signed, const void* x, void* y, std::int64_t begin,
                    std::int64_t end) noexcept;
void max_pool_bytes_nhwc(const PoolParams& p, bool is_signed, std::int64_t channels, const void* x, void* y,
                         std::int64_t begin, std::int64_t end) noexcept;

/// x[planes, extent] -> y[planes]. An empty plane gives NaN and -inf.
void global_average_pool(std::int64_t planes, std::int64_t extent, const float* x, float* y) noexcept;
void global_max_pool(std::int64_t planes, std::int64_t extent, const float* x, float* y) noexcept;

}  // namespace frazil::kernel
