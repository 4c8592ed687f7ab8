#include "kernel/window/conv_nhwc.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/thread/poll_throttle.h"
#include "base/value/extents.h"
#include "kernel/contract/product.h"
#include "kernel/simd/aligned.h"
#include "kernel/simd/isa.h"
#include "kernel/window/conv_nhwc.simd.h"
#include "kernel/window/window.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

bool is_depthwise(const ConvParams& p) { return p.groups > 1 && p.in_c == p.groups && p.out_c == p.groups; }

/// Returns the window of a convolution. Copied lines consist of whole steps of 16-bit floats.
WindowShape window_of(const NhwcConv& conv) { return window_shape(conv.params, conv.elem == Elem::f32 ? 1 : 2); }

int64_t bytes_of(Elem elem) { return static_cast<int64_t>(byte_size(elem)); }

void pack_cols(int64_t k, int64_t n, const float* b, int64_t b_row, int64_t b_col, float* to, int64_t panel) {
  FRAZIL_DISPATCH(pack_cols(k, n, b, b_row, b_col, to, panel));
}

constexpr int64_t kWinogradChannels = 8;  ///< fewer do not fill vectors
constexpr int64_t kTileLineTarget = 48;   ///< approximate number of tiles of a block
constexpr int64_t kUnitLines = 8;         ///< lines of outputs per unit, if lines are copied
constexpr int64_t kUnitCols = 128;        ///< columns of a unit, if rows alone make too few units
constexpr int64_t kMaxRows = 192;         ///< rows of a unit
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
  s.planes = s.window.lines ? p.batch : 1;
  s.plane_rows = p.batch / s.planes * p.out_h * p.out_w;
  // Adjacent lines of outputs share copied lines of the image.
  const int64_t most = s.window.lines ? std::clamp<int64_t>(kUnitLines * p.out_w, kMaxRows, 1024) : kMaxRows;
  const int64_t rows = std::clamp<int64_t>((int64_t{1} << 15) / p.out_c, s.window.lines ? most : 48, most);
  s.row_blocks = ceil_div(s.plane_rows, rows);
  if (is_few(p, s)) s.row_blocks = ceil_div(s.plane_rows, most);  // cuts columns instead, to read weights less often
}

}  // namespace

bool nhwc_supports_strides(const ConvParams& p) noexcept { return window_copies_lines(p); }

bool nhwc_has_winograd(const ConvParams& p) noexcept {
  return p.kernel_h == 3 && p.kernel_w == 3 && p.stride_h == 1 && p.stride_w == 1 && p.dilation_h == 1 &&
         p.dilation_w == 1 && p.groups == 1 && p.in_c >= kWinogradChannels && p.out_c >= kWinogradChannels;
}

int64_t winograd_blocks(const ConvParams& p) noexcept {
  if (p.empty()) return 0;
  NhwcShape s{};
  cut_winograd(p, s);
  return s.planes * s.row_blocks;
}

NhwcPath nhwc_path(const NhwcConv& conv) noexcept {
  if (conv.elem != Elem::f32) return NhwcPath::product;
  if (is_depthwise(conv.params)) return NhwcPath::depthwise;
  return conv.fast && nhwc_has_winograd(conv.params) ? NhwcPath::winograd : NhwcPath::product;
}

NhwcShape nhwc_shape(const NhwcConv& conv) noexcept {
  const ConvParams& p = conv.params;
  NhwcShape s{};
  s.path = nhwc_path(conv);
  s.group_in = p.in_c / p.groups;
  s.group_out = p.out_c / p.groups;
  if (s.path == NhwcPath::product) s.window = window_of(conv);
  s.path == NhwcPath::winograd ? cut_winograd(p, s) : cut_rows(p, s);
  s.col_blocks = is_few(p, s) ? ceil_div(p.out_c, s.path == NhwcPath::winograd ? kWinogradUnitCols : kUnitCols) : 1;
  return s;
}

namespace {

/// Returns the bytes of a group's packed weights.
std::size_t group_bytes(const NhwcConv& conv, const WindowShape& window) {
  return packed_b_bytes(conv.elem, window.k(), conv.params.out_c / conv.params.groups);
}

/// Packs one group's weights for pixels that are read in place.
void pack_taps(const ConvParams& p, const float* w, float* to) {
  const int64_t taps = p.kernel_h * p.kernel_w, in = p.in_c / p.groups;
  for (int64_t tap = 0; tap < taps; ++tap)
    pack_cols(in, p.out_c / p.groups, w + tap, taps, in * taps, to + tap * in * kPanelCols, taps * in * kPanelCols);
}

void pack_taps(const NhwcConv& conv, const WindowShape& s, const std::byte* w, std::uint16_t* to) {
  const ConvParams& p = conv.params;
  const int64_t taps = p.kernel_h * p.kernel_w;
  std::memset(to, 0, group_bytes(conv, s));
  PollThrottle throttle;
  for (int64_t out = 0; out < p.out_c && !throttle.stop(p.in_c * taps); ++out) {
    for (int64_t c = 0; c < p.in_c; ++c) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        std::uint16_t x;
        std::memcpy(&x, w + ((out * p.in_c + c) * taps + tap) * static_cast<int64_t>(sizeof x), sizeof x);
        to[packed_place(conv.elem, s.k(), tap * s.channels + c, out)] = x;
      }
    }
  }
}

}  // namespace

