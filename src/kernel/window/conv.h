#pragma once

#include <cstdint>

#include "kernel/contract/tile_callback.h"

namespace frazil::kernel {

/// A 2-D convolution; in a 1-D one every *_h is 1. The operands are x[batch, in_c, in_h, in_w], w[out_c, in_c / groups,
/// kernel_h, kernel_w], bias[out_c] or null, and y[batch, out_c, out_h, out_w], all contiguous. The trailing pads
/// follow from the output extents; positions outside the image read as 0. groups divides in_c and out_c. Strides and
/// dilations are at least 1; pads may be negative (crop).
struct ConvParams {
  std::int64_t batch = 1;
  std::int64_t in_c = 0, in_h = 1, in_w = 1;
  std::int64_t out_c = 0, out_h = 1, out_w = 1;
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t dilation_h = 1, dilation_w = 1;
  std::int64_t pad_top = 0, pad_left = 0;
  std::int64_t groups = 1;

  bool empty() const { return batch <= 0 || out_c <= 0 || out_h <= 0 || out_w <= 0 || groups <= 0; }
};

/// Weights are packed once. The format is the same for every ISA and depends on out_c, in_c, kernel_h, kernel_w,
/// groups.
std::int64_t conv_packed_w_bytes(const ConvParams& p) noexcept;
void conv_pack_w(const ConvParams& p, const float* w, void* packed) noexcept;

/// The work consists of conv_units(p) independent units; the bits of a unit do not depend on the thread. If
/// on_tile->whole_rows, one call must run all units of a plane. Each concurrent caller needs its own scratch.
std::int64_t conv_units(const ConvParams& p) noexcept;
std::int64_t conv_scratch_bytes(const ConvParams& p) noexcept;
void conv_range(const ConvParams& p, const float* x, const void* packed_w, const float* bias, float* y,
                std::int64_t unit_begin, std::int64_t unit_end, void* scratch,
                const TileCallback* on_tile = nullptr) noexcept;
/// Runs all units. `on_tile`, which may be null, sees y as [batch * out_c, out_h * out_w] and may overwrite it.
void conv(const ConvParams& p, const float* x, const void* packed_w, const float* bias, float* y, void* scratch,
          const TileCallback* on_tile = nullptr) noexcept;

/// An alternative for outputs with so few positions that vectors along them would be mostly empty. It is a product with
/// positions as rows, and its weights have a separate packed format. It does not support groups.
bool conv_has_few_positions(const ConvParams& p) noexcept;
std::int64_t conv_rows_packed_w_bytes(const ConvParams& p) noexcept;
void conv_rows_pack_w(const ConvParams& p, const float* w, void* packed) noexcept;
std::int64_t conv_rows_scratch_bytes(const ConvParams& p) noexcept;
void conv_rows(const ConvParams& p, const float* x, const void* packed_w, const float* bias, float* y, void* scratch,
               const TileCallback* on_tile = nullptr) noexcept;

/// Transposed convolution with w[in_c, out_c / groups, kernel_h, kernel_w]. Input pixel i contributes to outputs i *
/// stride - pad + kernel_index * dilation. The weights of some output channels at a time are multiplied with the image,
/// and rows of the product are added to the planes. A unit is such channels of one image. Each concurrent caller needs
/// its own scratch.
std::int64_t conv_transpose_units(const ConvParams& p) noexcept;
std::int64_t conv_transpose_scratch_bytes(const ConvParams& p) noexcept;
void conv_transpose_range(const ConvParams& p, const float* x, const float* w, const float* bias, float* y,
                          std::int64_t unit_begin, std::int64_t unit_end, void* scratch) noexcept;

}  // namespace frazil::kernel
