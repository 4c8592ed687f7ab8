#include "kernel/window/window.h"

#include <algorithm>
#include <cstring>

#include "base/value/extents.h"
#include "kernel/contract/product.h"
#include "kernel/simd/aligned.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

constexpr int64_t kFewChannels = 8;  ///< fewer do not fill vectors

/// Returns the pixels of a line with the padding that the windows of a line of outputs need.
int64_t padded_width(const ConvParams& p) { return (p.out_w - 1) * p.stride_w + p.kernel_w; }

using F32x4 = float __attribute__((vector_size(16)));

F32x4 load_4(const float* p) {
  F32x4 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
void store_4(float* p, F32x4 v) { std::memcpy(p, &v, sizeof v); }

/// Interleaves n floats of each of three rows, which are `row` floats apart.
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

}  // namespace

bool window_copies_lines(const ConvParams& p) noexcept {
  return p.groups == 1 && p.in_c < kFewChannels && p.kernel_w > 1 && p.dilation_w == 1;
}

WindowShape window_shape(const ConvParams& p, int64_t multiple) noexcept {
  WindowShape s;
  const bool one = p.kernel_h == 1 && p.kernel_w == 1 && p.pad_top == 0 && p.pad_left == 0;
  s.pixels = one && p.stride_h == 1 && p.stride_w == 1 && p.in_h == p.out_h && p.in_w == p.out_w;
  s.lines = window_copies_lines(p);
  s.channels = s.lines ? round_up(p.in_c, multiple) : p.in_c / p.groups;
  s.taps = s.lines ? p.kernel_h : p.kernel_h * p.kernel_w;
  s.depth = s.lines ? p.kernel_w * s.channels : s.channels;
  return s;
}

std::size_t window_buffer_bytes(const ConvParams& p, const WindowShape& s, int64_t elem_bytes, int64_t rows) noexcept {
  // An upper bound of the lines that the rows read, also across images.
  const int64_t lines = (ceil_div(rows, p.out_w) + 1) * (p.stride_h + (p.kernel_h - 1) * p.dilation_h + 1);
  const int64_t pixels = s.lines ? lines * padded_width(p) : 1, past = s.lines ? lines * kPastLine : kPastLine;
  return static_cast<std::size_t>(round_up(pixels * s.channels * elem_bytes + past, kLineBytes));
}

WindowReader::WindowReader(const ConvParams& p, const WindowShape& s, int64_t elem_bytes, const void* x,
                           const int64_t* strides, int64_t first, std::byte* buffer, std::uint8_t outside)
    : p_(p),
      s_(s),
      bytes_(elem_bytes),
      x_(static_cast<const std::byte*>(x) + first * elem_bytes),
      image_(strides[0]),
      line_(strides[1]),
      pixel_(strides[2]),
      channel_(strides[3]),
      buffer_(buffer),
      outside_(outside) {
  if (image_ == 0 && line_ == 0 && pixel_ == 0 && channel_ == 0)
    channel_ = 1, pixel_ = p.in_c, line_ = p.in_w * p.in_c, image_ = p.in_h * line_;
  if (!s.lines) std::memset(buffer, outside, static_cast<std::size_t>(s.channels * elem_bytes + kPastLine));
}

void WindowReader::point(const void* self, int64_t begin, int64_t end, const std::byte** at) {
  const auto& reader = *static_cast<const WindowReader*>(self);
  if (reader.s_.lines) return reader.at_lines(begin, end, at);
  for (int64_t row = begin; row < end;) {  // a line of outputs at a time
    const Position first = reader.position(row);
    const int64_t count = std::min(end - row, reader.p_.out_w - first.x);
    reader.at_pixels(first, count, at);
    row += count, at += count * reader.s_.taps;
  }
}

int64_t WindowReader::step(const void* self, int64_t begin, int64_t end) {
  const auto& reader = *static_cast<const WindowReader*>(self);
  const Position first = reader.position(begin), last = reader.position(end - 1);
  const bool one_line = first.item == last.item && first.y == last.y;
  return one_line && (reader.s_.lines || reader.is_inside(first, last)) ? reader.step() : Runs::kUneven;
}

int64_t WindowReader::line_bytes() const { return padded_width(p_) * s_.channels * bytes_ + kPastLine; }

WindowReader::Position WindowReader::position(int64_t row) const {
  return {row / (p_.out_h * p_.out_w), row / p_.out_w % p_.out_h, row % p_.out_w};
}

/// Returns whether all windows from `first` to `last`, on one line of outputs, are inside the image.
bool WindowReader::is_inside(const Position& first, const Position& last) const {
  const int64_t top = first.y * p_.stride_h - p_.pad_top, left = first.x * p_.stride_w - p_.pad_left;
  const int64_t right = last.x * p_.stride_w - p_.pad_left + (p_.kernel_w - 1) * p_.dilation_w;
  return top >= 0 && left >= 0 && top + (p_.kernel_h - 1) * p_.dilation_h < p_.in_h && right < p_.in_w;
}

