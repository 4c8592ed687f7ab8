#pragma once

#include <cstddef>
#include <cstdint>

#include "base/elem.h"
#include "kernel/contract/conv.h"
#include "kernel/contract/tile_callback.h"

// Convolutions of 16-bit floats whose channels are the last axis, summed in f32 and rounded once. Operands lie as in
// conv_nhwc.h. There are no groups.
namespace frazil::kernel {

struct HalfConv {
  ConvParams params;
  Elem elem = Elem::bf16;
  bool strict = false;  ///< only instructions that round as fma does
  float slope = 1;      ///< as of GemmCall
};

/// Weights are packed once. The format is the same for every instruction set, and depends on out_c, in_c, kernel_h,
/// kernel_w and on whether dilation_w is 1.
std::size_t half_conv_packed_w_bytes(const HalfConv& conv) noexcept;
void half_conv_pack_w(const HalfConv& conv, const void* w, void* packed) noexcept;

/// The work consists of independent units, blocks of rows of y; the bits of a unit do not depend on who runs it.
std::int64_t half_conv_units(const HalfConv& conv) noexcept;
std::size_t half_conv_scratch_bytes(const HalfConv& conv) noexcept;
/// What happens to each output channel; null where nothing is done.
struct HalfColumns {
  const void* bias = nullptr;                      ///< [out_c], added to the sum, which is rounded then
  const float *scale = nullptr, *shift = nullptr;  ///< [out_c], both or none: y * scale + shift in f32, rounded then
  const void* addend = nullptr;                    ///< as y: added then
};
/// Runs units [unit_begin, unit_end). `on_tile`, which may be null, sees y as [batch * out_h * out_w, out_c] and may
/// overwrite it. Each concurrent caller needs its own scratch.
void half_conv_range(const HalfConv& conv, const void* x, const void* packed_w, const HalfColumns& columns, void* y,
                     std::int64_t unit_begin, std::int64_t unit_end, void* scratch,
                     const TileCallback* on_tile) noexcept;

}  // namespace frazil::kernel
