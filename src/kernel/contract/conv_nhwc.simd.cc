// f32 convolution with channels as the last axis.
//
// A row of the product is an output position. It is read through one pointer for each tap (a position of the kernel, or
// a row of the kernel over padded lines), so that no matrix of patches is written.

#include "kernel/contract/conv_nhwc.simd.h"

#include "base/poll_throttle.h"
#include "kernel/contract/gemm_tile.h"
#include "kernel/contract/nhwc_rows.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

constexpr int kWide = wide_vectors(kTileRows);
static_assert(kWide == 2);
constexpr int64_t kLineFloats = 16, kPanelLines = kPanelCols / kLineFloats;

/// Rows of a tile of the product, and the steps of its depth: `depth` floats from `first` on behind each pointer.
struct TapBlock : GemmBlock {
  const float* const* at;  ///< [tap][row]
  int64_t taps, first;
};

template <int R, int NV, bool Tail>
void tap_tile(const TapBlock& g, int64_t lanes) {
  const Mask mask = first_lanes(Tail ? lanes - (NV - 1) * kW : 0);
  F32v acc[R][NV];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) acc[r][v] = F32v{};
  const float* b = g.b;
  const float* const* at = g.at;
  for (int64_t tap = 0; tap < g.taps; ++tap, at += R) {
    const float* a[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) a[r] = at[r] + g.first;
    for (int64_t i = 0; i < g.k; ++i, b += kPanelCols) {
      F32v bv[NV];
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) bv[v] = loadv(b + v * kW);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const F32v x = set1(a[r][i]);
#pragma GCC unroll 16
        for (int v = 0; v < NV; ++v) acc[r][v] = mul_add(x, bv[v], acc[r][v]);
      }
    }
  }
  finish<R, NV, Tail>(acc, g, mask);
}

using TapTileFn = void (*)(const TapBlock&, int64_t);

/// Tiles by their number of rows.
template <int NV, bool Tail>
struct TapTiles {
  TapTileFn at[kTileRows + 1] = {};
  constexpr TapTiles() { fill<1>(); }
  template <int R>
  constexpr void fill() {
    at[R] = tap_tile<R, NV, Tail>;
    if constexpr (R < kTileRows) fill<R + 1>();
  }
};
template <int NV, bool Tail>
constexpr TapTiles<NV, Tail> kTapTiles;

/// At most kWide * kW columns.
TapTileFn tile_for(int64_t rows, int64_t cols) {
  if (cols == kWide * kW) return kTapTiles<kWide, false>.at[rows];
  if (cols > kW) return kTapTiles<2, true>.at[rows];
  return cols == kW ? kTapTiles<1, false>.at[rows] : kTapTiles<1, true>.at[rows];
}

/// Where a run's scratch is.
struct TapScratch {
  const float** at;  ///< of a block: for each tile of rows [tap][row]
  float* lines;      ///< padded lines, or zeros for taps outside of the image
  float* copied;     ///< of NhwcShape::copies: rows kCopiedStep apart
};

/// Rows [begin, end) of a block, cut into tiles of nearly equal height.
struct Tiles {
  int64_t begin, end, count;
  Tiles(int64_t first, int64_t last, int64_t most) : begin(first), end(last), count(ceil_div(last - first, most)) {}
  int64_t row(int64_t tile) const { return begin + tile * (end - begin) / count; }
};

/// n numbers of each of three rows, `row` apart, in turns.
void interleave3(const float* from, int64_t row, int64_t n, float* to) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4, to += 12) {
    const F32x4 a = load_4(from + i), b = load_4(from + row + i), c = load_4(from + 2 * row + i);
    const F32x4 ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), bc = __builtin_shufflevector(b, c, 1, 5, 2, 6);
    const F32x4 ca = __builtin_shufflevector(c, a, 2, 7, 3, 0);
    store_4(to, __builtin_shufflevector(ab, c, 0, 1, 4, 2));
    store_4(to + 4, __builtin_shufflevector(bc, a, 0, 1, 6, 2));
    store_4(to + 8, __builtin_shufflevector(ca, b, 0, 1, 7, 2));
  }
  for (; i < n; ++i)
    for (int64_t c = 0; c < 3; ++c) *to++ = from[i + c * row];
}

