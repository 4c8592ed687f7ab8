#include "kernel/window/conv_i8.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/byte_conv_case.h"
#include "kernel/on_isa.h"
#include "kernel/random_values.h"

// Convolutions of bytes against sums over windows.
namespace frazil::kernel {
namespace {

using std::int32_t;
using std::int64_t;
using std::uint8_t;

class Image {
 public:
  explicit Image(const ByteConvCase& c)
      : c_(c),
        depth_(c.p.in_c / c.p.groups * c.p.kernel_h * c.p.kernel_w),
        x_(values<uint8_t>(c.p.batch * c.p.in_c * c.p.in_h * c.p.in_w, 1)),
        w_(values<uint8_t>(c.p.out_c * depth_, 2)),
        x_zero_(values<uint8_t>(1, 3)),
        w_zero_(values<uint8_t>(c.p.out_c, 4)) {}

  std::vector<int32_t> expected() const {
    const ConvParams& p = c_.p;
    std::vector<int32_t> y;
    for (int64_t i = 0; i < p.batch * p.out_c; ++i) {
      for (int64_t at = 0; at < p.out_h * p.out_w; ++at) y.push_back(sum(i / p.out_c, i % p.out_c, at));
    }
    return y;
  }

  /// In units, whole or by parts, the result reported to `on_tile`.
  std::vector<int32_t> run(const TileCallback* on_tile) {
    const ConvParams& p = c_.p;
    std::vector<int32_t> y(static_cast<std::size_t>(p.batch * p.out_c * p.out_h * p.out_w), 77);
    std::vector<std::byte> scratch(byte_conv_scratch(p));
    const bool zeros = c_.zeros > 0;
    const ByteConv conv{.params = p,
                        .signed_x = c_.signed_x,
                        .signed_w = c_.signed_w,
                        .x = x_.data(),
                        .w = w_.data(),
                        .x_zero = zeros ? x_zero_.data() : nullptr,
                        .w_zero = zeros ? w_zero_.data() : nullptr,
                        .w_zero_step = c_.zeros == 2,
                        .y = y.data(),
                        .on_tile = on_tile};
    const int64_t units = byte_conv_units(p), step = byte_conv_units_per_plane(p);
    for (int64_t u = 0; u < units; u += step) byte_conv_range(conv, u, u + step, scratch.data());
    return y;
  }

 private:
  static int32_t number(uint8_t b, bool is_signed) { return is_signed ? static_cast<std::int8_t>(b) : int32_t{b}; }

  int32_t sum(int64_t item, int64_t channel, int64_t at) const {
    const ConvParams& p = c_.p;
    const int64_t in = p.in_c / p.groups, group = channel / (p.out_c / p.groups);
    const int32_t x0 = c_.zeros > 0 ? number(x_zero_[0], c_.signed_x) : 0;
    const auto which = static_cast<std::size_t>(c_.zeros == 2 ? channel : 0);
    const int32_t w0 = c_.zeros > 0 ? number(w_zero_[which], c_.signed_w) : 0;
    int32_t total = 0;
    for (int64_t k = 0; k < depth_; ++k) {
      const int64_t row = at / p.out_w * p.stride_h - p.pad_top + k / p.kernel_w % p.kernel_h * p.dilation_h;
      const int64_t col = at % p.out_w * p.stride_w - p.pad_left + k % p.kernel_w * p.dilation_w;
      if (row < 0 || row >= p.in_h || col < 0 || col >= p.in_w) continue;
      const int64_t plane = item * p.in_c + group * in + k / (p.kernel_h * p.kernel_w);
      const int32_t x = number(x_[static_cast<std::size_t>((plane * p.in_h + row) * p.in_w + col)], c_.signed_x);
      total += (x - x0) * (number(w_[static_cast<std::size_t>(channel * depth_ + k)], c_.signed_w) - w0);
    }
    return total;
  }