/// Writes the pointers of the next `count` positions of a line of outputs. `at` has those of one position.
void WindowReader::repeat(int64_t count, const std::byte** at) const {
  const int64_t by = step(), taps = s_.taps;
  for (int64_t i = 0; i < count * taps; ++i) at[taps + i] = at[i] + by;
}

/// Writes the pointers of `count` positions of a line of outputs.
void WindowReader::at_pixels(const Position& first, int64_t count, const std::byte** at) const {
  const int64_t line = line_ * bytes_, pixel = pixel_ * bytes_;
  const std::byte* const image = x_ + first.item * image_ * bytes_;
  const int64_t top = first.y * p_.stride_h - p_.pad_top;
  for (int64_t i = 0; i < count;) {
    const Position to{first.item, first.y, first.x + i};
    const int64_t left = to.x * p_.stride_w - p_.pad_left;
    const bool inside = is_inside(to, to);
    for (int64_t r = 0, y = top; r < p_.kernel_h; ++r, y += p_.dilation_h) {
      const bool in_lines = y >= 0 && y < p_.in_h;
      for (int64_t j = 0, x = left; j < p_.kernel_w; ++j, x += p_.dilation_w)
        *at++ = inside || (in_lines && x >= 0 && x < p_.in_w) ? image + y * line + x * pixel : buffer_;
    }
    ++i;
    if (!inside) continue;
    const int64_t past =
        (p_.in_w - 1 - (p_.kernel_w - 1) * p_.dilation_w - left) / p_.stride_w;  // next ones that are inside, too
    const int64_t more = std::min(count - i, past);
    repeat(more, at - s_.taps);
    i += more, at += more * s_.taps;
  }
}

/// Writes pointers to copied lines. Copies the lines that each line of outputs needs, unless the previous one has them.
void WindowReader::at_lines(int64_t begin, int64_t end, const std::byte** at) const {
  const int64_t width = line_bytes(), tall = (p_.kernel_h - 1) * p_.dilation_h + 1;
  std::byte* lines = buffer_;
  int64_t copied = -1, first = 0, past = 0;  // lines [first, past) of image `copied`
  for (int64_t row = begin; row < end;) {
    const Position to = position(row);
    const int64_t count = std::min(end - row, p_.out_w - to.x), top = to.y * p_.stride_h - p_.pad_top;
    if (to.item != copied || top > past) {
      lines += (past - first) * width;
      first = past = top;
    }
    for (copied = to.item; past < top + tall; ++past) copy_line(copied, past, lines + (past - first) * width);
    for (int64_t tap = 0; tap < s_.taps; ++tap)
      at[tap] = lines + (top + tap * p_.dilation_h - first) * width + to.x * step();
    repeat(count - 1, at);
    row += count, at += count * s_.taps;
  }
}

/// Copies pixels [lo, hi) of the line at `from`.
template <class T>
void WindowReader::copy_pixels(const T* from, int64_t lo, int64_t hi, T* to) const {
  if (channel_ == 1 && pixel_ == p_.in_c && s_.channels == p_.in_c) {
    std::copy_n(from + lo * pixel_, (hi - lo) * pixel_, to);
    return;
  }
  if constexpr (sizeof(T) == sizeof(float)) {
    if (p_.in_c == 3 && s_.channels == 3 && pixel_ == 1) return interleave3(from + lo, channel_, hi - lo, to);
  }
  for (int64_t c = 0; c < p_.in_c; ++c)
    for (int64_t i = lo; i < hi; ++i) to[(i - lo) * s_.channels + c] = from[i * pixel_ + c * channel_];
}

void WindowReader::copy_line(int64_t item, int64_t y, std::byte* to) const {
  const int64_t width = padded_width(p_), pixel = s_.channels * bytes_;
  const int64_t lo = std::clamp<int64_t>(p_.pad_left, 0, width), hi = std::clamp(p_.in_w + p_.pad_left, lo, width);
  const bool inside = y >= 0 && y < p_.in_h && lo < hi;
  const int64_t begin = inside ? lo : width, end = inside ? hi : width;
  const bool padded = s_.channels != p_.in_c;
  std::memset(to, outside_, static_cast<std::size_t>((padded ? width : begin) * pixel));
  std::memset(to + end * pixel, outside_, static_cast<std::size_t>((width - end) * pixel + kPastLine));
  if (!inside) return;
  const std::byte* const from = x_ + (item * image_ + y * line_) * bytes_;
  std::byte* const at = to + lo * pixel;
  const auto copy = [&]<class T>() {
    copy_pixels(reinterpret_cast<const T*>(from), lo - p_.pad_left, hi - p_.pad_left, reinterpret_cast<T*>(at));
  };
  if (bytes_ == 4) return copy.template operator()<float>();
  bytes_ == 2 ? copy.template operator()<std::uint16_t>() : copy.template operator()<std::uint8_t>();
}

}  // namespace frazil::kernel