std::size_t nhwc_packed_w_bytes(const NhwcConv& conv) noexcept {
  const ConvParams& p = conv.params;
  if (p.groups <= 0) return 0;
  if (is_depthwise(p)) return static_cast<std::size_t>(p.out_c * p.kernel_h * p.kernel_w) * sizeof(float);
  return static_cast<std::size_t>(p.groups) * group_bytes(conv, window_of(conv));
}

void nhwc_pack_w(const NhwcConv& conv, const void* w, void* packed) noexcept {
  const ConvParams& p = conv.params;
  if (nhwc_packed_w_bytes(conv) == 0) return;
  const int64_t taps = p.kernel_h * p.kernel_w, group = p.out_c / p.groups * (p.in_c / p.groups) * taps;
  const auto* const floats = static_cast<const float*>(w);
  auto* const to = static_cast<float*>(packed);
  if (is_depthwise(p)) {
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t c = 0; c < p.out_c; ++c) to[tap * p.out_c + c] = floats[c * taps + tap];
    return;
  }
  const WindowShape s = window_of(conv);
  if (conv.elem == Elem::f32) {
    const auto step = static_cast<int64_t>(group_bytes(conv, s) / sizeof(float));
    for (int64_t g = 0; g < p.groups && !stop_requested(); ++g) pack_taps(p, floats + g * group, to + g * step);
  } else if (taps == 1 && s.channels == p.in_c) {
    pack_b(conv.elem, s.k(), p.out_c, w, 1, p.in_c, packed);
  } else {
    pack_taps(conv, s, static_cast<const std::byte*>(w), static_cast<std::uint16_t*>(packed));
  }
}

int64_t nhwc_units(const NhwcConv& conv) noexcept { return conv.params.empty() ? 0 : nhwc_shape(conv).units(); }

