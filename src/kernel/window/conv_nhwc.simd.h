#pragma once

// Declarations shared by the translation units of channels-last convolutions. This header is compiled for several
// instruction sets: functions defined here have internal linkage.

#include <cstdint>

#include "kernel/contract/product.simd.h"
#include "kernel/simd/isa_list.h"
#include "kernel/window/conv_nhwc.h"
#include "kernel/window/window.h"

namespace frazil::kernel {

/// The blocking of a channels-last convolution; depends on its extents only. Output positions are rows of y, in
/// `planes` planes of `row_blocks` blocks each. A unit is a block of rows times one of `col_blocks` blocks of output
/// channels.
struct NhwcShape {
  NhwcPath path;
  std::int64_t group_in, group_out;  ///< channels per group
  WindowShape window;                ///< path `product` only
  std::int64_t planes, plane_rows;
  std::int64_t row_blocks, col_blocks;
  std::int64_t tiles_h, tiles_w, tile_lines;  ///< winograd: tiles of 4 x 4 positions, and lines of tiles in a block
  std::int64_t units() const { return planes * row_blocks * col_blocks; }
  std::int64_t max_rows() const { return (plane_rows + row_blocks - 1) / row_blocks; }
};
NhwcShape nhwc_shape(const NhwcConv& conv) noexcept;

/// The arguments of nhwc_range for f32, with its scratch.
struct NhwcRun {
  const ConvParams& p;
  NhwcShape shape;
  const float* x;
  const float* w;
  Results out;  ///< of the first row and column
  float* scratch;
  const TileCallback* on_tile;
};

constexpr std::int64_t kWinogradTile = 4, kWinogradPoints = 36;  ///< F(4x4, 3x3)
constexpr std::int64_t kWinogradDepth = 64;  ///< channels whose transformed weights are in the cache at a time
constexpr std::int64_t kChannelPad = 16;  ///< rows of transformed channels are padded to a multiple of this, in floats

/// Distances in floats between points of transformed inputs, weights or products. They are a cache line longer than the
/// elements of a point. Strides of powers of two would map all points to the same set of the first-level cache.
struct WinogradSteps {
  std::int64_t in, weights, out;
};

namespace {
/// Returns the first row of a block of units. Heights of blocks are nearly equal.
[[gnu::always_inline]] inline std::int64_t nhwc_block_begin(const NhwcShape& s, std::int64_t block) {
  return block * s.plane_rows / s.row_blocks;
}
/// Returns the first column of a block, in whole panels; for block s.col_blocks, the end of the last column.
[[gnu::always_inline]] inline std::int64_t nhwc_col_begin(const NhwcShape& s, std::int64_t out_c, std::int64_t block) {
  const std::int64_t panels = (out_c + kPanelCols - 1) / kPanelCols;
  const std::int64_t at = block * panels / s.col_blocks * kPanelCols;
  return at < out_c ? at : out_c;
}
}  // namespace

// nhwc_depthwise, nhwc_winograd: compute units [begin, end) of a run with that path
#define FRAZIL_X(ns)                                                                            \
  namespace ns {                                                                                \
  void nhwc_depthwise(const NhwcRun& run, std::int64_t begin, std::int64_t end) noexcept;       \
  void nhwc_winograd(const NhwcRun& run, std::int64_t begin, std::int64_t end) noexcept;        \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#undef FRAZIL_X

WinogradSteps winograd_steps(const ConvParams& p, const NhwcShape& s) noexcept;
/// Returns the number of blocks of tiles. Each block transforms all weights.
std::int64_t winograd_blocks(const ConvParams& p) noexcept;

}  // namespace frazil::kernel
