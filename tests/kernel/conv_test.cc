#include "kernel/conv.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/isa.h"
#include "kernel/random_values.h"
#include "paths.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

/// The sum and the sum of magnitudes of one output element.
struct Want {
  double sum = 0, size = 0;
  void add(double v) { sum += v, size += std::abs(v); }
};

std::vector<Want> naive(const ConvParams& p, const std::vector<float>& x, const std::vector<float>& w,
                        const float* bias) {
  const int64_t gi = p.in_c / p.groups, go = p.out_c / p.groups;
  std::vector<Want> y(at(p.batch * p.out_c * p.out_h * p.out_w));
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t o = 0; o < p.out_c; ++o)
      for (int64_t i = 0; i < p.out_h; ++i)
        for (int64_t j = 0; j < p.out_w; ++j) {
          Want& want = y[at(((n * p.out_c + o) * p.out_h + i) * p.out_w + j)];
          if (bias != nullptr) want.add(bias[o]);
          for (int64_t c = 0; c < gi; ++c)
            for (int64_t r = 0; r < p.kernel_h; ++r)
              for (int64_t s = 0; s < p.kernel_w; ++s) {
                const int64_t iy = i * p.stride_h - p.pad_top + r * p.dilation_h;
                const int64_t ix = j * p.stride_w - p.pad_left + s * p.dilation_w;
                if (iy < 0 || ix < 0 || iy >= p.in_h || ix >= p.in_w) continue;
                want.add(double(x[at(((n * p.in_c + o / go * gi + c) * p.in_h + iy) * p.in_w + ix)]) *
                         w[at(((o * gi + c) * p.kernel_h + r) * p.kernel_w + s)]);
              }
        }
  return y;
}

std::vector<Want> naive_transpose(const ConvParams& p, const std::vector<float>& x, const std::vector<float>& w,
                                  const float* bias) {
  const int64_t gi = p.in_c / p.groups, go = p.out_c / p.groups;
  std::vector<Want> y(at(p.batch * p.out_c * p.out_h * p.out_w));
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t o = 0; o < p.out_c; ++o)
      for (int64_t i = 0; i < p.out_h; ++i)
        for (int64_t j = 0; j < p.out_w; ++j) {
          Want& want = y[at(((n * p.out_c + o) * p.out_h + i) * p.out_w + j)];
          if (bias != nullptr) want.add(bias[o]);
          for (int64_t c = 0; c < gi; ++c)
            for (int64_t r = 0; r < p.kernel_h; ++r)
              for (int64_t s = 0; s < p.kernel_w; ++s) {
                const int64_t ty = i + p.pad_top - r * p.dilation_h, tx = j + p.pad_left - s * p.dilation_w;
                if (ty < 0 || tx < 0 || ty % p.stride_h != 0 || tx % p.stride_w != 0) continue;
                if (ty / p.stride_h >= p.in_h || tx / p.stride_w >= p.in_w) continue;
                const int64_t ic = o / go * gi + c;
                want.add(double(x[at(((n * p.in_c + ic) * p.in_h + ty / p.stride_h) * p.in_w + tx / p.stride_w)]) *
                         w[at(((ic * go + o % go) * p.kernel_h + r) * p.kernel_w + s)]);
              }
        }
  return y;
}