int64_t nhwc_units_per_rows(const NhwcConv& conv) noexcept {
  return conv.params.empty() ? 1 : nhwc_shape(conv).col_blocks;
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

namespace {

/// The scratch of a product: the buffer that its rows are read from, then its own.
struct ProductScratchBytes {
  std::size_t buffer, product;
  ProductScratchBytes(const NhwcConv& conv, const NhwcShape& s)
      : buffer(window_buffer_bytes(conv.params, s.window, bytes_of(conv.elem), s.max_rows())),
        product(product_scratch(conv.elem, s.max_rows(), s.window.k(), s.window.pixels ? 0 : s.window.taps)) {}
  std::size_t all() const { return buffer + product + kLineBytes; }
};

}  // namespace

std::size_t nhwc_scratch_bytes(const NhwcConv& conv) noexcept {
  if (conv.params.empty()) return 0;
  const NhwcShape s = nhwc_shape(conv);
  if (s.path == NhwcPath::product) return ProductScratchBytes(conv, s).all();
  const int64_t floats = s.path == NhwcPath::depthwise ? kChannelPad : winograd_scratch(conv.params, s);
  return static_cast<std::size_t>(floats) * sizeof(float) + kLineBytes;
}

namespace {

/// The arguments of nhwc_range.
struct Arguments {
  const NhwcConv& conv;
  const NhwcShape& shape;
  const void *x, *w;
  const NhwcColumns& columns;
  void* y;
  std::byte* scratch;
  const TileCallback* on_tile;
};

/// Returns the address of element `at` of p, or null if p is null.
const void* element(const void* p, int64_t at, Elem elem) {
  return p == nullptr ? p : static_cast<const std::byte*>(p) + at * bytes_of(elem);
}

/// Returns the product for columns [col0, col1) of a group, without rows of A.
Product product_of(const Arguments& a, int64_t group, int64_t col0, int64_t col1) {
  const NhwcConv& conv = a.conv;
  const int64_t col = group * a.shape.group_out + col0, k = a.shape.window.k();
  const auto* const w =
      static_cast<const std::byte*>(a.w) + static_cast<std::size_t>(group) * group_bytes(conv, a.shape.window);
  const auto floats = [&](const float* p) { return p == nullptr ? p : p + col; };
  return {.elem = conv.elem,
          .pairs = !conv.strict,
          .m = a.shape.max_rows(),
          .n = col1 - col0,
          .k = k,
          .packed_b = w + packed_b_bytes(conv.elem, k, col0),
          .c = static_cast<std::byte*>(a.y) + col * bytes_of(conv.elem),
          .c_row = conv.params.out_c,
          .columns = {.bias = element(a.columns.bias, col, conv.elem),
                      .scale = floats(a.columns.scale),
                      .shift = floats(a.columns.shift),
                      .addend = element(a.columns.addend, col, conv.elem),
                      .addend_row = conv.params.out_c,
                      .negative_slope = conv.negative_slope,
                      .bias_in_sum = true},
          .first_col = col};
}

/// Computes rows [row0, row1): columns [col0, col1) if there is one group, else all columns of all groups.
void multiply(const Arguments& a, int64_t row0, int64_t row1, int64_t col0, int64_t col1) {
  const NhwcConv& conv = a.conv;
  const ConvParams& p = conv.params;
  const WindowShape& window = a.shape.window;
  std::byte* const buffer = a.scratch;
  for (int64_t group = 0; group < p.groups && !stop_requested(); ++group) {
    Product g = product_of(a, group, p.groups == 1 ? col0 : 0, p.groups == 1 ? col1 : a.shape.group_out);
    const int64_t first = group * a.shape.group_in;
    const WindowReader reader(p, window, bytes_of(conv.elem), a.x, conv.x_strides, first, buffer);
    if (window.pixels)
      g.a = element(a.x, first, conv.elem), g.a_row = p.in_c;
    else
      g.runs = {&WindowReader::point, &WindowReader::step, &reader, window.taps, window.depth};
    if (p.groups == 1) g.on_tile = a.on_tile;
    product_rows(g, row0, row1, buffer + ProductScratchBytes(conv, a.shape).buffer);
  }
  if (p.groups > 1 && a.on_tile != nullptr) (*a.on_tile)(row0, row1, 0, p.out_c);
}

void products(const Arguments& a, int64_t unit_begin, int64_t unit_end) {
  const NhwcShape& s = a.shape;
  const int64_t out_c = a.conv.params.out_c;
  const bool together = s.col_blocks > 1 && a.on_tile != nullptr && a.on_tile->whole_rows;
  for (int64_t u = unit_begin; u < unit_end && !stop_requested(); ++u) {
    const int64_t rows = u / s.col_blocks, part = u % s.col_blocks;
    const int64_t first = rows / s.row_blocks * s.plane_rows, block = rows % s.row_blocks;
    const int64_t row0 = first + nhwc_block_begin(s, block), row1 = first + nhwc_block_begin(s, block + 1);
    if (together && part > 0) continue;
    const int64_t col0 = together ? 0 : nhwc_col_begin(s, out_c, part);
    multiply(a, row0, row1, col0, together ? out_c : nhwc_col_begin(s, out_c, part + 1));
  }
}

using UnitsFn = void (*)(const NhwcRun&, int64_t, int64_t) noexcept;

UnitsFn units_fn(NhwcPath path) {
  if (path == NhwcPath::depthwise) FRAZIL_DISPATCH(nhwc_depthwise);
  FRAZIL_DISPATCH(nhwc_winograd);
}

}  // namespace

void nhwc_range(const NhwcConv& conv, const void* x, const void* packed_w, const NhwcColumns& columns, void* y,
                int64_t unit_begin, int64_t unit_end, void* scratch, const TileCallback* on_tile) noexcept {
  if (conv.params.empty() || unit_begin >= unit_end) return;
  const NhwcShape s = nhwc_shape(conv);
  float* const memory = aligned(scratch);
  if (s.path == NhwcPath::product)
    return products({conv, s, x, packed_w, columns, y, reinterpret_cast<std::byte*>(memory), on_tile}, unit_begin,
                    unit_end);
  const Results out{.c = static_cast<float*>(y),
                    .c_row = conv.params.out_c,
                    .bias = static_cast<const float*>(columns.bias),
                    .scale = columns.scale,
                    .shift = columns.shift,
                    .addend = static_cast<const float*>(columns.addend),
                    .addend_row = conv.params.out_c,
                    .negative_slope = conv.negative_slope};
  units_fn(s.path)(
      {conv.params, s, static_cast<const float*>(x), static_cast<const float*>(packed_w), out, memory, on_tile},
      unit_begin, unit_end);
}

}  // namespace frazil::kernel
