#include "kernel/window/window.h"

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/contract/product.h"
#include "kernel/conv_cases.h"
#include "kernel/random_values.h"

// The pointers of a WindowReader lead to the elements of the image, and it writes into its buffer alone.
namespace frazil::kernel {
namespace {

constexpr std::uint8_t kOutside = 0x5a, kGuard = 0xa7;

/// The byte of an image that a window reads; outside of the image, kOutside.
std::uint8_t expected_byte(const ConvParams& p, const std::vector<std::uint8_t>& x, int64_t size, int64_t row,
                           int64_t tap, int64_t channel, int64_t byte) {
  const int64_t item = row / (p.out_h * p.out_w), oy = row / p.out_w % p.out_h, ox = row % p.out_w;
  const int64_t y = oy * p.stride_h - p.pad_top + tap / p.kernel_w * p.dilation_h;
  const int64_t z = ox * p.stride_w - p.pad_left + tap % p.kernel_w * p.dilation_w;
  if (y < 0 || z < 0 || y >= p.in_h || z >= p.in_w) return kOutside;
  return x[at((((item * p.in_h + y) * p.in_w + z) * p.in_c + channel) * size + byte)];
}

/// Rows [begin, end) of one read.
void check_rows(const ConvParams& p, const std::vector<std::uint8_t>& x, int64_t size, int64_t begin, int64_t end) {
  const WindowShape s = window_shape(p, 1);
  const std::size_t bytes = window_buffer_bytes(p, s, size, end - begin);
  std::vector<std::uint8_t> memory(bytes + 256, kGuard);
  constexpr int64_t kContiguous[4] = {};
  const WindowReader reader(p, s, size, x.data(), kContiguous, 0, reinterpret_cast<std::byte*>(memory.data()),
                            kOutside);
  std::vector<const std::byte*> pointers(at((end - begin) * s.taps));
  WindowReader::point(&reader, begin, end, pointers.data());
  const int64_t pixels = s.lines ? p.kernel_w : 1;  // behind each pointer
  for (int64_t i = 0; i < (end - begin) * s.taps * s.depth * size; ++i) {
    const int64_t byte = i % size, depth = i / size % s.depth, tap = i / size / s.depth % s.taps;
    const int64_t row = i / size / s.depth / s.taps;
    const auto got = static_cast<std::uint8_t>(pointers[at(row * s.taps + tap)][depth * size + byte]);
    const int64_t position = tap * pixels + depth / s.channels;
    ASSERT_EQ(got, expected_byte(p, x, size, begin + row, position, depth % s.channels, byte))
        << "row " << begin + row << ", position " << position << " of the kernel";
  }
  const int64_t step = WindowReader::step(&reader, begin, end);
  for (std::size_t i = at(s.taps); i < pointers.size() && step != Runs::kUneven; ++i)
    ASSERT_EQ(pointers[i] - pointers[i - at(s.taps)], step);
  for (std::size_t i = bytes; i < memory.size(); ++i) ASSERT_EQ(memory[i], kGuard) << i - bytes;
}

TEST(Windows, ReadTheImage) {
  const ConvParams cases[] = {make(2, 3, 9, 11, 1, 7, 7, 2, 1, 3), make(2, 3, 6, 7, 1, 3, 5),
                              make(1, 1, 8, 5, 1, 2, 2, 3, 1, 1),  make(2, 9, 7, 6, 1, 3, 3, 1, 1, 1),
                              make(1, 8, 9, 9, 1, 3, 3, 2, 2, 2),  make(2, 12, 5, 8, 1, 1, 1, 2)};
  for (const ConvParams& p : cases) {
    for (const int64_t size : {1, 2, 4}) {
      SCOPED_TRACE(std::to_string(p.in_c) + " channels of " + std::to_string(size) + " bytes, " +
                   std::to_string(p.kernel_h) + "x" + std::to_string(p.kernel_w));
      const auto x = values<std::uint8_t>(p.batch * p.in_h * p.in_w * p.in_c * size, 3);
      const int64_t rows = p.batch * p.out_h * p.out_w;
      check_rows(p, x, size, 0, rows);
      for (int64_t row = 0; row < rows; row += 5) check_rows(p, x, size, row, std::min(rows, row + 5));
    }
  }
}

}  // namespace
}  // namespace frazil::kernel