void compare(const ConvParams& p, const std::vector<float>& y, const std::vector<Want>& want) {
  const double depth = double(p.in_c / p.groups * p.kernel_h * p.kernel_w);
  for (std::size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(y[i], want[i].sum, 2 * std::sqrt(depth + 4) * 6e-8 * (want[i].size + 1)) << i;
  for (std::size_t i = want.size(); i < y.size(); ++i) ASSERT_EQ(y[i], -777.f);
}

ConvParams make(int64_t batch, int64_t in_c, int64_t h, int64_t w, int64_t out_c, int64_t kh, int64_t kw,
                int64_t stride = 1, int64_t dilation = 1, int64_t pad = 0, int64_t groups = 1) {
  ConvParams p;
  p.batch = batch, p.in_c = in_c, p.in_h = h, p.in_w = w, p.out_c = out_c, p.kernel_h = kh, p.kernel_w = kw;
  p.stride_h = p.stride_w = stride, p.dilation_h = p.dilation_w = dilation, p.pad_top = p.pad_left = pad,
  p.groups = groups;
  p.out_h = (h + 2 * pad - dilation * (kh - 1) - 1) / stride + 1;
  p.out_w = (w + 2 * pad - dilation * (kw - 1) - 1) / stride + 1;
  return p;
}

std::vector<ConvParams> cases() {
  std::vector<ConvParams> all = {
      make(1, 1, 5, 5, 1, 3, 3),
      make(2, 3, 7, 9, 5, 3, 3, 1, 1, 1),
      make(1, 3, 30, 41, 17, 7, 7, 2, 1, 3),
      make(2, 16, 14, 14, 24, 3, 3, 1, 1, 1),
      make(1, 8, 7, 7, 13, 3, 3, 1, 1, 1),
      make(1, 8, 1, 100, 6, 1, 5, 1, 2, 0),
      make(2, 8, 10, 10, 12, 1, 1),
      make(1, 8, 9, 11, 12, 1, 1, 2),
      make(1, 300, 6, 6, 14, 1, 1),
      make(1, 40, 12, 12, 50, 3, 3, 1, 2, 2),
      make(2, 12, 9, 9, 8, 3, 3, 1, 1, 1, 4),
      make(1, 6, 8, 8, 12, 3, 3, 1, 1, 1, 6),
      make(2, 5, 20, 37, 5, 3, 3, 1, 1, 1, 5),
      make(1, 5, 20, 37, 5, 5, 5, 2, 1, 2, 5),
      make(1, 4, 7, 7, 4, 3, 3, 1, 3, 3, 4),
      make(1, 3, 5, 90, 3, 1, 40, 1, 1, 20, 3),
      make(1, 2, 40, 40, 3, 2, 2, 3),
      make(0, 2, 4, 4, 3, 3, 3),
      make(1, 0, 4, 4, 3, 3, 3),
      make(1, 2, 2, 2, 130, 1, 1),
      make(1, 2, 1, 1, 3, 3, 3, 1, 1, 1),
      make(1, 3, 3, 3, 20, 2, 2, 1, 1, 4),
      make(35, 3, 4, 4, 33, 3, 3),
  };
  ConvParams uneven = make(1, 4, 9, 8, 6, 3, 4);  // asymmetric pads, other strides per axis
  uneven.pad_top = 2, uneven.pad_left = 1, uneven.out_h = 10, uneven.out_w = 5, uneven.stride_w = 2;
  all.push_back(uneven);
  ConvParams crop = make(1, 4, 9, 8, 6, 3, 3);
  crop.pad_top = -1, crop.pad_left = -2, crop.out_h = 6, crop.out_w = 4;
  all.push_back(crop);
  ConvParams huge = make(1, 3, 6, 40, 5, 2, 2);  // taps beyond 32 bits
  huge.dilation_w = int64_t{1} << 33, huge.out_h = 5, huge.out_w = 40;
  all.push_back(huge);
  return all;
}

class ConvTest : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    force_isa(GetParam());
    if (current_isa() != GetParam()) GTEST_SKIP() << test::kNoInstructions;
  }
  void TearDown() override { force_isa(best_isa()); }
};

TEST_P(ConvTest, Cases) {
  int index = 0;
  for (const ConvParams& p : cases()) {
    SCOPED_TRACE("case " + std::to_string(index++));
    const auto x = values<float>(p.batch * p.in_c * p.in_h * p.in_w, 1);
    const auto w = values<float>(p.out_c * (p.in_c / p.groups) * p.kernel_h * p.kernel_w, 2);
    const auto bias = values<float>(p.out_c, 3);
    std::vector<std::byte> packed(at(conv_packed_w_bytes(p))), scratch(at(conv_scratch_bytes(p)));
    conv_pack_w(p, w.data(), packed.data());
    for (const float* b : {static_cast<const float*>(nullptr), bias.data()}) {
      const auto want = naive(p, x, w, b);
      std::vector<float> y(want.size() + 16, -777.f), units = y;
      conv(p, x.data(), packed.data(), b, y.data(), scratch.data());
      compare(p, y, want);
      for (int64_t u = conv_units(p); u-- > 0;)
        conv_range(p, x.data(), packed.data(), b, units.data(), u, u + 1, scratch.data());
      EXPECT_EQ(units, y);
      if (p.groups != 1 || p.in_c == 0) continue;
      std::vector<std::byte> as_b(at(conv_rows_packed_w_bytes(p))), room(at(conv_rows_scratch_bytes(p)));
      conv_rows_pack_w(p, w.data(), as_b.data());
      std::ranges::fill(y, -777.f);
      conv_rows(p, x.data(), as_b.data(), b, y.data(), room.data());
      compare(p, y, want);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, ConvTest, ::testing::Values(Isa::base, Isa::avx2, Isa::avx512),
                         [](const auto& isa) { return std::string(name_of(isa.param)); });

TEST(ConvTranspose, Cases) {
  int index = 0;
  for (ConvParams p : cases()) {
    SCOPED_TRACE("case " + std::to_string(index++));
    std::swap(p.in_h, p.out_h);
    std::swap(p.in_w, p.out_w);
    const auto x = values<float>(p.batch * p.in_c * p.in_h * p.in_w, 1);
    const auto w = values<float>(p.in_c * (p.out_c / p.groups) * p.kernel_h * p.kernel_w, 2);
    const auto bias = values<float>(p.out_c, 3);
    const auto want = naive_transpose(p, x, w, bias.data());
    std::vector<float> y(want.size() + 16, -777.f);
    conv_transpose_range(p, x.data(), w.data(), bias.data(), y.data(), 0, p.batch * p.out_c);
    compare(p, y, want);
  }
}

}  // namespace
}  // namespace frazil::kernel
