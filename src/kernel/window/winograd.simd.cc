// f32 3 x 3 convolutions of stride 1 by Winograd's F(4x4, 3x3), with channels as the last axis. The matrices are those
// of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (CVPR 2016).
//
// Tiles of 6 x 6 inputs are transformed to 36 points. Each point is a product over the channels, and the products are
// transformed back to 4 x 4 outputs. Weights are transformed here, a panel of columns and some channels at a time. They
// are read in packed form, which takes a quarter of the transformed form.

#include "base/thread/poll_throttle.h"
#include "kernel/contract/results.h"
#include "kernel/window/conv_nhwc.simd.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

constexpr int kIn = 6, kOut = 4;
static_assert(kIn * kIn == kWinogradPoints && kOut == kWinogradTile);

/// Replaces a column d[0], d[step], ... by B^T d.
template <int step>
FRAZIL_INLINE void input_transform(F32v* d) {
  const F32v d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step], d5 = d[5 * step];
  const F32v a = mul_add(set1(-4), d2, d4), b = mul_add(set1(-4), d1, d3);
  const F32v c = d4 - d2, e = (d3 - d1) * 2.f;
  d[0] = mul_add(set1(4), d0, mul_add(set1(-5), d2, d4));
  d[step] = a + b;
  d[2 * step] = a - b;
  d[3 * step] = c + e;
  d[4 * step] = c - e;
  d[5 * step] = mul_add(set1(4), d1, mul_add(set1(-5), d3, d5));
}

/// Computes G g for three weights of a column; the results are t[0], t[step], ...
template <int step>
FRAZIL_INLINE void weight_transform(F32v g0, F32v g1, F32v g2, F32v* t) {
  const F32v sum = (g0 + g2) * (-1.f / 6), odd = g1 * (1.f / 6);
  const F32v wide = mul_add(set1(1.f / 24), g0, g2 * (1.f / 6)), half = g1 * (1.f / 12);
  t[0] = g0 * 0.25f;
  t[step] = sum - odd;
  t[2 * step] = sum + odd;
  t[3 * step] = wide + half;
  t[4 * step] = wide - half;
  t[5 * step] = g2;
}

/// Computes A^T m for a column m[0], m[from], ...; the results are y[0], y[to], ...
template <int from, int to>
FRAZIL_INLINE void output_transform(const F32v* m, F32v* y) {
  const F32v p = m[from] + m[2 * from], q = m[from] - m[2 * from];
  const F32v s = m[3 * from] + m[4 * from], t = m[3 * from] - m[4 * from];
  y[0] = m[0] + p + s;
  y[to] = mul_add(set1(2), t, q);
  y[2 * to] = mul_add(set1(4), s, p);
  y[3 * to] = mul_add(set1(8), t, q) + m[5 * from];
}

/// The parts of a unit's scratch.
struct WinogradScratch {
  WinogradSteps step;
  int64_t row;  ///< floats of a row of transformed channels
  float *zeros, *in, *weights, *out;
  explicit WinogradScratch(const NhwcRun& r) : step(winograd_steps(r.p, r.shape)) {
    row = ceil_div(r.p.in_c, kChannelPad) * kChannelPad;
    zeros = r.scratch;
    in = zeros + row;
    weights = in + kWinogradPoints * step.in;
    out = weights + kWinogradPoints * step.weights;
  }
};

/// Transforms the inputs of one tile, whose 36 pixels are `at`.
void transform_tile(const float* const (&at)[kWinogradPoints], int64_t channels, float* to, int64_t point_step) {
  for (int64_t c = 0; c < channels; c += kW) {
    F32v d[kWinogradPoints];
    if (channels - c >= kW) {
      for (int i = 0; i < kWinogradPoints; ++i) d[i] = loadv(at[i] + c);
    } else {
      const Mask mask = first_lanes(channels - c);
      for (int i = 0; i < kWinogradPoints; ++i) d[i] = load_mask(at[i] + c, mask);
    }
#pragma GCC unroll 6
    for (int i = 0; i < kIn; ++i) input_transform<kIn>(d + i);
#pragma GCC unroll 6
    for (int i = 0; i < kIn; ++i) {
      input_transform<1>(d + i * kIn);
#pragma GCC unroll 6
      for (int j = 0; j < kIn; ++j) storev(to + (i * kIn + j) * point_step + c, d[i * kIn + j]);
    }
  }
}

