#include "kernel/window/conv.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/thread/poll_throttle.h"
#include "base/value/extents.h"
#include "kernel/contract/float_gemm.h"
#include "kernel/simd/aligned.h"
#include "kernel/simd/isa.h"
#include "kernel/window/conv.simd.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

/// Returns p with the image as one row if the kernel is 1 x 1 without stride or padding, else p.
ConvParams folded(ConvParams p) {
  const bool pointwise = p.kernel_h == 1 && p.kernel_w == 1 && p.stride_h == 1 && p.stride_w == 1 && p.pad_top == 0 &&
                         p.pad_left == 0 && p.in_h == p.out_h && p.in_w == p.out_w;
  if (!pointwise) return p;
  p.in_w *= p.in_h;
  p.out_w = p.in_w;
  p.in_h = p.out_h = 1;
  return p;
}

void pack_panel(int64_t rows, int64_t k, const float* a, int64_t a_row, int64_t a_col, float* to) {
  FRAZIL_DISPATCH(pack_panel(rows, k, a, a_row, a_col, to));
}

/// The blocking of a transposed convolution: output channels of a unit, units of a group, input lines of a product.
struct TransposeBlocks {
  int64_t channels, blocks, lines;
  explicit TransposeBlocks(const ConvParams& p) {
    constexpr int64_t kRows = 48, kCols = 2048;
    const int64_t group_out = p.out_c / p.groups;
    channels = std::clamp<int64_t>(kRows / std::max<int64_t>(p.kernel_h * p.kernel_w, 1), 1, group_out);
    blocks = ceil_div(group_out, channels);
    lines = std::clamp<int64_t>(kCols / std::max<int64_t>(p.in_w, 1), 1, std::max<int64_t>(p.in_h, 1));
  }
};

/// Adds a line of products of one position of the kernel to the output line that it reaches.
void add_line(const ConvParams& p, const float* products, int64_t s, float* y) {
  const int64_t shift = s * p.dilation_w - p.pad_left;
  const int64_t lo = std::max<int64_t>(0, ceil_div(-shift, p.stride_w));
  const int64_t hi = std::min(p.in_w, ceil_div(p.out_w - shift, p.stride_w));
  if (p.stride_w == 1) {
    for (int64_t i = lo; i < hi; ++i) y[i + shift] += products[i];
  } else {
    for (int64_t i = lo; i < hi; ++i) y[i * p.stride_w + shift] += products[i];
  }
}

/// Adds products [taps][lines * in_w] of input lines from `first` on to one plane.
void add_lines(const ConvParams& p, const float* products, int64_t first, int64_t lines, float* plane) {
  for (int64_t tap = 0; tap < p.kernel_h * p.kernel_w; ++tap) {
    for (int64_t i = 0; i < lines; ++i, products += p.in_w) {
      const int64_t oy = (first + i) * p.stride_h - p.pad_top + tap / p.kernel_w * p.dilation_h;
      if (oy >= 0 && oy < p.out_h) add_line(p, products, tap % p.kernel_w, plane + oy * p.out_w);
    }
  }
}

}  // namespace

int64_t conv_packed_w_bytes(const ConvParams& p) noexcept {
  if (p.groups <= 0) return 0;
  return p.out_c * (p.in_c / p.groups) * p.kernel_h * p.kernel_w * static_cast<int64_t>(sizeof(float));
}

void conv_pack_w(const ConvParams& p, const float* w, void* packed) noexcept {
  const int64_t bytes = conv_packed_w_bytes(p);
  if (bytes <= 0) return;
  const ConvShape s = conv_shape(p);
  if (s.depthwise) {
    std::memcpy(packed, static_cast<const void*>(w), static_cast<std::size_t>(bytes));
    return;
  }
  const int64_t panels = row_panels(s.group_out), taps = p.kernel_h * p.kernel_w;
  float* to = static_cast<float*>(packed);
  PollThrottle throttle;
  for (int64_t g = 0; g < p.groups; ++g) {
    for (int64_t panel = 0; panel < panels; ++panel) {
      const int64_t row = panel * s.group_out / panels, height = (panel + 1) * s.group_out / panels - row;
      if (throttle.stop(height * s.depth)) return;
      for (int64_t tap = 0; tap < taps; ++tap, to += s.group_in * height)
        pack_panel(height, s.group_in, w + (g * s.group_out + row) * s.depth + tap, s.depth, taps, to);
    }
  }
}