/// Pixels [lo, hi) of a line of x that begins at `from`.
void copy_pixels(const NhwcRun& r, const float* from, int64_t lo, int64_t hi, float* to) {
  const int64_t channels = r.p.in_c, pixel = r.x_strides[2], channel = r.x_strides[3];
  if (channel == 0 || (channel == 1 && pixel == channels)) {
    for (int64_t i = 0; i < (hi - lo) * channels; ++i) to[i] = from[lo * channels + i];
    return;
  }
  if (channels == 3 && pixel == 1) return interleave3(from + lo, channel, hi - lo, to);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = lo; i < hi; ++i) to[(i - lo) * channels + c] = from[i * pixel + c * channel];
}

/// Copies input lines [first, last) of an image with the padding that windows need on both sides.
void pad_lines(const NhwcRun& r, int64_t item, int64_t first, int64_t last, float* to) {
  const ConvParams& p = r.p;
  const bool dense = r.x_strides[0] == 0 && r.x_strides[1] == 0;
  const int64_t image = dense ? p.in_h * p.in_w * p.in_c : r.x_strides[0];
  const int64_t line = dense ? p.in_w * p.in_c : r.x_strides[1];
  const int64_t width = nhwc_padded_width(p);
  const int64_t lo = min64(max64(p.pad_left, 0), width), hi = max64(lo, min64(width, p.in_w + p.pad_left));
  for (int64_t y = first; y < last; ++y, to += width * p.in_c) {
    const bool inside = y >= 0 && y < p.in_h;
    const int64_t begin = inside ? lo : width, end = inside ? hi : width;
    for (int64_t i = 0; i < begin * p.in_c; ++i) to[i] = 0;
    if (inside && lo < hi)
      copy_pixels(r, r.x + item * image + y * line, lo - p.pad_left, hi - p.pad_left, to + lo * p.in_c);
    for (int64_t i = end * p.in_c; i < width * p.in_c; ++i) to[i] = 0;
  }
}

/// Pointers of one position, `step` apart.
void point_at_lines(const NhwcRun& r, const Position& at, int64_t first_line, const float* lines, const float** to,
                    int64_t step) {
  const ConvParams& p = r.p;
  const int64_t width = nhwc_padded_width(p);
  for (int64_t tap = 0; tap < r.shape.taps; ++tap, to += step) {
    const int64_t line = at.y * p.stride_h - p.pad_top + tap * p.dilation_h - first_line;
    *to = lines + (line * width + at.x * p.stride_w) * p.in_c;
  }
}

void point_at_pixels(const NhwcRun& r, const Position& at, const float* zeros, const float** to, int64_t step) {
  const ConvParams& p = r.p;
  const int64_t top = at.y * p.stride_h - p.pad_top, left = at.x * p.stride_w - p.pad_left;
  const int64_t bottom = top + (p.kernel_h - 1) * p.dilation_h, right = left + (p.kernel_w - 1) * p.dilation_w;
  const float* const image = r.x + at.item * p.in_h * p.in_w * p.in_c;
  if (top >= 0 && left >= 0 && bottom < p.in_h && right < p.in_w) {
    const float* line = image + (top * p.in_w + left) * p.in_c;
    for (int64_t i = 0; i < p.kernel_h; ++i, line += p.dilation_h * p.in_w * p.in_c) {
      const float* pixel = line;
      for (int64_t j = 0; j < p.kernel_w; ++j, pixel += p.dilation_w * p.in_c, to += step) *to = pixel;
    }
    return;
  }
  for (int64_t i = 0, y = top; i < p.kernel_h; ++i, y += p.dilation_h) {
    const bool in_lines = y >= 0 && y < p.in_h;
    for (int64_t j = 0, x = left; j < p.kernel_w; ++j, x += p.dilation_w, to += step)
      *to = in_lines && x >= 0 && x < p.in_w ? image + (y * p.in_w + x) * p.in_c : zeros;
  }
}

