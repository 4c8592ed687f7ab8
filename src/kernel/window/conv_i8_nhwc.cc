#include "kernel/window/conv_i8_nhwc.h"

#include <algorithm>
#include <cstring>

#include "base/thread/poll_throttle.h"
#include "base/value/extents.h"
#include "kernel/contract/gemm_i8.h"
#include "kernel/contract/gemm_i8.simd.h"
#include "kernel/simd/aligned.h"
#include "kernel/simd/isa.h"
#include "kernel/window/conv_i8.simd.h"
#include "kernel/window/window.h"

// Positions of the result are rows of a product, whose elements are read through pointers to pixels. If pixels have few
// channels, either lines are copied with their padding and read a row of the kernel at a time, or rows are copied. Each
// group is a separate product. If each channel is a group, vectors of channels are summed instead.
namespace frazil::kernel {
namespace {

using std::int32_t;
using std::int64_t;
using std::uint8_t;

constexpr int64_t kPixelMultiple = 4;  ///< a product can read pixels in place if their channels are a multiple of this
constexpr int64_t kMinCols = 128;      ///< columns of a unit
constexpr int64_t kUnits = 8;          ///< wanted number of units
constexpr int64_t kDepthwiseRows = 64;

struct Shape {
  int64_t group_in, group_out, taps, depth;      ///< depth: of the product
  int64_t planes, rows, row_blocks, col_blocks;  ///< rows, row_blocks: of a plane, which is an image or all of them
  bool depthwise, lines;

  explicit Shape(const ByteNhwcForm& form) : Shape(form.params, form.has_w_zero) {}

 private:
  Shape(const ConvParams& p, bool has_w_zero)
      : group_in(p.in_c / p.groups),
        group_out(p.out_c / p.groups),
        taps(p.kernel_h * p.kernel_w),
        depth(group_in * taps),
        planes(1),
        rows(p.batch * p.out_h * p.out_w),
        col_blocks(1),
        depthwise(p.groups > 1 && group_in == 1 && group_out == 1),
        lines(p.groups == 1 && p.kernel_w > 1 && p.in_c % kPixelMultiple != 0 && p.dilation_w == 1 && !has_w_zero),
        window_(window_shape(p, 1)) {
    if (lines) {
      planes = p.batch, rows = p.out_h * p.out_w;
      taps = p.kernel_h;
      depth = taps * line_depth(p);
    }
    window_.lines = lines, window_.channels = lines ? p.in_c : depthwise ? p.in_c : group_in;
    window_.taps = taps, window_.depth = depth / std::max<int64_t>(taps, 1);
    const int64_t most = depthwise ? kDepthwiseRows : byte_rows_at_once(group_out, depth);
    row_blocks = std::max<int64_t>(1, ceil_div(rows, most));
    if (p.groups == 1 && row_blocks < kUnits) {
      col_blocks = std::clamp<int64_t>(p.out_c / kMinCols, 1, ceil_div(kUnits, row_blocks));
    }
  }

 public:
  /// Returns the bytes of a row of the kernel, padded with zero weights.
  static int64_t line_depth(const ConvParams& p) { return std::max<int64_t>(8, ceil_div(p.kernel_w * p.in_c, 4) * 4); }
  const WindowShape& window() const { return window_; }
  int64_t row(int64_t block) const { return block * rows / row_blocks; }
  int64_t col(int64_t block) const {
    return std::min(byte_cols(group_out * block / col_blocks), block == col_blocks ? group_out : INT64_MAX);
  }
  int64_t panels() const { return static_cast<int64_t>(byte_packed_b_bytes(depth, group_out)); }

 private:
  WindowShape window_;
};

/// The parts of a run's scratch.
struct Scratch {
  std::byte* window;       ///< buffer of a WindowReader
  std::byte* product;      ///< scratch of byte_product()
  int32_t* sums;           ///< a block of y, if y is null
  const std::byte** taps;  ///< pointers of one position
  std::int16_t* weights;   ///< weights of a depthwise convolution
  std::size_t bytes;

  /// `at` is null to compute only `bytes`.
  Scratch(const ConvParams& p, const Shape& s, void* at) {
    Carver carver(at);
    const int64_t block = ceil_div(s.rows, s.row_blocks), channels = round_up(p.out_c, kByteChannels);
    window = carver.take<std::byte>(static_cast<int64_t>(window_buffer_bytes(p, s.window(), 1, block)));
    product = carver.take<std::byte>(s.depthwise ? 0 : static_cast<int64_t>(byte_product_scratch(s.depth, s.taps)));
    sums = carver.take<int32_t>(block * p.out_c);
    taps = carver.take<const std::byte*>(s.depthwise ? s.taps + 1 : 0);
    weights = carver.take<std::int16_t>(s.depthwise ? channels * (s.taps + 1) : 0);
    bytes = static_cast<std::size_t>(carver.used() + kLineBytes);
  }
};

/// A reader of the channels of a group, or of all channels if each is a group.
struct Reader {
  const WindowShape shape;
  const WindowReader window;
  Reader(const ByteConvNhwc& c, const Shape& s, const Scratch& scratch, int64_t group)
      : shape(s.window()),
        window(c.form.params, shape, 1, c.x, kContiguous, group * s.group_in, scratch.window,
               static_cast<uint8_t>(byte_at(c.x_zero, 0, c.signed_x))) {}

