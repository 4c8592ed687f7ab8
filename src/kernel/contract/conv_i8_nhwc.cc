#include "kernel/contract/conv_i8_nhwc.h"

#include <algorithm>
#include <cstring>

#include "base/extents.h"
#include "base/poll_throttle.h"
#include "kernel/contract/conv_i8.simd.h"
#include "kernel/contract/gemm_i8.h"
#include "kernel/contract/gemm_i8.simd.h"
#include "kernel/simd/aligned.h"
#include "kernel/simd/isa.h"

// Positions of the result are rows of a product, whose elements are read through pointers to pixels. Where a pixel has
// few channels, lines are copied with their padding, and read a row of the kernel at a time; or rows are copied. Each
// group is a product of its own. Where each channel is a group, vectors of channels are summed.
namespace frazil::kernel {
namespace {

using std::int32_t;
using std::int64_t;
using std::uint8_t;

constexpr int64_t kPixelMultiple = 4;  ///< channels that a product may read through pointers
constexpr int64_t kFewestCols = 128;   ///< of a unit
constexpr int64_t kUnits = 8;          ///< wanted
constexpr int64_t kDepthwiseRows = 64;

struct Shape {
  int64_t group_in, group_out, taps, depth;      ///< depth: of the product
  int64_t planes, rows, row_blocks, col_blocks;  ///< rows and their blocks: of a plane, an image or all of them
  bool depthwise, lines, pointers;

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
        pointers(lines || taps == 1 || group_in % kPixelMultiple == 0) {
    if (lines) {
      planes = p.batch, rows = p.out_h * p.out_w;
      taps = p.kernel_h;
      depth = taps * line_depth(p);
    }
    const int64_t most = depthwise ? kDepthwiseRows : byte_rows_at_once(group_out, depth);
    row_blocks = std::max<int64_t>(1, ceil_div(rows, most));
    if (p.groups == 1 && row_blocks < kUnits) {
      col_blocks = std::clamp<int64_t>(p.out_c / kFewestCols, 1, ceil_div(kUnits, row_blocks));
    }
  }

 public:
  /// Bytes of a row of the kernel, with zero weights at the end.
  static int64_t line_depth(const ConvParams& p) { return std::max<int64_t>(8, ceil_div(p.kernel_w * p.in_c, 4) * 4); }
  int64_t row(int64_t block) const { return block * rows / row_blocks; }
  int64_t col(int64_t block) const {
    return std::min(byte_cols(group_out * block / col_blocks), block == col_blocks ? group_out : INT64_MAX);
  }
  int64_t panels() const { return static_cast<int64_t>(byte_packed_b_bytes(depth, group_out)); }
};

bool empty(const ConvParams& p) {
  return p.batch <= 0 || p.out_c <= 0 || p.out_h <= 0 || p.out_w <= 0 || p.groups <= 0;
}

int32_t number(const void* at, int64_t i, bool is_signed) {
  if (at == nullptr) return 0;
  return is_signed ? static_cast<const std::int8_t*>(at)[i] : static_cast<const uint8_t*>(at)[i];
}

/// Padded copies of lines of an image.
struct Lines {
  static constexpr int64_t kPast = 16;  ///< bytes that may be read behind a line
  static int64_t width(const ConvParams& p) { return (p.out_w - 1) * p.stride_w + p.kernel_w; }
  static int64_t bytes(const ConvParams& p) { return width(p) * p.in_c + kPast; }
  /// Input lines of `count` output lines.
  static int64_t lines(const ConvParams& p, int64_t count) {
    return (count - 1) * p.stride_h + (p.kernel_h - 1) * p.dilation_h + 1;
  }
  static int64_t most(const ConvParams& p, int64_t rows) {
    return lines(p, std::min(p.out_h, ceil_div(rows, p.out_w) + 1)) * bytes(p);
  }

