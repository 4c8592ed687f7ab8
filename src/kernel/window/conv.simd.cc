// f32 convolutions whose channels are planes.
//
// The general case is a GEMM whose B, [depth][pixels], is packed panel by panel directly from the image.

#include "kernel/window/conv.simd.h"

#include "base/thread/poll_throttle.h"
#include "kernel/simd/f32_lanes.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

/// Lanes [lo, hi) of a vector.
struct Range {
  int lo, hi;
#if defined(__AVX2__)
  Mask mask;
#endif
};

FRAZIL_INLINE Range range(int64_t lo, int64_t hi) {
  Range r;
  r.lo = static_cast<int>(max64(lo, 0));
  r.hi = static_cast<int>(max64(min64(hi, kW), r.lo));
#if defined(__AVX512F__)
  r.mask = static_cast<Mask>(first_lanes(r.hi) & ~first_lanes(r.lo));
#elif defined(__AVX2__)
  r.mask = first_lanes(r.hi) & ~first_lanes(r.lo);
#endif
  return r;
}

#if defined(__AVX2__)
/// Returns the address of line[at], which may lie before the line. It is computed as a number, since no pointer may be
/// formed there. Only lanes inside the line are read through it.
FRAZIL_INLINE const float* address_of(const float* line, int64_t at) {
  const auto bytes = static_cast<std::uintptr_t>(at) * sizeof *line;
  return reinterpret_cast<const float*>(reinterpret_cast<std::uintptr_t>(line) + bytes);
}
#endif

/// Loads lane i from line[first + i]; lanes outside the range become zero.
FRAZIL_INLINE F32v load_range(const float* line, int64_t first, const Range& r) {
#if defined(__AVX2__)
  return load_mask(address_of(line, first), r.mask);
#else
  if (r.lo == 0 && r.hi == kW) return loadv(line + first);
  F32v v{};
  for (int i = r.lo; i < r.hi; ++i) v[i] = line[first + i];
  return v;
#endif
}

/// Loads lane i from line[first + i * step]; lanes outside the range become zero.
FRAZIL_INLINE F32v load_step(const float* line, int64_t first, int64_t step, const Range& r) {
#if defined(__AVX512F__)
  const __m512i index = _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                           _mm512_set1_epi32(static_cast<int>(step)));
  return (F32v)_mm512_mask_i32gather_ps((__m512)F32v{}, r.mask, index, address_of(line, first), 4);
#else
  F32v v{};
  for (int i = r.lo; i < r.hi; ++i) v[i] = line[first + i * step];
  return v;
#endif
}

constexpr int kVecs = static_cast<int>(kPanelCols) / kW;
constexpr int kMaxPieces = 4;

/// The offsets into a channel that the 32 pixels of a panel read for one kernel position; -1 is padding.
struct Taps {
  std::int32_t at[kPanelCols];
};

/// The runs of adjacent taps of each vector of a panel, if there are few.
struct Pieces {
  int most = 0;
  int64_t offset[kVecs][kMaxPieces];
  Range lanes[kVecs][kMaxPieces];
};

void find_pieces(const Taps& taps, Pieces& pieces) {
  pieces.most = 0;
  for (int v = 0; v < kVecs; ++v) {
    int count = 0;
    for (int i = 0; i < kW;) {
      const int64_t first = taps.at[v * kW + i];
      int end = i + 1;
      if (first >= 0) {
        while (end < kW && taps.at[v * kW + end] == first + (end - i)) ++end;
        if (count < kMaxPieces) {
          pieces.offset[v][count] = first - i;
          pieces.lanes[v][count] = range(i, end);
        }
        ++count;
      }
      i = end;
    }
    if (count > pieces.most) pieces.most = count;
    for (; count < kMaxPieces; ++count) {
      pieces.offset[v][count] = 0;
      pieces.lanes[v][count] = range(0, 0);
    }
  }
}

template <int N>
void copy_pieces(const Pieces& pieces, const float* x, int64_t plane, int64_t channels, float* to) {
  for (int64_t c = 0; c < channels; ++c, x += plane, to += kPanelCols) {
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) {
      F32v value = load_range(x, pieces.offset[v][0], pieces.lanes[v][0]);
#pragma GCC unroll 4
      for (int i = 1; i < N; ++i)
        value = from_bits<F32v>(bits(value) | bits(load_range(x, pieces.offset[v][i], pieces.lanes[v][i])));
      storev(to + v * kW, value);
    }
  }
}

void copy_whole(const float* x, int64_t plane, int64_t channels, float* to) {
  for (int64_t c = 0; c < channels; ++c, x += plane, to += kPanelCols) {
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) storev(to + v * kW, loadv(x + v * kW));
  }
}