/// Transforms the inputs of tile lines [line0, line1) of an image.
void transform_inputs(const NhwcRun& r, const WinogradScratch& s, int64_t item, int64_t line0, int64_t line1) {
  const ConvParams& p = r.p;
  const float* const image = r.x + item * p.in_h * p.in_w * p.in_c;
  float* to = s.in;
  for (int64_t line = line0; line < line1 && !stop_requested(); ++line) {
    for (int64_t tile = 0; tile < r.shape.tiles_w; ++tile, to += s.row) {
      const float* at[kWinogradPoints];
      for (int i = 0; i < kWinogradPoints; ++i) {
        const int64_t y = line * kOut - p.pad_top + i / kIn, x = tile * kOut - p.pad_left + i % kIn;
        const bool inside = y >= 0 && y < p.in_h && x >= 0 && x < p.in_w;
        at[i] = inside ? image + (y * p.in_w + x) * p.in_c : s.zeros;
      }
      transform_tile(at, p.in_c, to, s.step.in);
    }
  }
}

/// Transforms channels [c0, c1) of a panel of packed weights to [point][channel][column].
void transform_weights(const float* panel, int64_t channels, int64_t c0, int64_t c1, float* to, int64_t step) {
  for (int64_t c = c0; c < c1; ++c, to += kPanelCols) {
    for (int v = 0; v < kPanelCols; v += kW) {
      F32v columns[3 * kIn], points[kIn];
      const float* const from = panel + c * kPanelCols + v;
      const auto tap = [&](int i) { return loadv(from + i * channels * kPanelCols); };
#pragma GCC unroll 3
      for (int j = 0; j < 3; ++j) weight_transform<3>(tap(j), tap(3 + j), tap(6 + j), columns + j);
#pragma GCC unroll 6
      for (int i = 0; i < kIn; ++i) {
        weight_transform<1>(columns[3 * i], columns[3 * i + 1], columns[3 * i + 2], points);
#pragma GCC unroll 6
        for (int j = 0; j < kIn; ++j) storev(to + (i * kIn + j) * step + v, points[j]);
      }
    }
  }
}

/// Computes the products of all points for channels [c0, c1) and one panel of columns.
void multiply_points(const WinogradScratch& s, int64_t tiles, int64_t c0, int64_t c1) {
  F32Block block{.k = c1 - c0, .a_row = s.row};
  block.out.c_row = kPanelCols;
  block.out.accumulate = c0 > 0;
  const int64_t parts = ceil_div(tiles, kPanelRows);
  for (int64_t point = 0; point < kWinogradPoints; ++point) {
    block.b = s.weights + point * s.step.weights;
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t tile = part * tiles / parts, rows = (part + 1) * tiles / parts - tile;
      block.a = s.in + point * s.step.in + tile * s.row + c0;
      block.out.c = s.out + point * s.step.out + tile * kPanelCols;
      f32_block(block, rows, kPanelCols);
    }
  }
}

/// The operands that finish a vector of columns. `addend` points to that of the tile's first output, in the layout of
/// y, or is null.
struct Column {
  F32v bias, scale, shift;
  const float* addend = nullptr;
  Column(const Results& all, int64_t at, Mask mask)
      : bias(all.bias != nullptr ? load_mask(all.bias + at, mask) : F32v{}),
        scale(all.scale != nullptr ? load_mask(all.scale + at, mask) : set1(1)),
        shift(all.shift != nullptr ? load_mask(all.shift + at, mask) : F32v{}) {}
};

