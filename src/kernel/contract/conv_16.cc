#include "kernel/contract/conv_16.h"

#include <algorithm>
#include <cstring>

#include "base/extents.h"
#include "base/poll_throttle.h"
#include "kernel/contract/gemm_16.h"
#include "kernel/simd/aligned.h"

namespace frazil::kernel {
namespace {

using std::int64_t;
using std::uint16_t;

constexpr int64_t kUnitRows = 288;
constexpr int64_t kFewChannels = 8;  ///< whose lines are copied with their padding, as pixels are too short

bool is_empty(const ConvParams& p) { return p.batch <= 0 || p.out_c <= 0 || p.out_h <= 0 || p.out_w <= 0; }

/// How the rows of the product, which are output positions, lie in the image.
struct Shape {
  bool pixels = false;   ///< each row is one pixel, in the order of the image
  bool lines = false;    ///< a tap is a row of the kernel, read from padded lines
  int64_t channels = 0;  ///< of a pixel as it is read; an even number
  int64_t taps = 1, depth = 0;
  int64_t rows = 0, units = 0;

  explicit Shape(const ConvParams& p) {
    const bool one = p.kernel_h == 1 && p.kernel_w == 1 && p.pad_top == 0 && p.pad_left == 0;
    pixels = one && p.stride_h == 1 && p.stride_w == 1 && p.in_h == p.out_h && p.in_w == p.out_w;
    lines = p.in_c < kFewChannels && p.kernel_w > 1 && p.dilation_w == 1;
    channels = lines ? round_up(p.in_c, 2) : p.in_c;
    taps = lines ? p.kernel_h : p.kernel_h * p.kernel_w;
    depth = lines ? p.kernel_w * channels : channels;
    rows = p.batch * p.out_h * p.out_w;
    units = std::max<int64_t>(1, ceil_div(rows, kUnitRows));
  }
  int64_t k() const { return taps * depth; }
  int64_t begin(int64_t unit) const { return unit * rows / units; }
  int64_t most_rows() const { return ceil_div(rows, units); }
};

int64_t padded_width(const ConvParams& p) { return (p.out_w - 1) * p.stride_w + p.kernel_w; }

/// Input lines that rows of a unit need, with those between images.
int64_t padded_lines(const ConvParams& p, const Shape& s) {
  return (ceil_div(s.most_rows(), p.out_w) + 1) * (p.stride_h + (p.kernel_h - 1) * p.dilation_h + 1);
}

/// An output position.
struct Position {
  int64_t item, y, x;
  Position(const ConvParams& p, int64_t row)
      : item(row / (p.out_h * p.out_w)), y(row / p.out_w % p.out_h), x(row % p.out_w) {}
  void next(const ConvParams& p) {
    if (++x < p.out_w) return;
    x = 0;
    if (++y < p.out_h) return;
    y = 0;
    ++item;
  }
};

class Pointers {
 public:
  Pointers(const ConvParams& p, const Shape& s, const uint16_t* x, uint16_t* buffer)
      : p_(p), s_(s), x_(x), buffer_(buffer) {
    if (!s.lines) std::fill_n(buffer, p.in_c, uint16_t{0});
  }

  static void point(const void* self, int64_t begin, int64_t end, const uint16_t** at) {
    const auto& pointers = *static_cast<const Pointers*>(self);
    pointers.s_.lines ? pointers.at_lines(begin, end, at) : pointers.at_pixels(begin, end, at);
  }

 private:
  void at_pixels(int64_t begin, int64_t end, const uint16_t** at) const {
    Position to(p_, begin);
    for (int64_t row = begin; row < end; ++row, to.next(p_)) {
      const uint16_t* const image = x_ + to.item * p_.in_h * p_.in_w * p_.in_c;
      const int64_t left = to.x * p_.stride_w - p_.pad_left;
      int64_t y = to.y * p_.stride_h - p_.pad_top;
      for (int64_t i = 0; i < p_.kernel_h; ++i, y += p_.dilation_h) {
        const bool in_lines = y >= 0 && y < p_.in_h;
        int64_t x = left;
        for (int64_t j = 0; j < p_.kernel_w; ++j, x += p_.dilation_w)
          *at++ = in_lines && x >= 0 && x < p_.in_w ? image + (y * p_.in_w + x) * p_.in_c : buffer_;
      }
    }
  }

  /// Copies the lines that each line of outputs needs, unless the one before has them.
  void at_lines(int64_t begin, int64_t end, const uint16_t** at) const {
    const int64_t width = padded_width(p_) * s_.channels, tall = (p_.kernel_h - 1) * p_.dilation_h + 1;
    Position to(p_, begin);
    uint16_t* lines = buffer_;
    int64_t copied = -1, first = 0, past = 0;  // lines [first, past) of image `copied`
    for (int64_t row = begin; row < end; ++row, to.next(p_)) {
      const int64_t top = to.y * p_.stride_h - p_.pad_top;
      if (to.item != copied || top + tall > past) {
        if (to.item != copied || top > past) {
          lines += (past - first) * width;
          first = past = top;
        }
        for (copied = to.item; past < top + tall; ++past) copy_line(copied, past, lines + (past - first) * width);
      }
      for (int64_t tap = 0; tap < s_.taps; ++tap)
        *at++ = lines + (top + tap * p_.dilation_h - first) * width + to.x * p_.stride_w * s_.channels;
    }
  }