  /// Input lines from `first` on.
  static void copy(const ConvParams& p, const uint8_t* image, int64_t first, int64_t count, uint8_t outside,
                   uint8_t* to) {
    const int64_t lo = std::clamp<int64_t>(p.pad_left, 0, width(p));
    const int64_t hi = std::clamp<int64_t>(p.in_w + p.pad_left, lo, width(p));
    for (int64_t y = first; y < first + count; ++y, to += bytes(p)) {
      std::memset(to, outside, static_cast<std::size_t>(bytes(p)));
      if (y < 0 || y >= p.in_h || hi == lo) continue;
      std::memcpy(to + lo * p.in_c, image + (y * p.in_w + lo - p.pad_left) * p.in_c,
                  static_cast<std::size_t>((hi - lo) * p.in_c));
    }
  }
};

/// Where a run's scratch is.
struct Scratch {
  uint8_t* lines;            ///< with their padding
  std::byte* product;        ///< of byte_product()
  int32_t* sums;             ///< a block of y that passes, or of which only a group is known
  const uint8_t** pointers;  ///< of some rows
  uint8_t* outside;          ///< a pixel of zero points
  std::int16_t* weights;     ///< of a depthwise convolution
  std::size_t bytes;

  /// `at`: null if only `bytes` is asked for.
  Scratch(const ConvParams& p, const Shape& s, void* at) {
    Carver carver(at);
    const int64_t block = ceil_div(s.rows, s.row_blocks);
    const int64_t channels = ceil_div(p.out_c, kByteChannels) * kByteChannels;
    lines = carver.take<uint8_t>(s.lines ? Lines::most(p, block) : 0);
    product = carver.take<std::byte>(s.depthwise ? 0 : static_cast<int64_t>(byte_product_scratch(s.depth)));
    sums = carver.take<int32_t>(block * p.out_c);
    pointers = carver.take<const uint8_t*>((s.taps + 1) * kByteRowsAtOnce);
    outside = carver.take<uint8_t>(std::max<int64_t>(p.in_c, 1));
    weights = carver.take<std::int16_t>(s.depthwise ? channels * (s.taps + 1) : 0);
    bytes = static_cast<std::size_t>(carver.used() + kLineBytes);
  }
};

/// Reads an image.
struct Reader {
  const ByteConvNhwc& c;
  const Shape& s;
  const uint8_t* outside;
  int64_t first_channel;
  const uint8_t* lines = nullptr;  ///< with Shape::lines: those from `first_line` on
  int64_t first_line = 0;

  const ConvParams& p() const { return c.form.params; }

  struct Position {
    const uint8_t* image;
    int64_t y, x;
  };
  Position position(int64_t row) const {
    const int64_t area = p().out_h * p().out_w, item = row / area, at = row - item * area, y = at / p().out_w;
    return {static_cast<const uint8_t*>(c.x) + item * p().in_h * p().in_w * p().in_c + first_channel,
            y * p().stride_h - p().pad_top, (at - y * p().out_w) * p().stride_w - p().pad_left};
  }

  /// Pointers to the pixels of a window, or to its lines, `step` apart.
  void window(const Position& at, const uint8_t** to, int64_t step) const {
    if (s.lines) {
      const uint8_t* line = lines + (at.y - first_line) * Lines::bytes(p()) + (at.x + p().pad_left) * p().in_c;
      for (int64_t i = 0; i < p().kernel_h; ++i, line += p().dilation_h * Lines::bytes(p()), to += step) *to = line;
      return;
    }
    const int64_t line = p().in_w * p().in_c;
    if (is_inside(at)) return inner_window(at.image + at.y * line + at.x * p().in_c, to, step);
    for (int64_t i = 0, y = at.y; i < p().kernel_h; ++i, y += p().dilation_h) {
      const bool in_lines = y >= 0 && y < p().in_h;
      const uint8_t* const from = at.image + y * line;
      for (int64_t j = 0, x = at.x; j < p().kernel_w; ++j, x += p().dilation_w, to += step)
        *to = in_lines && x >= 0 && x < p().in_w ? from + x * p().in_c : outside;
    }
  }

  bool is_inside(const Position& at) const {
    return at.y >= 0 && at.x >= 0 && at.y + (p().kernel_h - 1) * p().dilation_h < p().in_h &&
           at.x + (p().kernel_w - 1) * p().dilation_w < p().in_w;
  }

  void inner_window(const uint8_t* line, const uint8_t** to, int64_t step) const {
    for (int64_t i = 0; i < p().kernel_h; ++i, line += p().dilation_h * p().in_w * p().in_c) {
      const uint8_t* pixel = line;
      for (int64_t j = 0; j < p().kernel_w; ++j, pixel += p().dilation_w * p().in_c, to += step) *to = pixel;
    }
  }