/// Writes one vector of columns of a tile, of whose 4 x 4 outputs `height` x `width` exist.
FRAZIL_INLINE void put_tile(const float* from, int64_t point_step, const Column& column, float negative_slope,
                            float* to, int64_t line_step, int64_t pixel_step, int64_t height, int64_t width,
                            int64_t lanes) {
  F32v m[kWinogradPoints], half[kOut * kIn], y[kOut * kOut];
#pragma GCC unroll 36
  for (int i = 0; i < kWinogradPoints; ++i) m[i] = loadv(from + i * point_step);
#pragma GCC unroll 6
  for (int j = 0; j < kIn; ++j) output_transform<kIn, kIn>(m + j, half + j);
#pragma GCC unroll 4
  for (int i = 0; i < kOut; ++i) output_transform<1, 1>(half + i * kIn, y + i * kOut);
  const Mask mask = first_lanes(lanes);
  const auto put = [&](float* at, F32v value) __attribute__((always_inline)) {
    lanes == kW ? storev(at, value) : store_mask(at, value, mask);
  };
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      const int64_t place = i * line_step + j * pixel_step;
      F32v value = (y[i * kOut + j] + column.bias) * column.scale + column.shift;
      if (column.addend != nullptr) value += load_mask(column.addend + place, mask);
      put(to + place, leaky_relu(value, negative_slope));
    }
  }
}

/// Writes columns [col, col + 32) of tile lines [line0, line1).
void transform_outputs(const NhwcRun& r, const WinogradScratch& s, int64_t item, int64_t line0, int64_t line1,
                       int64_t col) {
  const ConvParams& p = r.p;
  const int64_t line_step = p.out_w * p.out_c;
  const int64_t cols = min64(kPanelCols, p.out_c - col);
  const float* from = s.out;
  for (int64_t line = line0; line < line1 && !stop_requested(); ++line) {
    const int64_t height = min64(kOut, p.out_h - line * kOut);
    for (int64_t tile = 0; tile < r.shape.tiles_w; ++tile, from += kPanelCols) {
      float* const to = r.out.c + ((item * p.out_h + line * kOut) * p.out_w + tile * kOut) * p.out_c + col;
      const int64_t width = min64(kOut, p.out_w - tile * kOut);
      for (int64_t v = 0; v < cols; v += kW) {
        const int64_t lanes = min64(kW, cols - v);
        Column column(r.out, col + v, first_lanes(lanes));
        if (r.out.addend != nullptr) column.addend = r.out.addend + (to - r.out.c) + v;
        put_tile(from + v, s.step.out, column, r.out.negative_slope, to + v, line_step, p.out_c, height, width, lanes);
      }
    }
  }
}

}  // namespace

void nhwc_winograd(const NhwcRun& r, int64_t begin, int64_t end) noexcept {
  const NhwcShape& shape = r.shape;
  const ConvParams& p = r.p;
  const WinogradScratch s(r);
  for (int64_t i = 0; i < s.row; ++i) s.zeros[i] = 0;
  int64_t transformed = -1;
  for (int64_t u = begin; u < end && !stop_requested(); ++u) {
    const int64_t lines = u / shape.col_blocks, item = lines / shape.row_blocks, block = lines % shape.row_blocks;
    const int64_t line0 = block * shape.tiles_h / shape.row_blocks,
                  line1 = (block + 1) * shape.tiles_h / shape.row_blocks;
    if (lines != transformed) transform_inputs(r, s, item, line0, line1);
    transformed = lines;
    const int64_t first = (item * p.out_h + line0 * kOut) * p.out_w;
    const int64_t last = (item * p.out_h + min64(p.out_h, line1 * kOut)) * p.out_w;
    const int64_t col0 = nhwc_col_begin(shape, p.out_c, u % shape.col_blocks);
    const int64_t col1 = nhwc_col_begin(shape, p.out_c, u % shape.col_blocks + 1);
    for (int64_t col = col0; col < col1; col += kPanelCols) {
      for (int64_t c = 0; c < p.in_c; c += kWinogradDepth) {
        if (stop_requested()) return;
        const int64_t past = min64(p.in_c, c + kWinogradDepth);
        transform_weights(r.w + col * 9 * p.in_c, p.in_c, c, past, s.weights, s.step.weights);
        multiply_points(s, (line1 - line0) * shape.tiles_w, c, past);
      }
      transform_outputs(r, s, item, line0, line1, col);
      if (r.on_tile != nullptr && !r.on_tile->whole_rows)
        (*r.on_tile)(first, last, col, min64(p.out_c, col + kPanelCols));
    }
    if (r.on_tile != nullptr && r.on_tile->whole_rows && col1 == p.out_c) (*r.on_tile)(first, last, 0, col1);
  }
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
