#pragma once

#include <cstdint>

#include "base/value/elem.h"
#include "kernel/contract/tile_callback.h"
#include "kernel/window/conv.h"

// Convolutions of f32, f16 and bf16 whose channels are the last axis: x[batch, in_h, in_w, in_c], bias[out_c] or null,
// y[batch, out_h, out_w, out_c], all contiguous. Weights are as in ONNX, w[out_c, in_c / groups, kernel_h, kernel_w].
// The rest is as in ConvParams; 16-bit floats have no groups. Numeric class: reassociated, summed in f32 and rounded
// once.
namespace frazil::kernel {

/// The algorithm of a convolution. It follows from the extents, `elem` and `fast` of NhwcConv.
enum class NhwcPath : std::uint8_t {
  product,    ///< a product whose rows are read through pointers, one for each position of the kernel
  depthwise,  ///< one input and one output channel per group; f32 only
  winograd,   ///< F(4x4, 3x3) of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (CVPR 2016);
              ///< f32 only
};

struct NhwcConv {
  ConvParams params;
  bool fast = true;  ///< use Winograd if nhwc_has_winograd(); its error is about ten times that of the plain sum
  float negative_slope = 1;  ///< 0 to 1: factor of the result's elements below 0; 0: Relu
  /// Strides of x in elements, for image, line, pixel and channel, if nhwc_supports_strides(). All 0: x is contiguous.
  std::int64_t x_strides[4] = {};
  Elem elem = Elem::f32;
  bool strict = false;  ///< bf16: use only instructions that round as fma does
};
/// Returns true for kernels of several pixels per line over few channels. Their lines are copied with padding.
bool nhwc_supports_strides(const ConvParams& p) noexcept;
/// The operands of each output channel, applied to the sum before the negative slope: out_c elements each, null for
/// none. f32 computes (sum + bias) * scale + shift + addend and rounds after each operation. 16-bit floats round the
/// sum with the bias once, then after each operation.
struct NhwcColumns {
  const void* bias = nullptr;
  const float *scale = nullptr, *shift = nullptr;  ///< 16-bit floats: both or none
  const void* addend = nullptr;                    ///< shape of y; added last
};
/// Returns true for 3 x 3 kernels of stride 1 over enough channels. is_winograd_profitable() of tuning.h returns
/// whether Winograd is faster.
bool nhwc_has_winograd(const ConvParams& p) noexcept;
NhwcPath nhwc_path(const NhwcConv& conv) noexcept;

/// Weights are packed once. The format is the same for every ISA and path but depthwise. It depends on the element
/// type, out_c, in_c, kernel_h, kernel_w, groups and on whether dilation_w is 1.
std::size_t nhwc_packed_w_bytes(const NhwcConv& conv) noexcept;
void nhwc_pack_w(const NhwcConv& conv, const void* w, void* packed) noexcept;

/// The work consists of independent units; the bits of a unit do not depend on the thread.
std::int64_t nhwc_units(const NhwcConv& conv) noexcept;
/// Returns the number of adjacent units that share rows of y. If a callback wants whole rows, one call must run all of
/// them.
std::int64_t nhwc_units_per_rows(const NhwcConv& conv) noexcept;
std::size_t nhwc_scratch_bytes(const NhwcConv& conv) noexcept;
/// Runs units [unit_begin, unit_end). `on_tile`, which may be null, sees y as [batch * out_h * out_w, out_c] and may
/// overwrite it. Each concurrent caller needs its own scratch.
void nhwc_range(const NhwcConv& conv, const void* x, const void* packed_w, const NhwcColumns& columns, void* y,
                std::int64_t unit_begin, std::int64_t unit_end, void* scratch,
                const TileCallback* on_tile = nullptr) noexcept;

}  // namespace frazil::kernel