void gather_taps(const Taps& taps, const float* x, int64_t plane, int64_t channels, float* to) {
#if defined(__AVX512F__)
  I32v index[kVecs];
  Mask mask[kVecs];
  for (int v = 0; v < kVecs; ++v) {
    index[v] = load<I32v>(taps.at + v * kW);
    mask[v] = static_cast<Mask>(~_mm512_movepi32_mask((__m512i)index[v]));
  }
  for (int64_t c = 0; c < channels; ++c, x += plane, to += kPanelCols)
    for (int v = 0; v < kVecs; ++v)
      storev(to + v * kW, (F32v)_mm512_mask_i32gather_ps((__m512)F32v{}, mask[v], (__m512i)index[v], x, 4));
#elif defined(__AVX2__)
  for (int64_t c = 0; c < channels; ++c, x += plane, to += kPanelCols) {
    for (int v = 0; v < kVecs; ++v) {
      const I32v index = load<I32v>(taps.at + v * kW);
      storev(to + v * kW, (F32v)_mm256_mask_i32gather_ps((__m256)F32v{}, x, (__m256i)index, (__m256)(~index), 4));
    }
  }
#else
  for (int64_t c = 0; c < channels; ++c, x += plane, to += kPanelCols)
    for (int i = 0; i < kPanelCols; ++i) to[i] = taps.at[i] >= 0 ? x[taps.at[i]] : 0.f;
#endif
}

void pack_taps(const Taps& taps, bool unit_stride, const float* x, int64_t plane, int64_t channels, float* to) {
  if (!unit_stride) return gather_taps(taps, x, plane, channels, to);
  std::int32_t off = taps.at[0] >> 31;
  for (int i = 1; i < kPanelCols; ++i) off |= taps.at[i] - taps.at[0] - i;
  if (off == 0) return copy_whole(x + taps.at[0], plane, channels, to);
  Pieces pieces;
  find_pieces(taps, pieces);
  switch (pieces.most) {
    case 0:
    case 1: return copy_pieces<1>(pieces, x, plane, channels, to);
    case 2: return copy_pieces<2>(pieces, x, plane, channels, to);
    case 3: return copy_pieces<3>(pieces, x, plane, channels, to);
    case 4: return copy_pieces<4>(pieces, x, plane, channels, to);
    default: return gather_taps(taps, x, plane, channels, to);
  }
}

/// The image positions of a panel's pixels: row, column and offset of the first tap.
struct Pixels {
  std::int32_t top[kPanelCols], left[kPanelCols], base[kPanelCols];
};

Pixels pixels_at(const ConvParams& p, const ConvShape& s, int64_t col) {
  Pixels px;
  int64_t row = col / p.out_w, in_row = col % p.out_w;
  for (int64_t i = 0; i < kPanelCols; ++i) {
    const int64_t top = row * p.stride_h - p.pad_top, left = in_row * p.stride_w - p.pad_left;
    const bool used = col + i < s.cols;
    px.top[i] = used ? static_cast<std::int32_t>(top) : INT32_MIN / 2;
    px.left[i] = used ? static_cast<std::int32_t>(left) : INT32_MIN / 2;
    px.base[i] = used ? static_cast<std::int32_t>(top * p.in_w + left) : 0;
    if (++in_row == p.out_w) {
      in_row = 0;
      ++row;
    }
  }
  return px;
}

/// Packs pixels [col, col + 32) x depth [k0, k1) of one image and group.
void pack_panel(const ConvParams& p, const ConvShape& s, const float* x, int64_t col, int64_t k0, int64_t k1,
                float* to) {
  const Pixels px = pixels_at(p, s, col);
  const int64_t plane = p.in_h * p.in_w;
  const auto height = static_cast<std::uint32_t>(p.in_h), width = static_cast<std::uint32_t>(p.in_w);
  for (int64_t k = k0; k < k1;) {
    const int64_t tap = k / s.group_in, c = k % s.group_in, count = min64(s.group_in - c, k1 - k);
    const auto dy = static_cast<std::int32_t>(tap / p.kernel_w * p.dilation_h);
    const auto dx = static_cast<std::int32_t>(tap % p.kernel_w * p.dilation_w);
    const auto shift = static_cast<std::int32_t>(dy * p.in_w + dx);
    Taps taps;
    for (int64_t i = 0; i < kPanelCols; ++i) {
      const bool inside =
          (static_cast<std::uint32_t>(px.top[i] + dy) < height) & (static_cast<std::uint32_t>(px.left[i] + dx) < width);
      taps.at[i] = inside ? px.base[i] + shift : -1;
    }
    pack_taps(taps, p.stride_w == 1, x + c * plane, plane, count, to);
    k += count;
    to += count * kPanelCols;
  }
}