  void copy_line(int64_t item, int64_t y, uint16_t* to) const {
    const int64_t width = padded_width(p_), channels = s_.channels;
    std::fill_n(to, width * channels, uint16_t{0});
    const int64_t lo = std::clamp<int64_t>(p_.pad_left, 0, width), hi = std::clamp(p_.in_w + p_.pad_left, lo, width);
    if (y < 0 || y >= p_.in_h || lo == hi) return;
    const uint16_t* from = x_ + ((item * p_.in_h + y) * p_.in_w + lo - p_.pad_left) * p_.in_c;
    for (int64_t i = lo; i < hi; ++i)
      for (int64_t c = 0; c < p_.in_c; ++c) to[i * channels + c] = *from++;
  }

  const ConvParams& p_;
  const Shape& s_;
  const uint16_t* x_;
  uint16_t* buffer_;
};

std::size_t buffer_bytes(const ConvParams& p, const Shape& s) {
  const int64_t elements = s.lines ? padded_lines(p, s) * padded_width(p) * s.channels : p.in_c;
  return static_cast<std::size_t>(round_up(elements * static_cast<int64_t>(sizeof(uint16_t)), kLineBytes));
}

}  // namespace

std::size_t half_conv_packed_w_bytes(const HalfConv& conv) noexcept {
  return half_packed_b_bytes(conv.elem, Shape(conv.params).k(), conv.params.out_c);
}

void half_conv_pack_w(const HalfConv& conv, const void* w, void* packed) noexcept {
  const ConvParams& p = conv.params;
  const Shape s(p);
  const int64_t taps = p.kernel_h * p.kernel_w;
  if (taps == 1 && s.channels == p.in_c) return half_pack_b(conv.elem, s.k(), p.out_c, w, 1, p.in_c, packed);
  const auto* const from = static_cast<const std::byte*>(w);
  auto* const to = static_cast<uint16_t*>(packed);
  std::memset(packed, 0, half_conv_packed_w_bytes(conv));
  PollThrottle throttle;
  for (int64_t out = 0; out < p.out_c && !throttle.stop(p.in_c * taps); ++out) {
    for (int64_t c = 0; c < p.in_c; ++c) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        uint16_t x;
        std::memcpy(&x, from + ((out * p.in_c + c) * taps + tap) * static_cast<int64_t>(sizeof x), sizeof x);
        to[half_packed_place(conv.elem, s.k(), tap * s.channels + c, out)] = x;
      }
    }
  }
}

int64_t half_conv_units(const HalfConv& conv) noexcept { return is_empty(conv.params) ? 0 : Shape(conv.params).units; }

std::size_t half_conv_scratch_bytes(const HalfConv& conv) noexcept {
  if (is_empty(conv.params)) return 0;
  const Shape s(conv.params);
  return buffer_bytes(conv.params, s) + half_product_scratch(s.rows, s.k(), s.pixels ? 0 : s.taps) + kLineBytes;
}

void half_conv_range(const HalfConv& conv, const void* x, const void* packed_w, const HalfColumns& columns, void* y,
                     int64_t unit_begin, int64_t unit_end, void* scratch, const TileCallback* on_tile) noexcept {
  const ConvParams& p = conv.params;
  if (is_empty(p) || unit_begin >= unit_end) return;
  const Shape s(p);
  auto* const buffer = reinterpret_cast<uint16_t*>(aligned(scratch));
  const Pointers pointers(p, s, static_cast<const uint16_t*>(x), buffer);
  HalfProduct g{.elem = conv.elem,
                .pairs = !conv.strict,
                .m = s.rows,
                .n = p.out_c,
                .k = s.k(),
                .a = static_cast<const uint16_t*>(x),
                .a_row = p.in_c,
                .runs = {},
                .packed_b = packed_w,
                .c = y,
                .c_row = p.out_c,
                .bias = static_cast<const uint16_t*>(columns.bias),
                .addend = static_cast<const uint16_t*>(columns.addend),
                .scale = columns.scale,
                .shift = columns.shift,
                .addend_row = p.out_c,
                .bias_in_sum = true,
                .slope = conv.slope,
                .on_tile = on_tile};
  if (!s.pixels) g.runs = {&Pointers::point, &pointers, s.taps, s.depth};
  half_product(g, s.begin(unit_begin), s.begin(unit_end), reinterpret_cast<std::byte*>(buffer) + buffer_bytes(p, s));
}

}  // namespace frazil::kernel