  ByteConvCase c_;
  int64_t depth_;
  std::vector<uint8_t> x_, w_, x_zero_, w_zero_;
};

struct Seen {
  std::vector<int> count;
  int64_t columns = 0;
  static void done(void* self, int64_t row0, int64_t row1, int64_t col0, int64_t col1) {
    auto& s = *static_cast<Seen*>(self);
    for (int64_t i = row0; i < row1; ++i) {
      for (int64_t j = col0; j < col1; ++j) ++s.count[static_cast<std::size_t>(i * s.columns + j)];
    }
  }
};

void expect_exact_conv(const ByteConvCase& c) {
  SCOPED_TRACE(::testing::Message() << c.p.in_c << " to " << c.p.out_c << " channels, groups " << c.p.groups);
  Image image(c);
  const auto expected = image.expected();
  EXPECT_EQ(image.run(nullptr), expected);
  for (const bool whole : {false, true}) {
    Seen seen{.count = std::vector<int>(expected.size()), .columns = c.p.out_h * c.p.out_w};
    const TileCallback callback{&Seen::done, &seen, whole};
    EXPECT_EQ(image.run(&callback), expected);
    EXPECT_EQ(seen.count, std::vector<int>(expected.size(), 1));
  }
}

using ByteConvolutions = OnIsa;

ConvParams padded_window(int64_t in, int64_t out, int64_t size, int64_t kernel, int64_t stride, int64_t pad,
                         int64_t dilation = 1, int64_t groups = 1) {
  const int64_t result = (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
  return {.batch = 2,
          .in_c = in,
          .in_h = size,
          .in_w = size + 1,
          .out_c = out,
          .out_h = result,
          .out_w = (size + 1 + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1,
          .kernel_h = kernel,
          .kernel_w = kernel,
          .stride_h = stride,
          .stride_w = stride,
          .dilation_h = dilation,
          .dilation_w = dilation,
          .pad_top = pad,
          .pad_left = pad,
          .groups = groups};
}

TEST_P(ByteConvolutions, AreExact) {
  for (int signs = 0; signs < 4; ++signs) {
    for (int zeros = 0; zeros < 3; ++zeros) {
      const ByteConvCase c{.p = {}, .signed_x = (signs & 1) != 0, .signed_w = (signs & 2) != 0, .zeros = zeros};
      const auto with = [&](const ConvParams& p) {
        ByteConvCase own = c;
        own.p = p;
        return own;
      };
      expect_exact_conv(with(padded_window(5, 7, 6, 3, 1, 1)));
      expect_exact_conv(with(padded_window(6, 8, 9, 3, 2, 1)));
      expect_exact_conv(with(padded_window(16, 5, 7, 1, 1, 0)));
    }
  }
}

TEST_P(ByteConvolutions, TakeAllWindows) {
  expect_exact_conv({.p = padded_window(3, 8, 11, 5, 1, 2)});
  expect_exact_conv({.p = padded_window(4, 6, 12, 3, 1, 2, 2)});
  expect_exact_conv({.p = padded_window(4, 6, 12, 3, 3, 4, 2)});
  expect_exact_conv({.p = padded_window(9, 4, 3, 3, 1, 2)});
  expect_exact_conv({.p = padded_window(8, 8, 1, 1, 1, 0)});
  expect_exact_conv({.p = padded_window(64, 4, 40, 3, 1, 1)});
  expect_exact_conv({.p = padded_window(32, 4, 31, 1, 1, 0)});
}

TEST_P(ByteConvolutions, TakeGroups) {
  expect_exact_conv({.p = padded_window(6, 6, 10, 3, 1, 1, 1, 6)});
  expect_exact_conv({.p = padded_window(6, 12, 9, 3, 2, 1, 1, 6), .signed_x = true});
  expect_exact_conv({.p = padded_window(6, 6, 9, 5, 2, 2, 2, 6), .signed_w = false});
  expect_exact_conv({.p = padded_window(8, 16, 6, 3, 1, 1, 1, 2)});
  expect_exact_conv({.p = padded_window(8, 4, 6, 3, 1, 1, 1, 2)});
}

INSTANTIATE_TEST_SUITE_P(Isa, ByteConvolutions, ::testing::ValuesIn(isas()), name_of_isa);

}  // namespace
}  // namespace frazil::kernel
