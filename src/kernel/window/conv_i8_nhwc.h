#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/window/conv.h"

// Convolutions of bytes whose channels are the last axis, exact modulo 2^32.
namespace frazil::kernel {

/// The properties of a convolution that decide how it is computed.
struct ByteNhwcForm {
  ConvParams params;
  bool has_w_zero = false;  ///< weights have zero points
};

/// A convolution of x[batch, in_h, in_w, in_c] to y[batch, out_h, out_w, out_c], both contiguous. The rest is as in
/// ByteConv.
struct ByteConvNhwc {
  ByteNhwcForm form;
  bool signed_x = false, signed_w = false;
  const void *x = nullptr, *packed_w = nullptr;
  const void *x_zero = nullptr, *w_zero = nullptr;  ///< null: zero; w_zero only if form.has_w_zero
  std::int64_t w_zero_step = 0;                     ///< 0: one value; 1: one per output channel
  std::int32_t* y = nullptr;                        ///< null: tiles of y pass through on_tile->result
  const TileCallback* on_tile = nullptr;            ///< sees y as [batch * out_h * out_w, out_c] and may overwrite it
};

/// Weights as in ONNX, w[out_c, in_c / groups, kernel_h, kernel_w], are packed once. The format is the same for every
/// ISA.
std::size_t byte_nhwc_packed_w_bytes(const ByteNhwcForm& form) noexcept;
void byte_nhwc_pack_w(const ByteNhwcForm& form, const void* w, bool signed_w, void* packed) noexcept;

/// The work consists of independent units. Adjacent units may share rows of y; if a callback wants whole rows, one call
/// must run all units that share them.
std::int64_t byte_nhwc_units(const ByteNhwcForm& form) noexcept;
std::int64_t byte_nhwc_units_per_rows(const ByteNhwcForm& form) noexcept;
std::size_t byte_nhwc_scratch(const ByteNhwcForm& form) noexcept;
/// Runs units [begin, end). Each concurrent caller needs its own scratch.
void byte_nhwc_range(const ByteConvNhwc& conv, std::int64_t begin, std::int64_t end, void* scratch) noexcept;

}  // namespace frazil::kernel
