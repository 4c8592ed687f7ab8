#include "kernel/conv.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/extents.h"
#include "base/poll_throttle.h"
#include "kernel/aligned.h"
#include "kernel/conv_isa.h"
#include "kernel/isa.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

bool empty(const ConvParams& p) {
  return p.batch <= 0 || p.out_c <= 0 || p.out_h <= 0 || p.out_w <= 0 || p.groups <= 0;
}

/// A 1 x 1 kernel without stride or padding treats the image as one row.
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
#if defined(__x86_64__)
  if (current_isa() != Isa::base) return isa_avx2::gemm_pack_rows(rows, k, a, a_row, a_col, to);
#endif
  isa_base::gemm_pack_rows(rows, k, a, a_row, a_col, to);
}

/// y += the contribution of one input row through one kernel row.
void transpose_row(const ConvParams& p, const float* x, const float* w, float* y) {
  for (int64_t s = 0; s < p.kernel_w; ++s) {
    const int64_t shift = s * p.dilation_w - p.pad_left;
    const int64_t lo = std::max<int64_t>(0, ceil_div(-shift, p.stride_w));
    const int64_t hi = std::min(p.in_w, ceil_div(p.out_w - shift, p.stride_w));
    const float weight = w[s];
    if (p.stride_w == 1) {
      for (int64_t i = lo; i < hi; ++i) y[i + shift] += x[i] * weight;
    } else {
      for (int64_t i = lo; i < hi; ++i) y[i * p.stride_w + shift] += x[i] * weight;
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
  if (empty(p)) return 0;
  const ConvShape s = conv_shape(p);
  if (s.depthwise) return p.batch * p.out_c;
  return p.batch * p.groups * s.col_blocks * s.row_blocks;
}

int64_t conv_scratch_bytes(const ConvParams& p) noexcept {
  if (empty(p)) return 0;
  const ConvShape s = conv_shape(p);
  if (s.depthwise) return 0;
  const int64_t panels = ceil_div(s.col_panels, s.col_blocks);
  return std::min(s.depth, kDepthBlock) * panels * kPanelCols * static_cast<int64_t>(sizeof(float)) + kLineBytes;
}

void conv_range(const ConvParams& p, const float* x, const void* packed_w, const float* bias, float* y,
                int64_t unit_begin, int64_t unit_end, void* scratch, const TileCallback* on_tile) noexcept {
  if (empty(p) || unit_begin >= unit_end) return;
  const ConvParams planes = folded(p);
  const float* const w = static_cast<const float*>(packed_w);
  float* const place = aligned(scratch);
#if defined(__x86_64__)
  switch (current_isa()) {
    case Isa::avx512: return isa_avx512::conv_run(planes, x, w, bias, y, unit_begin, unit_end, place, on_tile);
    case Isa::avx2: return isa_avx2::conv_run(planes, x, w, bias, y, unit_begin, unit_end, place, on_tile);
    case Isa::base: break;
  }
#endif
  isa_base::conv_run(planes, x, w, bias, y, unit_begin, unit_end, place, on_tile);
}

void conv(const ConvParams& p, const float* x, const void* packed_w, const float* bias, float* y, void* scratch,
          const TileCallback* on_tile) noexcept {
  conv_range(p, x, packed_w, bias, y, 0, conv_units(p), scratch, on_tile);
}

void conv_transpose_range(const ConvParams& p, const float* x, const float* w, const float* bias, float* y,
                          int64_t plane_begin, int64_t plane_end) noexcept {
  if (empty(p)) return;
  PollThrottle throttle;
  const int64_t group_in = p.in_c / p.groups, group_out = p.out_c / p.groups, taps = p.kernel_h * p.kernel_w;
  for (int64_t plane = plane_begin; plane < plane_end; ++plane) {
    const int64_t n = plane / p.out_c, oc = plane % p.out_c, group = oc / group_out;
    float* const out = y + plane * p.out_h * p.out_w;
    std::fill_n(out, p.out_h * p.out_w, bias != nullptr ? bias[oc] : 0.f);
    for (int64_t c = 0; c < group_in; ++c) {
      const int64_t ic = group * group_in + c;
      const float* const in = x + (n * p.in_c + ic) * p.in_h * p.in_w;
      const float* const kernel = w + (ic * group_out + oc % group_out) * taps;
      for (int64_t iy = 0; iy < p.in_h; ++iy) {
        if (throttle.stop(p.in_w * taps)) return;
        for (int64_t r = 0; r < p.kernel_h; ++r) {
          const int64_t oy = iy * p.stride_h - p.pad_top + r * p.dilation_h;
          if (oy < 0 || oy >= p.out_h) continue;
          transpose_row(p, in + iy * p.in_w, kernel + r * p.kernel_w, out + oy * p.out_w);
        }
      }
    }
  }
}

}  // namespace frazil::kernel
