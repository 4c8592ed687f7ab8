#pragma once

#include <span>
#include <vector>

#include "ops/contraction/contraction.h"

// The geometry of sliding windows, which convolutions and pools share.
namespace frazil::ops {

/// The windows along one spatial axis.
struct Window {
  Dim out;     ///< number of windows
  Dim begin;   ///< padding before the axis
  Dim kernel;  ///< extent of a window
  std::int64_t stride = 1, dilation = 1;
};

/// The rounding of the number of windows.
enum class Rounding : std::uint8_t {
  floor,     ///< convolutions
  truncate,  ///< pools: toward zero, so a window that is too large by less than a stride is cut off at the end
  ceil,      ///< pools with ceil_mode: the last window may extend past the end
};
/// Returns the windows over spatial extents `in`.
Result<std::vector<Window>> windows(InferCx& cx, std::span<const Dim> in, std::span<const Dim> kernel,
                                    const WindowAttrs& a, Rounding rounding);
/// Returns the list, or `missing` for each axis without the attribute. Returns an error if the list does not have
/// `count` entries.
Result<Ints> per_axis(InferCx& cx, const Ints& given, std::size_t count, std::int64_t missing, std::string_view what);
/// Returns the extent that one window covers, including dilation.
Dim covered(Scope& scope, Dim kernel, std::int64_t dilation);
/// Returns the part of `total` padding that precedes the axis.
Dim pad_begin(Scope& scope, Dim total, const std::string& auto_pad);
/// Returns out * stride + kernel * dilation + offset, on the axes of `out` and `kernel`.
Ix sliding(const Ix& out, const Ix& kernel, Dim stride, Dim dilation, Dim offset);

/// Returns whether X has a batch, channels and at least one spatial axis. Otherwise reports an error.
bool is_image(CompositeCx& cx);

/// Computes the products and sums of a convolution without bias. Supports groups.
Expr conv_products(CompositeCx& cx, Expr x, Expr w, const ConvAttrs& a);

}  // namespace frazil::ops
