#pragma once

// Declarations shared by conv's translation units. This header is compiled for several instruction sets: functions
// defined here have internal linkage.

#include <cstdint>

#include "kernel/contract/product.simd.h"
#include "kernel/simd/isa_list.h"
#include "kernel/window/conv.h"

namespace frazil::kernel {

/// The blocking of a convolution; depends on its extents only.
struct ConvShape {
  std::int64_t group_in, group_out;  ///< channels per group
  std::int64_t depth;  ///< group_in * kernel_h * kernel_w; step (r, s, c) is (r * kernel_w + s) * group_in + c
  std::int64_t cols;   ///< out_h * out_w
  std::int64_t col_panels, col_blocks, row_blocks;
  bool depthwise;
  bool huge;  ///< offsets may exceed 32 bits
};

constexpr std::int64_t kConvCols = 512;  ///< maximum columns per block

namespace {
/// Returns the number of panels that m output channels are split into. Their heights are nearly equal; panel p starts
/// at p * m / row_panels(m).
[[gnu::always_inline]] inline std::int64_t row_panels(std::int64_t m) { return (m + kPanelRows - 1) / kPanelRows; }
/// The depth is split in the same way: block i starts at i * k / depth_blocks(k).
constexpr std::int64_t kDepthBlock = 256;  ///< most steps whose packed panel of pixels stays in the first-level cache
[[gnu::always_inline]] inline std::int64_t depth_blocks(std::int64_t k) { return (k + kDepthBlock - 1) / kDepthBlock; }

[[gnu::always_inline]] inline ConvShape conv_shape(const ConvParams& p) {
  ConvShape s;
  s.group_in = p.groups > 0 ? p.in_c / p.groups : 0;
  s.group_out = p.groups > 0 ? p.out_c / p.groups : 0;
  s.depth = s.group_in * p.kernel_h * p.kernel_w;
  s.cols = p.out_h * p.out_w;
  s.col_panels = (s.cols + kPanelCols - 1) / kPanelCols;
  s.col_blocks = (s.cols + kConvCols - 1) / kConvCols;
  const std::int64_t quarter = row_panels(s.group_out) / 4;
  s.row_blocks = quarter < 1 ? 1 : quarter > 8 ? 8 : quarter;
  s.depthwise = p.groups > 1 && s.group_in == 1 && s.group_out == 1;
  constexpr std::int64_t kLimit = std::int64_t{1} << 29;
  const auto wide = [](std::int64_t v) { return v > kLimit || v < -kLimit; };
  const std::int64_t reach_h = p.out_h * p.stride_h, reach_w = p.out_w * p.stride_w;
  const std::int64_t span_h = p.kernel_h * p.dilation_h, span_w = p.kernel_w * p.dilation_w;
  s.huge = wide(p.in_h) || wide(p.in_w) || wide(reach_h) || wide(reach_w) || wide(span_h) || wide(span_w) ||
           wide(p.pad_top) || wide(p.pad_left) || wide((p.in_h + reach_h + span_h) * p.in_w);
  return s;
}
}  // namespace

#define FRAZIL_X(ns)                                                                                                \
  namespace ns {                                                                                                    \
  void conv_run(const ConvParams& p, const float* x, const float* w, const float* bias, float* y, std::int64_t begin, \
                std::int64_t end, float* scratch, const TileCallback* on_tile) noexcept;                                     \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#undef FRAZIL_X

}  // namespace frazil::kernel
