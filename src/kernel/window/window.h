#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/window/conv.h"

// The access of a channels-last convolution to its image. Output positions are rows of a product, which read the image
// through pointers, so that no matrix of patches is written.
namespace frazil::kernel {

/// The layout of the elements that a row's pointers lead to.
struct WindowShape {
  bool pixels = false;        ///< each row is one pixel, in the order of the image; no pointers are needed
  bool lines = false;         ///< a tap is a row of the kernel, read from lines that are copied with their padding
  std::int64_t channels = 0;  ///< elements of a pixel as it is read
  std::int64_t taps = 1;      ///< pointers of a row
  std::int64_t depth = 0;     ///< adjacent elements after each pointer

  std::int64_t k() const { return taps * depth; }
};
/// Returns whether lines are copied: pixels have few channels, and a row of the kernel has several pixels.
/// window_shape() pads the channels of copied lines to a multiple of `multiple`.
bool window_copies_lines(const ConvParams& p) noexcept;
WindowShape window_shape(const ConvParams& p, std::int64_t multiple) noexcept;

inline constexpr std::int64_t kPastLine = 16;  ///< bytes that may be read after a line

/// A reader of images whose elements have 1, 2 or 4 bytes. Each byte of positions outside the image is `outside`.
class WindowReader {
 public:
  /// `strides` are those of x in elements, for image, line, pixel and channel, if lines are copied; all 0: x is
  /// contiguous. `first` is the first channel of a group. `buffer` has window_buffer_bytes(), is aligned to 64 bytes,
  /// and is written by the reader.
  WindowReader(const ConvParams& p, const WindowShape& s, std::int64_t elem_bytes, const void* x,
               const std::int64_t* strides, std::int64_t first, std::byte* buffer, std::uint8_t outside = 0);

  /// Writes the pointers of rows [begin, end) as [row][tap]; implements Runs::point.
  static void point(const void* self, std::int64_t begin, std::int64_t end, const std::byte** at);
  /// Implements Runs::step.
  static std::int64_t step(const void* self, std::int64_t begin, std::int64_t end);

 private:
  struct Position {
    std::int64_t item, y, x;
  };
  Position position(std::int64_t row) const;
  bool is_inside(const Position& first, const Position& last) const;
  std::int64_t line_bytes() const;
  std::int64_t step() const { return p_.stride_w * (s_.lines ? s_.channels : pixel_) * bytes_; }
  void at_pixels(const Position& first, std::int64_t count, const std::byte** at) const;
  void at_lines(std::int64_t begin, std::int64_t end, const std::byte** at) const;
  void repeat(std::int64_t count, const std::byte** at) const;
  void copy_line(std::int64_t item, std::int64_t y, std::byte* to) const;
  template <class T>
  void copy_pixels(const T* from, std::int64_t lo, std::int64_t hi, T* to) const;

  const ConvParams& p_;
  const WindowShape& s_;
  std::int64_t bytes_;
  const std::byte* x_;
  std::int64_t image_, line_, pixel_, channel_;  // strides
  std::byte* buffer_;
  int outside_;
};
/// Returns the size of a reader's buffer. `rows` is the most rows in one call of point().
std::size_t window_buffer_bytes(const ConvParams& p, const WindowShape& s, std::int64_t elem_bytes,
                                std::int64_t rows) noexcept;

}  // namespace frazil::kernel
