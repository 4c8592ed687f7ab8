#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/value/float.h"
#include "kernel/half_testing.h"
#include "kernel/random_values.h"
#include "kernel/window/conv_nhwc.h"
#include "kernel/window/pool.h"

// Convolutions and pools of 16-bit floats with channels last against plain loops.
namespace frazil::kernel {
namespace {

using std::int64_t;

int64_t out_extent(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t pads) {
  return (in + pads - (kernel - 1) * dilation - 1) / stride + 1;
}

ConvParams conv(int64_t batch, int64_t in_c, int64_t h, int64_t w, int64_t out_c, int64_t kernel, int64_t stride,
                int64_t pad, int64_t dilation = 1) {
  ConvParams p{.batch = batch, .in_c = in_c, .in_h = h, .in_w = w, .out_c = out_c};
  p.kernel_h = p.kernel_w = kernel, p.stride_h = p.stride_w = stride, p.dilation_h = p.dilation_w = dilation;
  p.pad_top = p.pad_left = pad;
  p.out_h = out_extent(h, kernel, stride, dilation, 2 * pad),
  p.out_w = out_extent(w, kernel, stride, dilation, 2 * pad);
  return p;
}

class HalfImages : public HalfTest {
 protected:
  double at(const Halves& all, int64_t i) const { return widened(elem(), all[static_cast<std::size_t>(i)]); }

  /// The sum of an output, and of its terms' sizes.
  std::pair<double, double> sum(const ConvParams& p, const Halves& x, const Halves& w, int64_t row, int64_t out) const {
    const int64_t item = row / (p.out_h * p.out_w), oy = row / p.out_w % p.out_h, ox = row % p.out_w;
    double total = 0, size = 0;
    for (int64_t i = 0; i < p.kernel_h; ++i) {
      for (int64_t j = 0; j < p.kernel_w; ++j) {
        const int64_t y = oy * p.stride_h - p.pad_top + i * p.dilation_h;
        const int64_t z = ox * p.stride_w - p.pad_left + j * p.dilation_w;
        if (y < 0 || z < 0 || y >= p.in_h || z >= p.in_w) continue;
        for (int64_t c = 0; c < p.in_c; ++c) {
          const double product = at(x, ((item * p.in_h + y) * p.in_w + z) * p.in_c + c) *
                                 at(w, ((out * p.in_c + c) * p.kernel_h + i) * p.kernel_w + j);
          total += product, size += std::fabs(product);
        }
      }
    }
    return {total, size};
  }

  void check(const ConvParams& p) const {
    check(p, false);
    check(p, true);
  }

  void check(const ConvParams& p, bool normed) const {
    const int64_t rows = p.batch * p.out_h * p.out_w;
    const Halves x = halves(elem(), p.batch * p.in_h * p.in_w * p.in_c, 1), bias = halves(elem(), p.out_c, 3),
                 w = halves(elem(), p.out_c * p.in_c * p.kernel_h * p.kernel_w, 2),
                 addend = halves(elem(), rows * p.out_c, 4);
    const std::vector<float> scale = values<float>(p.out_c, 5), shift = values<float>(p.out_c, 6);
    const NhwcConv c{.params = p, .negative_slope = 0, .elem = elem()};
    std::vector<std::byte> packed(nhwc_packed_w_bytes(c)), scratch(nhwc_scratch_bytes(c));
    nhwc_pack_w(c, w.data(), packed.data());
    Halves y(static_cast<std::size_t>(rows * p.out_c), 0x7fff);
    NhwcColumns columns{.bias = bias.data(), .addend = addend.data()};
    if (normed) columns.scale = scale.data(), columns.shift = shift.data();
    for (int64_t unit = nhwc_units(c); unit-- > 0;)
      nhwc_range(c, x.data(), packed.data(), columns, y.data(), unit, unit + 1, scratch.data(), nullptr);
    const auto rounded = [&](double v) { return widened(elem(), narrowed(elem(), static_cast<float>(v))); };
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t out = 0; out < p.out_c; ++out) {
        const auto [total, size] = sum(p, x, w, row, out);
        const double error = 20 * size * static_cast<double>(std::numeric_limits<float>::epsilon()) + 1e-38;
        const float factor = scale[static_cast<std::size_t>(out)], offset = shift[static_cast<std::size_t>(out)];
        const auto result = [&](double s) {
          float v = rounded(s + at(bias, out));
          if (normed) v = rounded(v * factor + offset);
          return std::max(0.F, rounded(v + at(addend, row * p.out_c + out)));
        };
        const double got = at(y, row * p.out_c + out);
        const auto [low, high] = std::minmax({result(total - error), result(total + error)});
        ASSERT_GE(got, low) << row << ", " << out;
        ASSERT_LE(got, high) << row << ", " << out;
      }
    }
  }
};

TEST_P(HalfImages, AreConvolved) {
  check(conv(1, 64, 9, 7, 48, 1, 1, 0));
  check(conv(2, 33, 8, 8, 20, 1, 2, 0));
  check(conv(1, 64, 12, 13, 40, 3, 1, 1));
  check(conv(2, 32, 9, 9, 150, 3, 2, 1));
  check(conv(1, 5, 20, 21, 9, 3, 1, 2));
  check(conv(2, 3, 31, 30, 33, 7, 2, 3));
  check(conv(1, 4, 9, 40, 8, 5, 3, 0));
  check(conv(1, 6, 14, 14, 7, 3, 1, 2, 2));
  check(conv(1, 16, 1, 1, 3, 1, 1, 0));
  check(conv(1, 17, 2, 2, 35, 3, 1, 1));
}

TEST_P(HalfImages, ArePooled) {
  const int64_t channels = 37, batch = 2;
  PoolParams p{.planes = batch, .in_h = 9, .in_w = 8, .kernel_h = 3, .kernel_w = 2, .stride_h = 2, .stride_w = 1};
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = 1;
  p.out_h = out_extent(p.in_h, 3, 2, 1, 2), p.out_w = out_extent(p.in_w, 2, 1, 1, 2);
  const Halves x = halves(elem(), batch * p.in_h * p.in_w * channels, 6);
  std::vector<float> wide, line(static_cast<std::size_t>(p.out_w * channels));
  for (const std::uint16_t v : x) wide.push_back(widened(elem(), v));
  const auto count = static_cast<std::size_t>(batch * p.out_h * p.out_w * channels);
  std::vector<float> highest(count), mean(count);
  max_pool_nhwc(p, channels, wide.data(), highest.data(), 0, batch * p.out_h);
  average_pool_nhwc(p, channels, wide.data(), mean.data(), false, 0, batch * p.out_h);
  Halves got_highest(count), got_mean(count), want_highest, want_mean;
  max_pool_nhwc_16(p, elem(), channels, x.data(), got_highest.data(), 0, batch * p.out_h, line.data());
  average_pool_nhwc_16(p, elem(), channels, x.data(), got_mean.data(), false, 0, batch * p.out_h, line.data());
  for (const float v : highest) want_highest.push_back(narrowed(elem(), v));
  for (const float v : mean) want_mean.push_back(narrowed(elem(), v));
  EXPECT_EQ(got_highest, want_highest);
  EXPECT_EQ(got_mean, want_mean);
}

INSTANTIATE_TEST_SUITE_P(Isa, HalfImages, half_params(), name_of_half);

}  // namespace
}  // namespace frazil::kernel