int64_t conv_units(const ConvParams& p) noexcept {
  if (p.empty()) return 0;
  const ConvShape s = conv_shape(p);
  if (s.depthwise) return p.batch * p.out_c;
  return p.batch * p.groups * s.col_blocks * s.row_blocks;
}

int64_t conv_scratch_bytes(const ConvParams& p) noexcept {
  if (p.empty()) return 0;
  const ConvShape s = conv_shape(p);
  if (s.depthwise) return 0;
  const int64_t panels = ceil_div(s.col_panels, s.col_blocks);
  return std::min(s.depth, kDepthBlock) * panels * kPanelCols * static_cast<int64_t>(sizeof(float)) + kLineBytes;
}

void conv_range(const ConvParams& p, const float* x, const void* packed_w, const float* bias, float* y,
                int64_t unit_begin, int64_t unit_end, void* scratch, const TileCallback* on_tile) noexcept {
  if (p.empty() || unit_begin >= unit_end) return;
  const ConvParams planes = folded(p);
  const float* const w = static_cast<const float*>(packed_w);
  float* const place = aligned(scratch);
  FRAZIL_DISPATCH(conv_run(planes, x, w, bias, y, unit_begin, unit_end, place, on_tile));
}

void conv(const ConvParams& p, const float* x, const void* packed_w, const float* bias, float* y, void* scratch,
          const TileCallback* on_tile) noexcept {
  conv_range(p, x, packed_w, bias, y, 0, conv_units(p), scratch, on_tile);
}

int64_t conv_transpose_units(const ConvParams& p) noexcept {
  return p.empty() ? 0 : p.batch * p.groups * TransposeBlocks(p).blocks;
}

int64_t conv_transpose_scratch_bytes(const ConvParams& p) noexcept {
  if (p.empty()) return 0;
  const TransposeBlocks b(p);
  const int64_t rows = b.channels * p.kernel_h * p.kernel_w, cols = b.lines * p.in_w;
  return rows * cols * static_cast<int64_t>(sizeof(float)) +
         static_cast<int64_t>(float_gemm_scratch(Elem::f32, rows, cols, p.in_c / p.groups)) + kLineBytes;
}

void conv_transpose_range(const ConvParams& p, const float* x, const float* w, const float* bias, float* y,
                          int64_t unit_begin, int64_t unit_end, void* scratch) noexcept {
  if (p.empty()) return;
  const TransposeBlocks b(p);
  const int64_t group_in = p.in_c / p.groups, group_out = p.out_c / p.groups, taps = p.kernel_h * p.kernel_w;
  const int64_t area = p.in_h * p.in_w, out_area = p.out_h * p.out_w;
  float* const products = aligned(scratch);
  void* const rest = products + b.channels * taps * b.lines * p.in_w;
  for (int64_t unit = unit_begin; unit < unit_end; ++unit) {
    const int64_t block = unit % b.blocks, group = unit / b.blocks % p.groups, item = unit / b.blocks / p.groups;
    const int64_t first = block * group_out / b.blocks, past = (block + 1) * group_out / b.blocks;
    float* const planes = y + (item * p.out_c + group * group_out + first) * out_area;
    for (int64_t c = first; c < past; ++c)
      std::fill_n(planes + (c - first) * out_area, out_area, bias != nullptr ? bias[group * group_out + c] : 0.f);
    for (int64_t line = 0; line < p.in_h; line += b.lines) {
      if (stop_requested()) return;
      const int64_t lines = std::min(b.lines, p.in_h - line), cols = lines * p.in_w;
      gemm({.m = (past - first) * taps,
            .n = cols,
            .k = group_in,
            .a = w + (group * group_in * group_out + first) * taps,
            .a_row = 1,
            .a_col = group_out * taps,
            .b = x + (item * p.in_c + group * group_in) * area + line * p.in_w,
            .b_row = area,
            .c = products,
            .c_row = cols},
           rest);
      for (int64_t c = first; c < past; ++c)
        add_lines(p, products + (c - first) * taps * cols, line, lines, planes + (c - first) * out_area);
    }
  }
}

}  // namespace frazil::kernel
