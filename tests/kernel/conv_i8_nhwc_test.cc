#include "kernel/window/conv_i8_nhwc.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/byte_conv_case.h"
#include "kernel/on_isa.h"
#include "kernel/random_values.h"

// Convolutions of bytes with channels last against sums over windows, with all CPU features, whether the result is
// kept or passes through tiles.
namespace frazil::kernel {
namespace {

using std::int32_t;
using std::int64_t;
using std::uint8_t;

class Convolution {
 public:
  explicit Convolution(const ByteConvCase& c)
      : c_(c),
        depth_(c.p.in_c / c.p.groups * c.p.kernel_h * c.p.kernel_w),
        x_(values<uint8_t>(c.p.batch * c.p.in_c * c.p.in_h * c.p.in_w, 1)),
        w_(values<uint8_t>(c.p.out_c * depth_, 2)),
        x_zero_(values<uint8_t>(1, 3)),
        w_zero_(values<uint8_t>(c.p.out_c, 4)),
        packed_(byte_nhwc_packed_w_bytes({c.p, c.zeros > 0})) {
    byte_nhwc_pack_w({c.p, c.zeros > 0}, w_.data(), c.signed_w, packed_.data());
  }

  std::vector<int32_t> expected() const {
    const ConvParams& p = c_.p;
    std::vector<int32_t> y;
    for (int64_t row = 0; row < p.batch * p.out_h * p.out_w; ++row) {
      for (int64_t channel = 0; channel < p.out_c; ++channel) y.push_back(sum(row, channel));
    }
    return y;
  }

  std::vector<int32_t> kept() {
    std::vector<int32_t> y(size(), 77);
    ByteConvNhwc conv = call();
    conv.y = y.data();
    run(conv, 1);
    return y;
  }

  /// Copies tiles to where they belong.
  std::vector<int32_t> passed(bool whole_rows) {
    Passing passing{std::vector<int32_t>(size(), 77), c_.p.out_c, nullptr};
    const TileCallback on_tile{&Passing::done, &passing, whole_rows, &passing.at};
    ByteConvNhwc conv = call();
    conv.on_tile = &on_tile;
    run(conv, whole_rows ? byte_nhwc_units_per_rows(call().form) : 1);
    return passing.y;
  }

 private:
  struct Passing {
    std::vector<int32_t> y;
    int64_t cols;
    void* at;
    static void done(void* self, int64_t row0, int64_t row1, int64_t col0, int64_t col1) {
      auto& s = *static_cast<Passing*>(self);
      for (int64_t r = row0; r < row1; ++r)
        for (int64_t c = col0; c < col1; ++c)
          s.y[static_cast<std::size_t>(r * s.cols + c)] = static_cast<int32_t*>(s.at)[(r - row0) * s.cols + c - col0];
    }
  };

  std::size_t size() const { return static_cast<std::size_t>(c_.p.batch * c_.p.out_h * c_.p.out_w * c_.p.out_c); }

  ByteConvNhwc call() const {
    return {.form = {c_.p, c_.zeros > 0},
            .signed_x = c_.signed_x,
            .signed_w = c_.signed_w,
            .x = x_.data(),
            .packed_w = packed_.data(),
            .x_zero = c_.zeros > 0 ? x_zero_.data() : nullptr,
            .w_zero = c_.zeros > 0 ? w_zero_.data() : nullptr,
            .w_zero_step = c_.zeros == 2};
  }
  void run(const ByteConvNhwc& conv, int64_t step) const {
    std::vector<std::byte> scratch(byte_nhwc_scratch(conv.form));
    for (int64_t u = 0; u < byte_nhwc_units(conv.form); u += step) byte_nhwc_range(conv, u, u + step, scratch.data());
  }

  static int32_t number(uint8_t b, bool is_signed) { return is_signed ? static_cast<std::int8_t>(b) : int32_t{b}; }

  int32_t sum(int64_t at, int64_t channel) const {
    const ConvParams& p = c_.p;
    const int64_t in = p.in_c / p.groups, group = channel / (p.out_c / p.groups);
    const int32_t x0 = c_.zeros > 0 ? number(x_zero_[0], c_.signed_x) : 0;
    const int32_t w0 =
        c_.zeros > 0 ? number(w_zero_[static_cast<std::size_t>(c_.zeros == 2 ? channel : 0)], c_.signed_w) : 0;
    const int64_t item = at / (p.out_h * p.out_w), place = at % (p.out_h * p.out_w);
    int32_t total = 0;
    for (int64_t k = 0; k < depth_; ++k) {
      const int64_t row = place / p.out_w * p.stride_h - p.pad_top + k / p.kernel_w % p.kernel_h * p.dilation_h;
      const int64_t col = place % p.out_w * p.stride_w - p.pad_left + k % p.kernel_w * p.dilation_w;
      if (row < 0 || row >= p.in_h || col < 0 || col >= p.in_w) continue;
      const int64_t from = ((item * p.in_h + row) * p.in_w + col) * p.in_c + group * in + k / (p.kernel_h * p.kernel_w);
      total += (number(x_[static_cast<std::size_t>(from)], c_.signed_x) - x0) *
               (number(w_[static_cast<std::size_t>(channel * depth_ + k)], c_.signed_w) - w0);
    }
    return total;
  }

  ByteConvCase c_;
  int64_t depth_;
  std::vector<uint8_t> x_, w_, x_zero_, w_zero_;
  std::vector<std::byte> packed_;
};

ConvParams centred_window(int64_t in_c, int64_t size, int64_t out_c, int64_t kernel, int64_t stride = 1,
                          int64_t groups = 1, int64_t dilation = 1, int64_t batch = 1) {
  const int64_t pad = kernel / 2, reach = (kernel - 1) * dilation + 1;
  const auto out = [&](int64_t n) { return (n + 2 * pad - reach) / stride + 1; };
  return {.batch = batch,
          .in_c = in_c,
          .in_h = size,
          .in_w = size + 1,
          .out_c = out_c,
          .out_h = out(size),
          .out_w = out(size + 1),
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

const ByteConvCase kCases[] = {
    {centred_window(64, 14, 96, 1)},
    {centred_window(7, 9, 33, 1, 2)},
    {centred_window(16, 9, 40, 3), true, true},
    {centred_window(64, 13, 70, 3, 2), false, false, 1},
    {centred_window(3, 20, 24, 7, 2), false, true, 0},
    {centred_window(5, 9, 8, 3, 1, 1, 2, 2), true, false},
    {centred_window(32, 7, 1100, 3)},
    {centred_window(600, 7, 600, 1)},
    {centred_window(48, 9, 24, 3, 1, 3), false, true, 1},
    {centred_window(12, 8, 12, 3, 1, 6), true, true},
    {centred_window(37, 9, 37, 3, 1, 37)},
    {centred_window(96, 11, 96, 5, 2, 96), true, false},
    {centred_window(64, 8, 64, 3, 1, 64, 2, 2), false, true, 0},
    {centred_window(17, 1, 5, 1)},
};

class ByteConvNhwcTest : public ::testing::TestWithParam<ByteConvCase> {};

TEST_P(ByteConvNhwcTest, IsTheSum) {
  const auto expected = Convolution(GetParam()).expected();
  on_all_features([&] {
    Convolution conv(GetParam());
    EXPECT_EQ(conv.kept(), expected);
    EXPECT_EQ(conv.passed(false), expected);
    EXPECT_EQ(conv.passed(true), expected);
  });
}

INSTANTIATE_TEST_SUITE_P(All, ByteConvNhwcTest, ::testing::ValuesIn(kCases));

}  // namespace
}  // namespace frazil::kernel
