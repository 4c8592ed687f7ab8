#pragma once

#include "code/abi/abi.h"
#include "kernel/tuning/tuning.h"
#include "kernel/window/conv.h"
#include "kernel/window/pool.h"
#include "plan/model/kernel_params.h"

// Extents of convolutions and pools, as their entries read them from operands. Images are [n, c, (h,) w], or [n, (h,)
// w, c] with `channels_last`. 1-D images have h = 1.
namespace frazil::code {

/// Returns extent h (k = 0) or w (k = 1).
inline std::int64_t spatial(const OperandShape& x, int k, bool channels_last = false) {
  const std::size_t first = channels_last ? 1 : 2;
  if (x.dims.size() == 3) return k == 0 ? 1 : x.dims[first];
  return x.dims[first + static_cast<std::size_t>(k)];
}

/// Reads how windows slide from the image to the result. `p` already has the kernel's extents.
template <class P>
void read_window(const Prepare& cx, const Window& window, bool channels_last, P& p) {
  const auto &x = cx.in[0], &y = cx.out[0];
  p.in_h = spatial(x, 0, channels_last), p.in_w = spatial(x, 1, channels_last);
  p.out_h = spatial(y, 0, channels_last), p.out_w = spatial(y, 1, channels_last);
  p.stride_h = window.stride[0], p.stride_w = window.stride[1];
  p.dilation_h = window.dilation[0], p.dilation_w = window.dilation[1];
  p.pad_top = window.pad(0, p.in_h, p.out_h, p.kernel_h);
  p.pad_left = window.pad(1, p.in_w, p.out_w, p.kernel_w);
}

/// Reads the extents of a convolution or transposed convolution.
template <class How>
void read_conv(const Prepare& cx, const How& how, bool channels_last, kernel::ConvParams& p) {
  const auto &x = cx.in[0], &w = cx.in[1], &y = cx.out[0];
  p.batch = x.dims[0];
  p.in_c = channels_last ? x.dims.back() : x.dims[1];
  p.out_c = channels_last ? y.dims.back() : y.dims[1];
  p.groups = how.groups;
  p.kernel_h = spatial(w, 0), p.kernel_w = spatial(w, 1);
  read_window(cx, how.window, channels_last, p);
}

/// Returns the format in which the weights of a convolution are packed.
inline PackedKernels packed_kernels(Elem elem, bool channels_last, const kernel::ConvParams& p) {
  return {.elem = elem,
          .channels_last = channels_last,
          .adjacent = p.dilation_w == 1,
          .out_c = p.out_c,
          .in_c = p.in_c,
          .kernel_h = p.kernel_h,
          .kernel_w = p.kernel_w,
          .groups = p.groups};
}

/// Reads the extents of a pool, except for `planes`, and sets the cost in `cx`.
inline void read_pool(Prepare& cx, const Window& w, bool channels_last, kernel::PoolParams& p) {
  p.kernel_h = w.kernel[0], p.kernel_w = w.kernel[1];
  read_window(cx, w, channels_last, p);
  p.pad_bottom = w.end_pad(0, p.in_h, p.out_h, p.kernel_h);
  p.pad_right = w.end_pad(1, p.in_w, p.out_w, p.kernel_w);
  cx.nanoseconds = 2 * kernel::tuning().element * static_cast<double>(cx.out[0].count()) *
                   static_cast<double>(p.kernel_h * p.kernel_w);
}

}  // namespace frazil::code