 private:
  static constexpr int64_t kContiguous[4] = {};
};

/// Returns the product for columns [col0, col1) of a group, with rows from the reader.
ByteProduct product_of(const ByteConvNhwc& c, const Shape& s, const Reader& reader, int64_t group, int64_t col0,
                       int64_t col1) {
  const int64_t first = group * s.group_out + col0;
  ByteProduct g{.n = col1 - col0,
                .k = s.depth,
                .signed_a = c.signed_x,
                .signed_b = c.signed_w,
                .packed_b = static_cast<const std::byte*>(c.packed_w) + group * s.panels(),
                .a_zero = c.x_zero,
                .c_row = c.form.params.out_c,
                .first_col = first,
                .packed_cols = s.group_out,
                .packed_from = col0};
  if (reader.shape.pixels)
    g.a = static_cast<const uint8_t*>(c.x) + group * s.group_in, g.a_row = c.form.params.in_c;
  else
    g.runs = {&WindowReader::point, &WindowReader::step, &reader.window, reader.shape.taps, reader.shape.depth};
  if (c.w_zero != nullptr) g.b_zero = static_cast<const uint8_t*>(c.w_zero) + first * c.w_zero_step;
  g.b_zero_step = c.w_zero_step;
  return g;
}

/// Computes columns [col0, col1) of the only group. The product calls on_tile itself.
void multiply_columns(const ByteConvNhwc& c, const Shape& s, const Scratch& scratch, int64_t row0, int64_t row1,
                      int64_t col0, int64_t col1) {
  const Reader reader(c, s, scratch, 0);
  ByteProduct g = product_of(c, s, reader, 0, col0, col1);
  if (c.y != nullptr) g.c = c.y + col0;
  g.passed = scratch.sums;
  g.on_tile = c.on_tile;
  byte_product(g, row0, row1, scratch.product);
}

/// Returns the address of row `row0` of the result, with all columns.
int32_t* sums_of(const ByteConvNhwc& c, const Scratch& scratch, int64_t row0) {
  return c.y != nullptr ? c.y + row0 * c.form.params.out_c : scratch.sums;
}

void report(const ByteConvNhwc& c, int32_t* y, int64_t row0, int64_t row1) {
  if (c.on_tile == nullptr) return;
  if (c.y == nullptr) *c.on_tile->result = y;
  (*c.on_tile)(row0, row1, 0, c.form.params.out_c);
}

void multiply_groups(const ByteConvNhwc& c, const Shape& s, const Scratch& scratch, int64_t row0, int64_t row1) {
  int32_t* const y = sums_of(c, scratch, row0);
  for (int64_t group = 0; group < c.form.params.groups && !stop_requested(); ++group) {
    const Reader reader(c, s, scratch, group);
    ByteProduct g = product_of(c, s, reader, group, 0, s.group_out);
    g.c = y + g.first_col, g.c_first = row0;
    byte_product(g, row0, row1, scratch.product);
  }
  report(c, y, row0, row1);
}

// ---- depthwise ----

using PairFn = void (*)(const std::int16_t*, const std::int16_t*, std::int16_t*) noexcept;
using ChannelsFn = void (*)(int32_t*, const ByteChannels&) noexcept;
PairFn pair_fn() { FRAZIL_DISPATCH(pair_byte_channels); }
ChannelsFn channels_fn() { FRAZIL_DISPATCH(byte_channels); }

/// Writes the packed weights, [tap][channel], minus their zero points, as pairs of taps.
void pair_weights(const ByteConvNhwc& c, const Shape& s, std::int16_t* to) {
  const auto* w = static_cast<const uint8_t*>(c.packed_w);
  const int64_t channels = c.form.params.out_c;
  const PairFn pair = pair_fn();
  for (int64_t first = 0; first < channels; first += kByteChannels) {
    const int64_t some = std::min(kByteChannels, channels - first);
    for (int64_t tap = 0; tap < s.taps; tap += 2, to += 2 * kByteChannels) {
      std::int16_t two[2][kByteChannels] = {};
      for (int64_t t = 0; t < std::min<int64_t>(2, s.taps - tap); ++t) {
        for (int64_t i = 0; i < some; ++i) {
          const int64_t zero = byte_at(c.w_zero, (first + i) * c.w_zero_step, c.signed_w);
          const int64_t at = (tap + t) * channels + first + i;
          two[t][i] = static_cast<std::int16_t>(byte_at(w, at, c.signed_w) - zero);
        }
      }
      pair(two[0], two[1], to);
    }
  }
}

void sum_channels(const ByteConvNhwc& c, const Shape& s, const Scratch& scratch, int64_t row0, int64_t row1) {
  const Reader reader(c, s, scratch, 0);
  const ChannelsFn sum = channels_fn();
  const ByteChannels channels{.at = reinterpret_cast<const uint8_t* const*>(scratch.taps),
                              .weights = scratch.weights,
                              .pairs = ceil_div(s.taps, 2),
                              .channels = c.form.params.out_c,
                              .zero = static_cast<std::int16_t>(byte_at(c.x_zero, 0, c.signed_x)),
                              .is_signed = c.signed_x};
  int32_t* const y = sums_of(c, scratch, row0);
  PollThrottle throttle;
  for (int64_t row = row0; row < row1 && !throttle.stop(s.taps * channels.channels); ++row) {
    WindowReader::point(&reader.window, row, row + 1, scratch.taps);
    scratch.taps[s.taps] = scratch.window;  // a pixel of zero points
    sum(y + (row - row0) * c.form.params.out_c, channels);
  }
  report(c, y, row0, row1);
}

}  // namespace

std::size_t byte_nhwc_packed_w_bytes(const ByteNhwcForm& form) noexcept {
  const ConvParams& p = form.params;
  if (p.groups <= 0) return 0;
  const Shape s(form);
  return static_cast<std::size_t>(s.depthwise ? p.out_c * s.taps : p.groups * s.panels());
}

void byte_nhwc_pack_w(const ByteNhwcForm& form, const void* w, bool signed_w, void* packed) noexcept {
  const ConvParams& p = form.params;
  if (p.groups <= 0) return;
  const Shape s(form);
  const auto* const from = static_cast<const uint8_t*>(w);
  auto* const to = static_cast<uint8_t*>(packed);
  if (s.depthwise) {
    for (int64_t tap = 0; tap < s.taps; ++tap)
      for (int64_t channel = 0; channel < p.out_c; ++channel)
        to[tap * p.out_c + channel] = from[channel * s.taps + tap];
    return;
  }
  if (s.lines)
    return byte_pack_lines(p.in_c, p.kernel_h, p.kernel_w, Shape::line_depth(p), p.out_c, w, signed_w, packed);
  // Packs B, whose rows are ordered by tap, then by channel.
  for (int64_t group = 0; group < p.groups; ++group) {
    byte_pack_taps(s.group_in, s.taps, s.group_out, from + group * s.group_out * s.depth, signed_w,
                   to + group * s.panels());
  }
}

std::int64_t byte_nhwc_units_per_rows(const ByteNhwcForm& form) noexcept {
  return form.params.empty() ? 1 : Shape(form).col_blocks;
}

std::int64_t byte_nhwc_units(const ByteNhwcForm& form) noexcept {
  if (form.params.empty()) return 0;
  const Shape s(form);
  return s.planes * s.row_blocks * s.col_blocks;
}

std::size_t byte_nhwc_scratch(const ByteNhwcForm& form) noexcept {
  if (form.params.empty()) return 0;
  return Scratch(form.params, Shape(form), nullptr).bytes;
}

void byte_nhwc_range(const ByteConvNhwc& c, int64_t begin, int64_t end, void* memory) noexcept {
  const ConvParams& p = c.form.params;
  if (p.empty() || begin >= end) return;
  const Shape s(c.form);
  const Scratch scratch(p, s, memory);
  if (s.depthwise) pair_weights(c, s, scratch.weights);
  const bool together = s.col_blocks > 1 && c.on_tile != nullptr && c.on_tile->whole_rows;
  for (int64_t u = begin; u < end && !stop_requested(); ++u) {
    const int64_t all_blocks = u / s.col_blocks, part = u % s.col_blocks;
    const int64_t plane = all_blocks / s.row_blocks, block = all_blocks % s.row_blocks;
    const int64_t row0 = plane * s.rows + s.row(block), row1 = plane * s.rows + s.row(block + 1);
    if (s.depthwise) {
      sum_channels(c, s, scratch, row0, row1);
    } else if (p.groups > 1) {
      multiply_groups(c, s, scratch, row0, row1);
    } else if (!together) {
      multiply_columns(c, s, scratch, row0, row1, s.col(part), s.col(part + 1));
    } else if (part == 0) {
      multiply_columns(c, s, scratch, row0, row1, 0, p.out_c);
    }
  }
}

}  // namespace frazil::kernel
