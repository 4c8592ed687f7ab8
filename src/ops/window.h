#pragma once

#include <span>
#include <vector>

#include "ops/contraction.h"

// Sliding windows: the geometry that convolutions and pools share.
namespace frazil::ops {

/// One spatial axis.
struct Window {
  Dim out;     ///< how many windows
  Dim begin;   ///< positions before the axis
  Dim kernel;  ///< positions of a window
  std::int64_t stride = 1, dilation = 1;
};

/// Windows over spatial extents `in`; `ceil`: a last window may reach past the end.
Result<std::vector<Window>> windows(InferCx& cx, std::span<const Dim> in, std::span<const Dim> kernel,
                                    const WindowAttrs& a, bool ceil);
/// The same list with `missing` where the attribute is absent; an error when it does not have `count` entries.
Result<Ints> per_axis(InferCx& cx, const Ints& given, std::size_t count, std::int64_t missing, std::string_view what);
/// Positions that one window covers, gaps included.
Dim covered(Scope& scope, Dim kernel, std::int64_t dilation);
/// begin of `total` pads.
Dim pad_begin(Scope& scope, Dim total, const std::string& auto_pad);
/// out * stride + kernel * dilation + offset on the two axes that `out` and `kernel` stand for.
Ix sliding(const Ix& out, const Ix& kernel, Dim stride, Dim dilation, Dim offset);

/// Products and sums of a convolution without bias, groups included.
Expr conv_products(CompositeCx& cx, Expr x, Expr w, const ConvAttrs& a);

}  // namespace frazil::ops
