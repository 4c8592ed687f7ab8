#include "kernel/contract/conv_nhwc.h"

#include <algorithm>
#include <cstdint>

#include "base/extents.h"
#include "base/poll_throttle.h"
#include "kernel/contract/conv_nhwc.simd.h"
#include "kernel/simd/aligned.h"
#include "kernel/simd/isa.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

bool empty(const ConvParams& p) {
  return p.batch <= 0 || p.out_c <= 0 || p.out_h <= 0 || p.out_w <= 0 || p.groups <= 0;
}

bool is_depthwise(const ConvParams& p) { return p.groups > 1 && p.in_c == p.groups && p.out_c == p.groups; }

void pack_cols(int64_t k, int64_t n, const float* b, int64_t b_row, int64_t b_col, float* to, int64_t panel) {
  FRAZIL_DISPATCH(gemm_pack_cols(k, n, b, b_row, b_col, to, panel));
}

constexpr int64_t kFewChannels = 8;      ///< fewer do not fill vectors
constexpr int64_t kTileLineTarget = 48;  ///< tiles of a block, more or less
constexpr int64_t kUnitLines = 8;        ///< of outputs, where lines are copied
constexpr int64_t kUnitCols = 128;       ///< columns of a unit where rows alone make too few
constexpr int64_t kMostRows = 192;       ///< of a unit
constexpr int64_t kFarFloats = 1024;     ///< rows apart by a multiple of them share sets
constexpr int64_t kWinogradUnitCols = 32;
constexpr int64_t kFewUnits = 8;

void cut_winograd(const ConvParams& p, NhwcShape& s) {
  s.tiles_h = ceil_div(p.out_h, kWinogradTile);
  s.tiles_w = ceil_div(p.out_w, kWinogradTile);
  s.tile_lines = std::clamp<int64_t>(kTileLineTarget / s.tiles_w, 1, s.tiles_h);
  s.planes = p.batch;
  s.plane_rows = p.out_h * p.out_w;
  s.row_blocks = ceil_div(s.tiles_h, s.tile_lines);
  s.tile_lines = ceil_div(s.tiles_h, s.row_blocks);
}

bool is_few(const ConvParams& p, const NhwcShape& s) { return p.groups == 1 && s.planes * s.row_blocks < kFewUnits; }

void cut_rows(const ConvParams& p, NhwcShape& s) {
  s.planes = s.lines ? p.batch : 1;
  s.plane_rows = p.batch / s.planes * p.out_h * p.out_w;
  // Some lines of outputs share the lines that are copied for them.
  const int64_t most = s.lines ? std::clamp<int64_t>(kUnitLines * p.out_w, kMostRows, 1024) : kMostRows;
  const int64_t rows = std::clamp<int64_t>((int64_t{1} << 15) / p.out_c, s.lines ? most : 48, most);
  s.row_blocks = ceil_div(s.plane_rows, rows);
  if (is_few(p, s)) s.row_blocks = ceil_div(s.plane_rows, most);  // columns are cut, and weights read for fewer blocks
}

/// Rows of the product that are one pixel each are copied where those of a tile would share sets of the first-level
/// cache.
void choose_copies(const ConvParams& p, NhwcShape& s) {
  if (s.path != NhwcPath::indirect || s.lines || s.taps != 1 || p.groups != 1) return;
  s.dense =
      p.stride_h == 1 && p.stride_w == 1 && p.pad_top == 0 && p.pad_left == 0 && p.out_h == p.in_h && p.out_w == p.in_w;
  s.copies = p.out_c >= kUnitCols && (!s.dense || p.in_c % kFarFloats == 0);
}

}  // namespace

bool nhwc_takes_strides(const ConvParams& p) noexcept {
  return p.groups == 1 && p.in_c < kFewChannels && p.kernel_w > 1 && p.dilation_w == 1;
}

bool nhwc_has_winograd(const ConvParams& p) noexcept {
  return p.kernel_h == 3 && p.kernel_w == 3 && p.stride_h == 1 && p.stride_w == 1 && p.dilation_h == 1 &&
         p.dilation_w == 1 && p.groups == 1 && p.in_c >= kFewChannels && p.out_c >= kFewChannels;
}

int64_t winograd_blocks(const ConvParams& p) noexcept {
  if (empty(p)) return 0;
  NhwcShape s{};
  cut_winograd(p, s);
  return s.planes * s.row_blocks;
}

NhwcPath nhwc_path(const NhwcConv& conv) noexcept {
  if (is_depthwise(conv.params)) return NhwcPath::depthwise;
  return conv.fast && nhwc_has_winograd(conv.params) ? NhwcPath::winograd : NhwcPath::indirect;
}