  static void point(const void* self, int64_t row, int64_t count, const uint8_t** to) {
    const auto& r = *static_cast<const Reader*>(self);
    const ConvParams& p = r.p();
    for (int64_t i = 0; i < count;) {
      Position at = r.position(row + i);
      const int64_t past = std::min(count, i + p.out_w - (row + i) % p.out_w);  // of a line
      for (; i < past; ++i, at.x += p.stride_w) r.window(at, to + i, count);
    }
  }

  /// A row of the kernel as one run of bytes, where that is what the image has.
  bool copies_line(const Position& at, int64_t y, uint8_t* to) const {
    const int64_t size = p().kernel_w * p().in_c;
    const bool inside = y >= 0 && y < p().in_h && at.x >= 0 && at.x + p().kernel_w <= p().in_w;
    if (!inside || p().dilation_w != 1 || p().groups != 1) return false;
    std::memcpy(to, at.image + (y * p().in_w + at.x) * p().in_c, static_cast<std::size_t>(size));
    return true;
  }

  static const void* row(const void* self, int64_t row, void* buffer) {
    const auto& r = *static_cast<const Reader*>(self);
    const ConvParams& p = r.p();
    const Position at = r.position(row);
    if (r.s.taps == 1 && at.y >= 0 && at.y < p.in_h && at.x >= 0 && at.x < p.in_w)
      return at.image + (at.y * p.in_w + at.x) * p.in_c;
    auto* to = static_cast<uint8_t*>(buffer);
    if (r.s.lines) return r.copy_lines(at, to);
    const int64_t line = p.kernel_w * r.s.group_in;
    for (int64_t i = 0, y = at.y; i < p.kernel_h; ++i, y += p.dilation_h, to += line) {
      if (!r.copies_line(at, y, to)) r.copy_pixels(at, y, to);
    }
    return buffer;
  }

  const void* copy_lines(const Position& at, uint8_t* to) const {
    const uint8_t* line = lines + (at.y - first_line) * Lines::bytes(p()) + (at.x + p().pad_left) * p().in_c;
    const int64_t depth = Shape::line_depth(p());
    for (int64_t i = 0; i < p().kernel_h; ++i, line += p().dilation_h * Lines::bytes(p()))
      std::memcpy(to + i * depth, line, static_cast<std::size_t>(depth));
    return to;
  }

  void copy_pixels(const Position& at, int64_t y, uint8_t* to) const {
    const auto size = static_cast<std::size_t>(s.group_in);
    for (int64_t j = 0, x = at.x; j < p().kernel_w; ++j, x += p().dilation_w, to += size) {
      const bool inside = y >= 0 && y < p().in_h && x >= 0 && x < p().in_w;
      std::memcpy(to, inside ? at.image + (y * p().in_w + x) * p().in_c : outside, size);
    }
  }
};

/// A product whose rows the reader gives: columns [col0, col1) of a group.
ByteProduct product_of(const ByteConvNhwc& c, const Shape& s, const Reader& reader, const Scratch& scratch,
                       int64_t group, int64_t col0, int64_t col1) {
  const int64_t first = group * s.group_out + col0;
  ByteProduct g{.n = col1 - col0,
                .k = s.depth,
                .signed_a = c.signed_x,
                .signed_b = c.signed_w,
                .a = {.row = &Reader::row, .context = &reader},
                .packed_b = static_cast<const std::byte*>(c.packed_w) + group * s.panels(),
                .a_zero = c.x_zero,
                .c_row = c.form.params.out_c,
                .first_col = first,
                .packed_cols = s.group_out,
                .packed_from = col0};
  if (s.pointers) g.a.taps = s.taps, g.a.point = &Reader::point, g.a.pointers = scratch.pointers;
  if (c.w_zero != nullptr) g.b_zero = static_cast<const uint8_t*>(c.w_zero) + first * c.w_zero_step;
  g.b_zero_step = c.w_zero_step;
  return g;
}

/// One group: the product tells of its tiles itself, where these are as wide as the callback wants them.
void multiply_columns(const ByteConvNhwc& c, const Shape& s, const Scratch& scratch, int64_t row0, int64_t row1,
                      int64_t col0, int64_t col1) {
  Reader reader{c, s, scratch.outside, 0};
  if (s.lines) reader.lines = scratch.lines, reader.first_line = reader.position(row0).y;
  ByteProduct g = product_of(c, s, reader, scratch, 0, col0, col1);
  if (c.y != nullptr) g.c = c.y + col0;
  g.passed = scratch.sums;
  g.on_tile = c.on_tile;
  byte_product(g, row0, row1, scratch.product);
}

/// Copies the lines that rows of a plane read.
void copy_lines(const ByteConvNhwc& c, const Scratch& scratch, int64_t row0, int64_t row1) {
  const ConvParams& p = c.form.params;
  const int64_t first = row0 / p.out_w, last = (row1 - 1) / p.out_w, item = first / p.out_h;
  Lines::copy(p, static_cast<const uint8_t*>(c.x) + item * p.in_h * p.in_w * p.in_c,
              first % p.out_h * p.stride_h - p.pad_top, Lines::lines(p, last - first + 1), scratch.outside[0],
              scratch.lines);
}

/// Returns where row `row0` and those after it are written, with all columns.
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
    const Reader reader{c, s, scratch.outside, group * s.group_in};
    ByteProduct g = product_of(c, s, reader, scratch, group, 0, s.group_out);
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

/// The packed weights, [tap][channel], less their zero points, by pairs of taps.
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
          const int64_t zero = number(c.w_zero, (first + i) * c.w_zero_step, c.signed_w);
          const int64_t at = (tap + t) * channels + first + i;
          two[t][i] = static_cast<std::int16_t>(number(w, at, c.signed_w) - zero);
        }
      }
      pair(two[0], two[1], to);
    }
  }
}

