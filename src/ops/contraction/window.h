#pragma once

#include <span>
#include <vector>

#include "ops/contraction/contraction.h"

// Geometry of sliding windows, shared by convolutions and pools.
namespace frazil::ops {

/// One spatial axis.
struct Window {
  Dim out;     ///< number of windows
  Dim begin;   ///< padding before the axis
  Dim kernel;  ///< extent of a window
  std::int64_t stride = 1, dilation = 1;
};

/// The rounding of a number of windows.
enum class Rounding : std::uint8_t {
  floor,     ///< convolutions
  truncate,  ///< pools: toward zero, so that a window which is less than a stride too large is cut off at the end
  ceil,      ///< pools with ceil_mode: the last window may extend past the end
};
/// Windows over spatial extents `in`.
Result<std::vector<Window>> windows(InferCx& cx, std::span<const Dim> in, std::span<const Dim> kernel,
                                    const WindowAttrs& a, Rounding rounding);
/// The list, or `missing` for each axis when the attribute is absent; an error when it does not have `count` entries.
Result<Ints> per_axis(InferCx& cx, const Ints& given, std::size_t count, std::int64_t missing, std::string_view what);
/// Extent covered by one window, including dilation.
Dim covered(Scope& scope, Dim kernel, std::int64_t dilation);
/// The part of `total` padding that precedes the axis.
Dim pad_begin(Scope& scope, Dim total, const std::string& auto_pad);
/// out * stride + kernel * dilation + offset, on the axes of `out` and `kernel`.
Ix sliding(const Ix& out, const Ix& kernel, Dim stride, Dim dilation, Dim offset);

/// Whether X has a batch, channels and at least one spatial axis; else an error is set.
bool is_image(CompositeCx& cx);

/// Products and sums of a convolution without bias; supports groups.
Expr conv_products(CompositeCx& cx, Expr x, Expr w, const ConvAttrs& a);

}  // namespace frazil::ops
