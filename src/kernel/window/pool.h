#pragma once

#include <cstdint>

#include "base/value/elem.h"

namespace frazil::kernel {

/// A 2-D pooling of `planes` (= batch * channels) contiguous images x[planes, in_h, in_w] to y[planes, out_h, out_w].
struct PoolParams {
  std::int64_t planes = 0;
  std::int64_t in_h = 1, in_w = 1;
  std::int64_t out_h = 1, out_w = 1;
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t dilation_h = 1, dilation_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
};

/// Computes max pooling. NaN is the largest value. A window entirely in the padding gives -inf and index -1. `indices`,
/// which may be null, are the flat positions in x of the first maximum of each window. With column_major, the position
/// inside the plane is w * in_h + h.
void max_pool(const PoolParams& p, const float* x, float* y, std::int64_t* indices, bool column_major) noexcept;

/// Computes average pooling. Divides by the number of window positions inside the image or, with count_include_pad,
/// inside the padded image. Positions beyond the trailing pad, due to a rounded-up output extent, are not counted. A
/// count of 0 gives 0.
void average_pool(const PoolParams& p, const float* x, float* y, bool count_include_pad) noexcept;

/// Computes planes [begin, end), for callers that split the work.
void max_pool_range(const PoolParams& p, const float* x, float* y, std::int64_t* indices, bool column_major,
                    std::int64_t begin, std::int64_t end) noexcept;
void average_pool_range(const PoolParams& p, const float* x, float* y, bool count_include_pad, std::int64_t begin,
                        std::int64_t end) noexcept;

/// Compute the same for x[planes, in_h, in_w, channels] -> y[planes, out_h, out_w, channels], where planes are images.
/// [begin, end) are lines of planes * out_h.
void max_pool_nhwc(const PoolParams& p, std::int64_t channels, const float* x, float* y, std::int64_t begin,
                   std::int64_t end) noexcept;
void average_pool_nhwc(const PoolParams& p, std::int64_t channels, const float* x, float* y, bool count_include_pad,
                       std::int64_t begin, std::int64_t end) noexcept;

/// Compute the same for f16 and bf16, folded in f32. `line` has room for out_w * channels floats.
void max_pool_nhwc_16(const PoolParams& p, Elem elem, std::int64_t channels, const void* x, void* y, std::int64_t begin,
                      std::int64_t end, float* line) noexcept;
void average_pool_nhwc_16(const PoolParams& p, Elem elem, std::int64_t channels, const void* x, void* y,
                          bool count_include_pad, std::int64_t begin, std::int64_t end, float* line) noexcept;
/// Compute the largest byte of each window. A window entirely in the padding gives the least number of the type.
/// [begin, end) are planes or, with channels last, lines.
void max_pool_bytes(const PoolParams& p, bool is_signed, const void* x, void* y, std::int64_t begin,
                    std::int64_t end) noexcept;
void max_pool_bytes_nhwc(const PoolParams& p, bool is_signed, std::int64_t channels, const void* x, void* y,
                         std::int64_t begin, std::int64_t end) noexcept;

/// Reduce x[planes, extent] to y[planes]. An empty plane gives NaN for the average and -inf for the maximum.
void global_average_pool(std::int64_t planes, std::int64_t extent, const float* x, float* y) noexcept;
void global_max_pool(std::int64_t planes, std::int64_t extent, const float* x, float* y) noexcept;

}  // namespace frazil::kernel