void sum_channels(const ByteConvNhwc& c, const Shape& s, const Scratch& scratch, int64_t row0, int64_t row1) {
  const Reader reader{c, s, scratch.outside, 0};
  const ChannelsFn sum = channels_fn();
  const ByteChannels channels{.at = scratch.pointers,
                              .weights = scratch.weights,
                              .pairs = ceil_div(s.taps, 2),
                              .channels = c.form.params.out_c,
                              .zero = static_cast<std::int16_t>(number(c.x_zero, 0, c.signed_x)),
                              .is_signed = c.signed_x};
  int32_t* const y = sums_of(c, scratch, row0);
  PollThrottle throttle;
  for (int64_t row = row0; row < row1 && !throttle.stop(s.taps * channels.channels); ++row) {
    reader.window(reader.position(row), scratch.pointers, 1);
    scratch.pointers[s.taps] = scratch.outside;
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
  // Rows of a product are taps, then channels: those of each tap are packed as a matrix of their own would be.
  for (int64_t group = 0; group < p.groups; ++group) {
    byte_pack_taps(s.group_in, s.taps, s.group_out, from + group * s.group_out * s.depth, signed_w,
                   to + group * s.panels());
  }
}

std::int64_t byte_nhwc_units_per_rows(const ByteNhwcForm& form) noexcept {
  return empty(form.params) ? 1 : Shape(form).col_blocks;
}

std::int64_t byte_nhwc_units(const ByteNhwcForm& form) noexcept {
  if (empty(form.params)) return 0;
  const Shape s(form);
  return s.planes * s.row_blocks * s.col_blocks;
}

std::size_t byte_nhwc_scratch(const ByteNhwcForm& form) noexcept {
  if (empty(form.params)) return 0;
  return Scratch(form.params, Shape(form), nullptr).bytes;
}

void byte_nhwc_range(const ByteConvNhwc& c, int64_t begin, int64_t end, void* memory) noexcept {
  const ConvParams& p = c.form.params;
  if (empty(p) || begin >= end) return;
  const Shape s(c.form);
  const Scratch scratch(p, s, memory);
  std::memset(scratch.outside, number(c.x_zero, 0, c.signed_x), static_cast<std::size_t>(p.in_c));
  if (s.depthwise) pair_weights(c, s, scratch.weights);
  const bool together = s.col_blocks > 1 && c.on_tile != nullptr && c.on_tile->whole_rows;
  for (int64_t u = begin; u < end && !stop_requested(); ++u) {
    const int64_t all_blocks = u / s.col_blocks, part = u % s.col_blocks;
    const int64_t plane = all_blocks / s.row_blocks, block = all_blocks % s.row_blocks;
    const int64_t row0 = plane * s.rows + s.row(block), row1 = plane * s.rows + s.row(block + 1);
    if (s.lines && (part == 0 || u == begin)) copy_lines(c, scratch, row0, row1);
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