/// Does the same as pack_panel for images whose offsets exceed 32 bits.
void pack_panel_huge(const ConvParams& p, const ConvShape& s, const float* x, int64_t col, int64_t k0, int64_t k1,
                     float* to) {
  for (int64_t k = k0; k < k1; ++k) {
    const int64_t tap = k / s.group_in, c = k % s.group_in;
    for (int64_t i = 0; i < kPanelCols; ++i) {
      const int64_t iy = (col + i) / p.out_w * p.stride_h - p.pad_top + tap / p.kernel_w * p.dilation_h;
      const int64_t ix = (col + i) % p.out_w * p.stride_w - p.pad_left + tap % p.kernel_w * p.dilation_w;
      const bool inside = col + i < s.cols && iy >= 0 && iy < p.in_h && ix >= 0 && ix < p.in_w;
      *to++ = inside ? x[(c * p.in_h + iy) * p.in_w + ix] : 0.f;
    }
  }
}

/// Computes panels [panel0, panel1) of the output channels, for one image, group and block of pixels.
template <class Done>
void run_block(const ConvParams& p, const ConvShape& s, const float* x, const float* w, const float* bias, float* y,
               int64_t col0, int64_t col1, int64_t panel0, int64_t panel1, float* scratch, Done done) {
  constexpr int64_t kNear = 12;
  const int64_t panels = row_panels(s.group_out), depths = depth_blocks(s.depth);
  for (int64_t d = 0; d < depths; ++d) {
    const int64_t k0 = d * s.depth / depths, k1 = (d + 1) * s.depth / depths;
    for (int64_t col = col0; col < col1; col += kPanelCols) {
      if (stop_requested()) return;
      float* const to = scratch + (col - col0) * (k1 - k0);
      s.huge ? pack_panel_huge(p, s, x, col, k0, k1, to) : pack_panel(p, s, x, col, k0, k1, to);
    }
    for (int64_t near = panel0; near < panel1; near += kNear) {
      for (int64_t col = col0; col < col1; col += kPanelCols) {
        if (stop_requested()) return;
        for (int64_t panel = near; panel < min64(panel1, near + kNear); ++panel) {
          const int64_t row = panel * s.group_out / panels, height = (panel + 1) * s.group_out / panels - row;
          F32Block block{.k = k1 - k0, .a = w + row * s.depth + k0 * height, .a_row = 1, .a_col = height};
          block.b = scratch + (col - col0) * (k1 - k0);
          block.out.c = y + row * s.cols + col;
          block.out.c_row = s.cols;
          block.out.row_bias = d == 0 && bias != nullptr ? bias + row : nullptr;
          block.out.accumulate = d > 0;
          f32_block(block, height, min64(kPanelCols, col1 - col));
        }
      }
      if (d == depths - 1)
        done(near * s.group_out / panels, min64(panel1, near + kNear) * s.group_out / panels, col0, col1);
    }
  }
}

void no_depth(const float* bias, int64_t rows, int64_t cols, float* y) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < cols; ++j) y[r * cols + j] = bias != nullptr ? bias[r] : 0.f;
}

constexpr int64_t kMaxTaps = 32;

/// Computes kW output columns of one plane, starting at `left`; kernel_w <= kMaxTaps.
void depthwise_columns(const ConvParams& p, const float* x, const float* w, float bias, float* y, int64_t left) {
  Range in[kMaxTaps];
  const int64_t used = min64(kW, p.out_w - left);
  for (int64_t s = 0; s < p.kernel_w; ++s) {
    const int64_t first = left * p.stride_w - p.pad_left + s * p.dilation_w;  // lane i reads first + i * stride_w
    const int64_t lo = first >= 0 ? 0 : ceil_div(-first, p.stride_w);
    const int64_t hi = first >= p.in_w ? 0 : ceil_div(p.in_w - first, p.stride_w);
    in[s] = range(lo, min64(hi, used));
  }
#if defined(__AVX2__)
  const Mask out = first_lanes(used);
#endif
  for (int64_t row = 0; row < p.out_h; ++row) {
    F32v acc = set1(bias);
    for (int64_t r = 0; r < p.kernel_h; ++r) {
      const int64_t iy = row * p.stride_h - p.pad_top + r * p.dilation_h;
      if (iy < 0 || iy >= p.in_h) continue;
      const float* line = x + iy * p.in_w;
      const int64_t first = left * p.stride_w - p.pad_left;  // lies before the line if some lanes do
      const float* wr = w + r * p.kernel_w;
      if (p.stride_w == 1) {
        for (int64_t s = 0; s < p.kernel_w; ++s)
          acc = mul_add(load_range(line, first + s * p.dilation_w, in[s]), set1(load_1(wr + s)), acc);
      } else {
        for (int64_t s = 0; s < p.kernel_w; ++s)
          acc = mul_add(load_step(line, first + s * p.dilation_w, p.stride_w, in[s]), set1(load_1(wr + s)), acc);
      }
    }
    float* to = y + row * p.out_w + left;
#if defined(__AVX2__)
    store_mask(to, acc, out);
#else
    store_mask(to, acc, used);
#endif
  }
}

