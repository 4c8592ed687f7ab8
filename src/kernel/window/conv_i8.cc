#include "kernel/window/conv_i8.h"

#include <algorithm>
#include <cstring>

#include "base/thread/poll_throttle.h"
#include "base/value/extents.h"
#include "kernel/contract/gemm_i8.h"
#include "kernel/contract/gemm_i8.simd.h"
#include "kernel/simd/isa.h"
#include "kernel/window/conv_i8.simd.h"

// The weights are multiplied with patches of the image: channels are rows, positions are columns. The patches of some
// positions at a time are written as a packed B. With few output channels per group that does not pay, and lines of the
// image are multiplied with one weight each instead.
namespace frazil::kernel {
namespace {

using std::int32_t;
using std::int64_t;
using std::uint8_t;

constexpr int64_t kFewChannels = 4;
constexpr int64_t kPatchBytes = int64_t{3} << 18;  ///< bytes of a packed B
constexpr int64_t kMaxCols = 1024;

struct Shape {
  int64_t group_in, group_out, positions, depth;
  int64_t chunk, chunks;  ///< positions at a time
  bool direct;
};

Shape shape_of(const ConvParams& p) {
  Shape s{};
  s.group_in = p.in_c / p.groups;
  s.group_out = p.out_c / p.groups;
  s.positions = p.out_h * p.out_w;
  s.depth = s.group_in * p.kernel_h * p.kernel_w;
  s.direct = s.group_out < kFewChannels || s.depth == 0;
  const int64_t most = kPatchBytes / std::max<int64_t>(s.depth, 1) / kByteCols * kByteCols;
  const int64_t cols = std::clamp(most, kByteCols, kMaxCols);
  s.chunks = s.direct ? 1 : std::max<int64_t>(1, ceil_div(s.positions, cols));
  s.chunk = byte_cols(ceil_div(s.positions, s.chunks));
  return s;
}

/// The part [lo, hi) of n output positions that reads inside a line of the image. Position 0 reads pixel `first`.
struct Inside {
  int64_t first, lo, hi;
  Inside(int64_t at, int64_t step, int64_t n, int64_t width) : first(at) {
    lo = std::clamp<int64_t>(ceil_div(-at, step), 0, n);
    hi = std::clamp<int64_t>(ceil_div(width - at, step), lo, n);
  }
};

/// A channel, and the offset of a kernel position from the pixel of an output position.
struct Tap {
  int64_t channel, dy, dx;
  Tap(const ConvParams& p, int64_t k)
      : channel(k / (p.kernel_h * p.kernel_w)),
        dy(k / p.kernel_w % p.kernel_h * p.dilation_h - p.pad_top),
        dx(k % p.kernel_w * p.dilation_w - p.pad_left) {}
};

/// Copies the pixels that positions [x0, x0 + n) of output line y read for one tap. `plane` is the tap's channel.
void read_line(const ConvParams& p, const uint8_t* plane, const Tap& tap, int64_t y, int64_t x0, int64_t n,
               uint8_t outside, uint8_t* to) {
  const int64_t row = y * p.stride_h + tap.dy;
  if (row < 0 || row >= p.in_h) {
    std::memset(to, outside, static_cast<std::size_t>(n));
    return;
  }
  const Inside in(x0 * p.stride_w + tap.dx, p.stride_w, n, p.in_w);
  const uint8_t* const line = plane + row * p.in_w;
  for (int64_t i = 0; i < in.lo; ++i) to[i] = outside;
  for (int64_t i = in.hi; i < n; ++i) to[i] = outside;
  if (in.hi == in.lo) return;
  if (p.stride_w == 1) {
    std::memcpy(to + in.lo, line + (in.first + in.lo), static_cast<std::size_t>(in.hi - in.lo));
  } else {
    for (int64_t i = in.lo; i < in.hi; ++i) to[i] = line[in.first + i * p.stride_w];
  }
}

/// Copies the pixels that positions [first, first + n) read for one tap.
void read_tap(const ConvParams& p, const uint8_t* x, int64_t k, int64_t first, int64_t n, uint8_t outside,
              uint8_t* to) {
  const Tap tap(p, k);
  const uint8_t* const plane = x + tap.channel * p.in_h * p.in_w;
  for (int64_t done = 0; done < n;) {
    const int64_t y = (first + done) / p.out_w, x0 = (first + done) % p.out_w;
    const int64_t part = std::min(p.out_w - x0, n - done);
    read_line(p, plane, tap, y, x0, part, outside, to + done);
    done += part;
  }
}

/// Returns true for a 1 x 1 kernel whose output positions are those of the image, which can be read in place.
bool reads_in_place(const ConvParams& p) {
  return p.kernel_h == 1 && p.kernel_w == 1 && p.stride_h == 1 && p.stride_w == 1 && p.pad_top == 0 &&
         p.pad_left == 0 && p.in_h == p.out_h && p.in_w == p.out_w;
}

/// Interleaves sixteen columns of four taps as [column][tap].
void interleave(const uint8_t* const (&rows)[4], int64_t at, uint8_t flip, uint8_t* to) {
  using Bytes = uint8_t __attribute__((vector_size(16)));
  Bytes v[4];
  for (int t = 0; t < 4; ++t) {
    std::memcpy(&v[t], rows[t] + at, sizeof v[t]);
    v[t] ^= flip;
  }
  const auto pair = [](Bytes a, Bytes b, Bytes(&out)[2]) {
    out[0] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    out[1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  };
  Bytes low[2], high[2];
  pair(v[0], v[1], low);
  pair(v[2], v[3], high);
  for (int h = 0; h < 2; ++h) {
    const Bytes a = low[h], b = high[h];
    const Bytes first = __builtin_shufflevector(a, b, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23);
    const Bytes last = __builtin_shufflevector(a, b, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30, 31);
    std::memcpy(to + h * 32, &first, sizeof first);
    std::memcpy(to + h * 32 + 16, &last, sizeof last);
  }
}

/// Patches as a packed B, in the format of byte_pack_b().
class Patches {
 public:
  Patches(const ByteConv& conv, const Shape& s, int64_t cols, uint8_t* scratch)
      : c_(conv),
        s_(s),
        cols_(cols),
        padded_(byte_cols(cols)),
        sums_(reinterpret_cast<int32_t*>(scratch)),
        panels_(scratch + padded_ * static_cast<int64_t>(sizeof(int32_t))),
        rows_(panels_ + padded_ * 4 * byte_quads(s.depth)) {}

  /// Writes the patches of positions from `first` on. `x` are the channels of the group.
  void write(const uint8_t* x, int64_t first) {
    const auto outside = static_cast<uint8_t>(byte_at(c_.x_zero, 0, c_.signed_x));
    const bool in_place = reads_in_place(c_.params) && cols_ == padded_;
    std::memset(sums_, 0, static_cast<std::size_t>(padded_) * sizeof *sums_);
    const uint8_t flip = c_.signed_x ? 0x80 : 0;
    std::memset(rows_, flip, static_cast<std::size_t>(4 * padded_));
    PollThrottle throttle;
    for (int64_t k = 0; k < s_.depth && !throttle.stop(4 * cols_); k += 4) {
      const uint8_t* rows[4];
      for (int64_t t = 0; t < 4; ++t) {
        uint8_t* const row = rows_ + t * padded_;
        rows[t] = row;
        if (k + t >= s_.depth) {  // zeros after flipping
          std::memset(row, flip, static_cast<std::size_t>(padded_));
          continue;
        }
        if (in_place) {
          rows[t] = x + (k + t) * s_.positions + first;
        } else {
          read_tap(c_.params, x, k + t, first, cols_, outside, row);
        }
        if (needs_sums()) add(rows[t]);
      }
      for (int64_t j = 0; j < padded_; j += 16) {
        interleave(
            rows, j, flip,
            panels_ + (j / kByteCols * byte_quads(s_.depth) * kByteCols + k / 4 * kByteCols + j % kByteCols) * 4);
      }
    }
  }
  const void* packed() const { return sums_; }

 private:
  /// Returns whether sums of columns matter: a weight's zero point, as the product sees it, is not 0.
  bool needs_sums() const { return !c_.signed_w || c_.w_zero != nullptr; }

  void add(const uint8_t* row) {
    const int32_t move = c_.signed_x ? 128 : 0;
    for (int64_t j = 0; j < cols_; ++j) {
      sums_[j] += c_.signed_x ? static_cast<std::int8_t>(row[j]) + move : row[j];
    }
  }

  const ByteConv& c_;
  const Shape& s_;
  int64_t cols_, padded_;
  int32_t* sums_;
  uint8_t *panels_, *rows_;
};

/// A callback that forwards tiles of a group's rows as rows of y.
struct Moved {
  const TileCallback* to;
  int64_t row;
  static void done(void* self, int64_t row0, int64_t row1, int64_t col0, int64_t col1) {
    const auto& m = *static_cast<const Moved*>(self);
    (*m.to)(m.row + row0, m.row + row1, col0, col1);
  }
};

/// One group of one image.
struct Plane {
  const uint8_t *x, *w;
  const void* w_zero;
  int32_t* y;
  int64_t row;  ///< first row of y
  Plane(const ByteConv& c, const Shape& s, int64_t index) {
    const ConvParams& p = c.params;
    const int64_t item = index / p.groups, group = index % p.groups;
    row = item * p.out_c + group * s.group_out;
    x = static_cast<const uint8_t*>(c.x) + (item * p.in_c + group * s.group_in) * p.in_h * p.in_w;
    w = static_cast<const uint8_t*>(c.w) + group * s.group_out * s.depth;
    w_zero =
        c.w_zero == nullptr ? nullptr : static_cast<const uint8_t*>(c.w_zero) + group * s.group_out * c.w_zero_step;
    y = c.y + row * s.positions;
  }
};

void multiply(const ByteConv& c, const Shape& s, const Plane& plane, int64_t chunk, std::byte* scratch) {
  const int64_t first = chunk * s.chunk, cols = std::min(s.chunk, s.positions - first);
  if (cols <= 0) return;
  Patches patches(c, s, cols, reinterpret_cast<uint8_t*>(scratch + byte_product_scratch(s.depth, 0)));
  patches.write(plane.x, first);
  Moved moved{c.on_tile, plane.row};
  const TileCallback on_tile{&Moved::done, &moved, false};
  byte_product({.n = cols,
                .k = s.depth,
                .signed_a = c.signed_w,
                .signed_b = c.signed_x,
                .a = plane.w,
                .a_row = s.depth,
                .packed_b = patches.packed(),
                .a_zero = plane.w_zero,
                .b_zero = c.x_zero,
                .a_zero_step = c.w_zero_step,
                .c = plane.y + first,
                .c_row = s.positions,
                .on_tile = c.on_tile != nullptr && !c.on_tile->whole_rows ? &on_tile : nullptr,
                .first_col = first},
               0, s.group_out, scratch);
}

using TapsFn = void (*)(int32_t*, const ByteTaps&, int64_t) noexcept;

TapsFn taps_fn() { FRAZIL_DISPATCH(byte_taps); }

/// A channel minus its zero point, with its padding. In each line, pixels that are a multiple of the stride apart are
/// adjacent, so that a tap reads adjacent pixels.
struct Lines {
  int64_t rows, width, step;  ///< width: of the part of a line that begins at one residue of the stride
  explicit Lines(const ConvParams& p)
      : rows((p.out_h - 1) * p.stride_h + (p.kernel_h - 1) * p.dilation_h + 1),
        width(p.out_w + (p.kernel_w - 1) * p.dilation_w / p.stride_w + 1),
        step(p.stride_w) {}
  static constexpr int64_t kPast = 32;  ///< elements that ByteTaps may read past the end
  int64_t size() const { return rows * width * step + kPast; }
  int64_t index(int64_t row, int64_t at) const { return (row * step + at % step) * width + at / step; }

  template <class X>
  void fill(const ConvParams& p, const X* x, int32_t zero, std::int16_t* to) const {
    std::memset(to, 0, static_cast<std::size_t>(size()) * sizeof *to);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t from = row - p.pad_top;
      if (from < 0 || from >= p.in_h) continue;
      for (int64_t first = 0; first < step; ++first) {
        const Inside in(first - p.pad_left, step, width, p.in_w);
        const X* const line = x + from * p.in_w;
        std::int16_t* const part = to + (row * step + first) * width;
        if (step == 1) {
          for (int64_t i = in.lo; i < in.hi; ++i) part[i] = static_cast<std::int16_t>(line[in.first + i] - zero);
        } else {
          for (int64_t i = in.lo; i < in.hi; ++i) part[i] = static_cast<std::int16_t>(line[in.first + i * step] - zero);
        }
      }
    }
  }
};

/// Points `taps` to the lines that taps [first, last) of one channel read for output line y.
void point(const ByteConv& c, const Lines& lines, const std::int16_t* x, int64_t y, int64_t first, int64_t last,
           ByteTaps& taps) {
  const ConvParams& p = c.params;
  for (int64_t t = first; t < last; ++t) {
    const int64_t row = y * p.stride_h + t / p.kernel_w * p.dilation_h;
    taps.at[t - first] = x + lines.index(row, t % p.kernel_w * p.dilation_w);
  }
  if ((last - first) % 2 != 0) taps.at[last - first] = taps.at[last - first - 1];
}

/// Sets the factors of `count` taps, two per number. The factor of a missing tap is 0.
void set_tap_factors(const ByteConv& c, const uint8_t* w, int32_t zero, int64_t count, ByteTaps& taps) {
  taps.pairs = ceil_div(count, 2);
  for (int64_t q = 0; q < taps.pairs; ++q) {
    const int32_t low = byte_at(w, 2 * q, c.signed_w) - zero;
    const int32_t high = 2 * q + 1 < count ? byte_at(w, 2 * q + 1, c.signed_w) - zero : 0;
    taps.factors[q] =
        static_cast<int32_t>(static_cast<std::uint32_t>(high) << 16 | (static_cast<std::uint32_t>(low) & 0xffff));
  }
}

/// Adds the products of one channel of the image to one channel of the result.
void add_channel(const ByteConv& c, const Lines& lines, const std::int16_t* x, const uint8_t* w, int32_t w_zero,
                 bool first_channel, int32_t* y) {
  const ConvParams& p = c.params;
  const int64_t count = p.kernel_h * p.kernel_w;
  const TapsFn sum = taps_fn();
  ByteTaps taps;
  for (int64_t first = 0; first < count; first += ByteTaps::kMaxTaps) {
    const int64_t last = std::min(count, first + ByteTaps::kMaxTaps);
    set_tap_factors(c, w + first, w_zero, last - first, taps);
    taps.accumulate = !first_channel || first > 0;
    for (int64_t i = 0; i < p.out_h; ++i) {
      point(c, lines, x, i, first, last, taps);
      sum(y + i * p.out_w, taps, p.out_w);
    }
  }
}

void multiply_lines(const ByteConv& c, const Shape& s, const Plane& plane, std::byte* scratch) {
  const ConvParams& p = c.params;
  const Lines lines(p);
  auto* const x = reinterpret_cast<std::int16_t*>(scratch);
  const int32_t zero = byte_at(c.x_zero, 0, c.signed_x);
  if (s.depth == 0) std::memset(plane.y, 0, static_cast<std::size_t>(s.group_out * s.positions) * sizeof *plane.y);
  for (int64_t channel = 0; channel < s.group_in && s.depth > 0 && !stop_requested(); ++channel) {
    const uint8_t* const from = plane.x + channel * p.in_h * p.in_w;
    c.signed_x ? lines.fill(p, reinterpret_cast<const std::int8_t*>(from), zero, x) : lines.fill(p, from, zero, x);
    for (int64_t i = 0; i < s.group_out; ++i) {
      const uint8_t* const w = plane.w + (i * s.group_in + channel) * p.kernel_h * p.kernel_w;
      add_channel(c, lines, x, w, byte_at(plane.w_zero, i * c.w_zero_step, c.signed_w), channel == 0,
                  plane.y + i * s.positions);
    }
  }
}

}  // namespace

int64_t byte_conv_units_per_plane(const ConvParams& p) noexcept { return p.empty() ? 1 : shape_of(p).chunks; }

int64_t byte_conv_units(const ConvParams& p) noexcept {
  return p.empty() ? 0 : p.batch * p.groups * byte_conv_units_per_plane(p);
}

std::size_t byte_conv_scratch(const ConvParams& p) noexcept {
  if (p.empty()) return 0;
  const Shape s = shape_of(p);
  if (s.direct) return static_cast<std::size_t>(Lines(p).size()) * sizeof(std::int16_t);
  return byte_product_scratch(s.depth, 0) + byte_packed_b_bytes(s.depth, s.chunk) +
         static_cast<std::size_t>(4 * s.chunk);
}

void byte_conv_range(const ByteConv& conv, int64_t begin, int64_t end, void* scratch) noexcept {
  if (conv.params.empty()) return;
  const Shape s = shape_of(conv.params);
  for (int64_t u = begin; u < end && !stop_requested(); ++u) {
    const Plane plane(conv, s, u / s.chunks);
    if (s.direct) {
      multiply_lines(conv, s, plane, static_cast<std::byte*>(scratch));
    } else {
      multiply(conv, s, plane, u % s.chunks, static_cast<std::byte*>(scratch));
    }
    const bool whole = conv.on_tile != nullptr && (s.direct || (conv.on_tile->whole_rows && (u + 1) % s.chunks == 0));
    if (whole) (*conv.on_tile)(plane.row, plane.row + s.group_out, 0, s.positions);
  }
}

}  // namespace frazil::kernel