NhwcShape nhwc_shape(const NhwcConv& conv) noexcept {
  const ConvParams& p = conv.params;
  NhwcShape s{};
  s.path = nhwc_path(conv);
  s.group_in = p.in_c / p.groups;
  s.group_out = p.out_c / p.groups;
  s.lines = s.path == NhwcPath::indirect && nhwc_takes_strides(p);
  s.taps = s.lines ? p.kernel_h : p.kernel_h * p.kernel_w;
  s.depth = s.lines ? p.kernel_w * s.group_in : s.group_in;
  s.path == NhwcPath::winograd ? cut_winograd(p, s) : cut_rows(p, s);
  choose_copies(p, s);
  s.col_blocks = is_few(p, s) ? ceil_div(p.out_c, s.path == NhwcPath::winograd ? kWinogradUnitCols : kUnitCols) : 1;
  return s;
}

int64_t nhwc_packed_w_bytes(const ConvParams& p) noexcept {
  if (p.groups <= 0) return 0;
  const int64_t depth = p.in_c / p.groups * p.kernel_h * p.kernel_w;
  const int64_t cols = is_depthwise(p) ? p.out_c : p.groups * round_up(p.out_c / p.groups, kPanelCols);
  return depth * cols * static_cast<int64_t>(sizeof(float));
}

void nhwc_pack_w(const ConvParams& p, const float* w, void* packed) noexcept {
  if (nhwc_packed_w_bytes(p) <= 0) return;
  float* to = static_cast<float*>(packed);
  const int64_t taps = p.kernel_h * p.kernel_w, in = p.in_c / p.groups, out = p.out_c / p.groups;
  if (is_depthwise(p)) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t c = 0; c < p.out_c; ++c) to[tap * p.out_c + c] = w[c * taps + tap];
    }
    return;
  }
  const int64_t panel = taps * in * kPanelCols;
  for (int64_t g = 0; g < p.groups && !stop_requested(); ++g) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      pack_cols(in, out, w + g * out * in * taps + tap, taps, in * taps, to + tap * in * kPanelCols, panel);
    }
    to += ceil_div(out, kPanelCols) * panel;
  }
}

int64_t nhwc_units(const NhwcConv& conv) noexcept { return empty(conv.params) ? 0 : nhwc_shape(conv).units(); }

int64_t nhwc_units_per_rows(const NhwcConv& conv) noexcept {
  return empty(conv.params) ? 1 : nhwc_shape(conv).col_blocks;
}

/// In floats.
static int64_t indirect_scratch(const ConvParams& p, const NhwcShape& s) noexcept {
  const int64_t rows = ceil_div(s.plane_rows, s.row_blocks);
  const int64_t pointers = rows * s.taps * kPointerFloats;
  if (!s.lines) return pointers + p.in_c + (s.copies ? rows * kCopiedStep : 0);
  const int64_t lines = (ceil_div(rows, p.out_w) + 1) * p.stride_h + (p.kernel_h - 1) * p.dilation_h + 1;
  return pointers + lines * nhwc_padded_width(p) * p.in_c;
}

WinogradSteps winograd_steps(const ConvParams& p, const NhwcShape& s) noexcept {
  constexpr int64_t kLine = 16;
  const int64_t tiles = s.tile_lines * s.tiles_w, row = round_up(p.in_c, kChannelPad);
  return {tiles * row + kLine, kWinogradDepth * kPanelCols + kLine, tiles * kPanelCols + kLine};
}

static int64_t winograd_scratch(const ConvParams& p, const NhwcShape& s) noexcept {
  const WinogradSteps steps = winograd_steps(p, s);
  return round_up(p.in_c, kChannelPad) + kWinogradPoints * (steps.in + steps.weights + steps.out);
}

int64_t nhwc_scratch_bytes(const NhwcConv& conv) noexcept {
  if (empty(conv.params)) return 0;
  const NhwcShape s = nhwc_shape(conv);
  const int64_t floats = s.path == NhwcPath::depthwise  ? kChannelPad
                         : s.path == NhwcPath::winograd ? winograd_scratch(conv.params, s)
                                                        : indirect_scratch(conv.params, s);
  return floats * static_cast<int64_t>(sizeof(float)) + kLineBytes;
}

namespace {

using Runs = void (*)(const NhwcRun&, int64_t, int64_t) noexcept;

Runs runs_of(NhwcPath path) {
  if (path == NhwcPath::depthwise) FRAZIL_DISPATCH(nhwc_depthwise);
  if (path == NhwcPath::winograd) FRAZIL_DISPATCH(nhwc_winograd);
  FRAZIL_DISPATCH(nhwc_indirect);
}

}  // namespace

void nhwc_range(const NhwcConv& conv, const float* x, const void* packed_w, const NhwcColumns& columns, float* y,
                int64_t unit_begin, int64_t unit_end, void* scratch, const TileCallback* on_tile) noexcept {
  if (empty(conv.params) || unit_begin >= unit_end) return;
  const auto* const w = static_cast<const float*>(packed_w);
  const NhwcRun run{conv.params, nhwc_shape(conv), x,      w, columns, conv.slope, conv.x_strides,
                    y,           aligned(scratch), on_tile};
  runs_of(run.shape.path)(run, unit_begin, unit_end);
}

}  // namespace frazil::kernel