void depthwise_wide_kernel(const ConvParams& p, const float* x, const float* w, float bias, float* y) {
  PollThrottle throttle;
  for (int64_t row = 0; row < p.out_h; ++row) {
    if (throttle.stop(p.out_w * p.kernel_h * p.kernel_w)) return;
    for (int64_t col = 0; col < p.out_w; ++col) {
      float acc = bias;
      for (int64_t r = 0; r < p.kernel_h; ++r) {
        const int64_t iy = row * p.stride_h - p.pad_top + r * p.dilation_h;
        if (iy < 0 || iy >= p.in_h) continue;
        for (int64_t s = 0; s < p.kernel_w; ++s) {
          const int64_t ix = col * p.stride_w - p.pad_left + s * p.dilation_w;
          if (ix >= 0 && ix < p.in_w) acc += x[iy * p.in_w + ix] * w[r * p.kernel_w + s];
        }
      }
      y[row * p.out_w + col] = acc;
    }
  }
}

void depthwise(const ConvParams& p, const float* x, const float* w, float bias, float* y) {
  if (p.kernel_w > kMaxTaps) return depthwise_wide_kernel(p, x, w, bias, y);
  PollThrottle throttle;
  for (int64_t left = 0; left < p.out_w; left += kW) {
    if (throttle.stop(p.out_h * p.kernel_h * p.kernel_w)) return;
    depthwise_columns(p, x, w, bias, y, left);
  }
}

}  // namespace

void conv_run(const ConvParams& p, const float* x, const float* w, const float* bias, float* y, int64_t begin,
              int64_t end, float* scratch, const TileCallback* on_tile) noexcept {
  const ConvShape s = conv_shape(p);
  const int64_t plane = p.in_h * p.in_w;
  if (s.depthwise) {
    const int64_t taps = p.kernel_h * p.kernel_w;
    PollThrottle throttle;
    for (int64_t u = begin; u < end; ++u) {
      if (throttle.stop(s.cols * taps)) return;
      const int64_t c = u % p.out_c;
      depthwise(p, x + u * plane, w + c * taps, bias != nullptr ? bias[c] : 0.f, y + u * s.cols);
      if (on_tile != nullptr) (*on_tile)(u, u + 1, 0, s.cols);
    }
    return;
  }
  const int64_t panels = row_panels(s.group_out);
  for (int64_t u = begin; u < end;) {
    const int64_t rows0 = u % s.row_blocks, block = u / s.row_blocks;
    const int64_t rows1 = min64(s.row_blocks, rows0 + (end - u));
    u += rows1 - rows0;
    const int64_t image = block / s.col_blocks, group = image % p.groups, b = block % s.col_blocks;
    const int64_t col0 = b * s.col_panels / s.col_blocks * kPanelCols;
    const int64_t col1 = min64(s.cols, (b + 1) * s.col_panels / s.col_blocks * kPanelCols);
    const auto done = [&](int64_t row0, int64_t row1, int64_t from, int64_t past) {
      if (on_tile == nullptr || (on_tile->whole_rows && past < s.cols)) return;
      const int64_t first = image * s.group_out;
      (*on_tile)(first + row0, first + row1, on_tile->whole_rows ? 0 : from, past);
    };
    float* const to = y + image * s.group_out * s.cols;
    const float* const group_bias = bias != nullptr ? bias + group * s.group_out : nullptr;
    if (s.depth == 0) {
      if (b != 0 || rows0 != 0) continue;
      no_depth(group_bias, s.group_out, s.cols, to);
      done(0, s.group_out, 0, s.cols);
      continue;
    }
    run_block(p, s, x + image * s.group_in * plane, w + group * s.group_out * s.depth, group_bias, to, col0, col1,
              rows0 * panels / s.row_blocks, rows1 * panels / s.row_blocks, scratch, done);
  }
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