/// Fills the table of pointers for rows of a plane.
void point(const NhwcRun& r, int64_t plane, const Tiles& tiles, const TapScratch& s) {
  Position at = position(r, plane, tiles.begin);
  const int64_t first_line = at.y * r.p.stride_h - r.p.pad_top;
  if (r.shape.lines) {
    const Position last = position(r, plane, tiles.end - 1);
    const int64_t past = last.y * r.p.stride_h - r.p.pad_top + (r.p.kernel_h - 1) * r.p.dilation_h + 1;
    pad_lines(r, at.item, first_line, past, s.lines);
  }
  const float** to = s.at;
  for (int64_t t = 0; t < tiles.count; ++t) {
    const int64_t rows = tiles.row(t + 1) - tiles.row(t);
    for (int64_t i = 0; i < rows; ++i, next(r, at)) {
      if (r.shape.lines)
        point_at_lines(r, at, first_line, s.lines, to + i, rows);
      else
        point_at_pixels(r, at, s.lines, to + i, rows);
    }
    to += rows * r.shape.taps;
  }
}

/// The depth is cut into parts of whole taps, or of channels of one tap.
struct Depths {
  int64_t taps, depth, count, parts;  ///< parts of a tap; 1: whole taps
  explicit Depths(const NhwcShape& s) : taps(s.taps), depth(s.depth) {
    parts = max64(1, depth_blocks(depth));
    count = parts > 1 ? taps * parts : ceil_div(taps, max64(1, kDepthBlock / max64(depth, 1)));
  }
  void cut(int64_t i, int64_t& tap0, int64_t& tap1, int64_t& c0, int64_t& c1) const {
    tap0 = parts > 1 ? i / parts : i * taps / count;
    tap1 = parts > 1 ? tap0 + 1 : (i + 1) * taps / count;
    const int64_t part = i % parts;
    c0 = parts > 1 ? part * depth / parts : 0;
    c1 = parts > 1 ? (part + 1) * depth / parts : depth;
  }
};

/// Copies floats [first, first + n) of each row.
void copy_rows(const float* const* at, int64_t rows, int64_t first, int64_t n, float* to) {
  for (int64_t row = 0; row < rows; ++row, to += kCopiedStep) {
    const float* const from = at[row] + first;
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
  }
}

/// Columns [col0, col1) of some depth of one group, for a block of rows whose pointers are there.
struct IndirectPart {
  const NhwcRun& r;
  const Tiles& tiles;
  const TapScratch& scratch;
  int64_t group, plane, col_end, tap0, tap1, c0, c1;
  bool first, last;

  void columns(int64_t col, int64_t cols) const {
    const NhwcShape& s = r.shape;
    const int64_t depth = s.taps * s.depth, panels = ceil_div(s.group_out, kPanelCols);
    TapBlock block;
    const float* const panel =
        r.w + (group * panels + col / kPanelCols) * kPanelCols * depth + (tap0 * s.depth + c0) * kPanelCols;
    block.b = panel + col % kPanelCols;
    block.b_row = kPanelCols, block.b_panel = 0;
    block.c_row = block.addend_row = r.p.out_c;
    block.col_bias = block.row_bias = nullptr;
    block.accumulate = !first;
    block.slope = last ? r.slope : 1;
    const float* const next =
        (s.copies || s.dense) && col + kPanelCols < col_end ? panel + kPanelCols * depth : nullptr;
    block.ahead_lines = next != nullptr ? ceil_div((c1 - c0) * kPanelLines, tiles.count * 4) * 4 : 0;
    const int64_t out = group * s.group_out + col;
    if (last) set_columns(block, r.columns, out);
    for (int64_t t = 0; t < tiles.count; ++t) {
      const int64_t row = tiles.row(t), rows = tiles.row(t + 1) - row;
      const int64_t place = (plane * s.plane_rows + row) * r.p.out_c + out;
      block.c = r.y + place;
      block.addend = last && r.columns.addend != nullptr ? r.columns.addend + place : nullptr;
      block.ahead = next != nullptr ? next + t * block.ahead_lines * kLineFloats : nullptr;
      tile(block, row - tiles.begin, rows, cols);
    }
  }

