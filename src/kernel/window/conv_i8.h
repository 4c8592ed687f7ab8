#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/window/conv.h"

// Convolutions of bytes, exact modulo 2^32.
namespace frazil::kernel {

/// A convolution with the shapes of ConvParams, of x and w minus their zero points. Positions outside the image count
/// as zero points.
struct ByteConv {
  ConvParams params;
  bool signed_x = false, signed_w = false;
  const void *x = nullptr, *w = nullptr;
  const void *x_zero = nullptr, *w_zero = nullptr;  ///< null: zero
  std::int64_t w_zero_step = 0;                     ///< 0: one value; 1: one per output channel
  std::int32_t* y = nullptr;
  const TileCallback* on_tile = nullptr;  ///< sees y as [batch * out_c, out_h * out_w] and may overwrite it
};

/// The work consists of independent units. If on_tile->whole_rows, one call must run all units of a plane.
std::int64_t byte_conv_units(const ConvParams& p) noexcept;
/// Returns the units of a plane, which is one group of one image.
std::int64_t byte_conv_units_per_plane(const ConvParams& p) noexcept;
std::size_t byte_conv_scratch(const ConvParams& p) noexcept;
void byte_conv_range(const ByteConv& conv, std::int64_t begin, std::int64_t end, void* scratch) noexcept;

}  // namespace frazil::kernel
