#pragma once

#include <cstdint>

#include "base/value/elem.h"
#include "kernel/contract/tile_callback.h"
#include "kernel/window/conv.h"

// Convolutions of f32, f16 and bf16 whose channels are the last axis: x[batch, in_h, in_w, in_c], bias[out_c] or null,
// y[batch, out_h, out_w, out_c], all contiguous. Weights as in ONNX, w[out_c, in_c / groups, kernel_h, kernel_w]. The
// rest is as for ConvParams; 16-bit floats have no groups. Numeric class: reassociated, summed in f32 and rounded once.
namespace frazil::kernel {

/// How a convolution is computed. It follows from the extents.
enum class NhwcPath : std::uint8_t {
  product,    ///< a product whose rows are read through pointers, one for each position of the kernel
  depthwise,  ///< one channel per group on both sides; of f32
  winograd,  ///< F(4x4, 3x3) of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (CVPR 2016); of f32
};

struct NhwcConv {
  ConvParams params;
  bool fast = true;  ///< by Winograd where nhwc_has_winograd(); its error is some ten times that of the plain sum
  float slope = 1;   ///< 0 to 1: what elements below 0 of the result are multiplied by; 0: Relu
  /// Where nhwc_takes_strides(): of x, in elements, for image, line, pixel and channel. All 0: x is contiguous.
  std::int64_t x_strides[4] = {};
  Elem elem = Elem::f32;
  bool strict = false;  ///< of bf16: only instructions that round as fma does
};
/// True for kernels of several pixels per line over few channels, whose lines are copied with their padding.
bool nhwc_takes_strides(const ConvParams& p) noexcept;
/// The operands of each output channel, applied to the sum before the slope: out_c elements each, null for none. f32
/// computes (sum + bias) * scale + shift + addend and rounds after each operation. 16-bit floats round the sum with the
/// bias once, then after each operation.
struct NhwcColumns {
  const void* bias = nullptr;
  const float *scale = nullptr, *shift = nullptr;  ///< of 16-bit floats both or none
  const void* addend = nullptr;                    ///< as y: added then
};
/// True for 3 x 3 kernels of stride 1 over enough channels; winograd_pays() of tuning.h says where it is faster.
bool nhwc_has_winograd(const ConvParams& p) noexcept;
NhwcPath nhwc_path(const NhwcConv& conv) noexcept;

/// Weights are packed once. The format is the same for every ISA and path but depthwise, and depends on the element
/// type, out_c, in_c, kernel_h, kernel_w, groups and on whether dilation_w is 1.
std::size_t nhwc_packed_w_bytes(const NhwcConv& conv) noexcept;
void nhwc_pack_w(const NhwcConv& conv, const void* w, void* packed) noexcept;

/// The work consists of independent units; the bits of a unit do not depend on who runs it.
std::int64_t nhwc_units(const NhwcConv& conv) noexcept;
/// Adjacent units that share their rows of y: where a callback wants whole rows, they must be run together.
std::int64_t nhwc_units_per_rows(const NhwcConv& conv) noexcept;
std::size_t nhwc_scratch_bytes(const NhwcConv& conv) noexcept;
/// Runs units [unit_begin, unit_end). `on_tile`, which may be null, sees y as [batch * out_h * out_w, out_c] and may
/// overwrite it. Each concurrent caller needs its own scratch.
void nhwc_range(const NhwcConv& conv, const void* x, const void* packed_w, const NhwcColumns& columns, void* y,
                std::int64_t unit_begin, std::int64_t unit_end, void* scratch,
                const TileCallback* on_tile = nullptr) noexcept;

}  // namespace frazil::kernel