 private:
  void tile(TapBlock& block, int64_t row, int64_t rows, int64_t cols) const {
    block.k = c1 - c0;
    block.a_col = 1;
    if (r.shape.copies || r.shape.dense) {
      block.a = r.shape.copies ? scratch.copied + row * kCopiedStep : scratch.at[row] + c0;
      block.a_row = r.shape.copies ? kCopiedStep : r.p.in_c;
      return gemm_block(block, rows, cols);
    }
    block.taps = tap1 - tap0;
    block.first = group * r.shape.group_in + c0;
    block.at = scratch.at + row * r.shape.taps + tap0 * rows;
    tile_for(rows, cols)(block, cols);
  }
};

/// Columns [col0, col1) of one group for a block of rows, whose pointers are there.
void indirect_block(const NhwcRun& r, int64_t group, int64_t plane, const Tiles& tiles, const TapScratch& scratch,
                    int64_t col0, int64_t col1) {
  const Depths depths(r.shape);
  for (int64_t d = 0; d < depths.count; ++d) {
    IndirectPart part{r, tiles, scratch, group, plane, col1, 0, 0, 0, 0, d == 0, d == depths.count - 1};
    depths.cut(d, part.tap0, part.tap1, part.c0, part.c1);
    if (r.shape.copies) copy_rows(scratch.at, tiles.end - tiles.begin, part.c0, part.c1 - part.c0, scratch.copied);
    for (int64_t col = col0; col < col1; col += kWide * kW) {
      if (stop_requested()) return;
      part.columns(col, min64(kWide * kW, col1 - col));
    }
  }
}

/// Runs units one by one: `compute(plane, tiles, scratch, first column, last column)`.
template <class Compute>
void for_units(const NhwcRun& r, int64_t begin, int64_t end, Compute compute) {
  const NhwcShape& s = r.shape;
  const int64_t most = ceil_div(s.plane_rows, s.row_blocks);
  float* const lines = r.scratch + most * s.taps * kPointerFloats;
  const TapScratch scratch{reinterpret_cast<const float**>(r.scratch), lines, lines + r.p.in_c};
  if (!s.lines) {
    for (int64_t i = 0; i < r.p.in_c; ++i) scratch.lines[i] = 0;
  }
  int64_t pointed = -1;
  for (int64_t u = begin; u < end && !stop_requested(); ++u) {
    const int64_t rows = u / s.col_blocks, plane = rows / s.row_blocks, block = rows % s.row_blocks;
    const Tiles tiles(nhwc_block_begin(s, block), nhwc_block_begin(s, block + 1), kTileRows);
    if (rows != pointed) point(r, plane, tiles, scratch);
    pointed = rows;
    const int64_t col0 = nhwc_col_begin(s, r.p.out_c, u % s.col_blocks);
    const int64_t col1 = nhwc_col_begin(s, r.p.out_c, u % s.col_blocks + 1);
    compute(plane, tiles, scratch, col0, col1);
    if (r.on_tile == nullptr) continue;
    const int64_t first = plane * s.plane_rows;
    if (!r.on_tile->whole_rows)
      (*r.on_tile)(first + tiles.begin, first + tiles.end, col0, col1);
    else if (col1 == r.p.out_c)
      (*r.on_tile)(first + tiles.begin, first + tiles.end, 0, col1);
  }
}

}  // namespace

void nhwc_indirect(const NhwcRun& run, int64_t begin, int64_t end) noexcept {
  for_units(run, begin, end,
            [&](int64_t plane, const Tiles& tiles, const TapScratch& scratch, int64_t col0, int64_t col1) {
              if (run.p.groups == 1) return indirect_block(run, 0, plane, tiles, scratch, col0, col1);
              for (int64_t g = 0; g < run.p.groups; ++g)
                indirect_block(run, g, plane, tiles, scratch, 0, run.shape.group_out);
            });
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
