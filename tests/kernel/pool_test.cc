#include "kernel/window/pool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/on_isa.h"

namespace frazil::kernel {
namespace {

using std::int64_t;
using Pool = OnIsa;

constexpr float kUnwritten = -777;  ///< of what no window gives
constexpr int64_t kNowhere = -777;

struct Out {
  std::vector<float> max, average, padded;
  std::vector<int64_t> where, where_columns;
};

Out naive_pool(const PoolParams& p, const std::vector<float>& x) {
  Out out;
  for (int64_t n = 0; n < p.planes; ++n)
    for (int64_t i = 0; i < p.out_h; ++i)
      for (int64_t j = 0; j < p.out_w; ++j) {
        float best = -std::numeric_limits<float>::infinity();
        double sum = 0;
        int64_t where = -1, columns = -1, count = 0, padded = 0;
        for (int64_t r = 0; r < p.kernel_h; ++r)
          for (int64_t s = 0; s < p.kernel_w; ++s) {
            const int64_t iy = i * p.stride_h - p.pad_top + r * p.dilation_h;
            const int64_t ix = j * p.stride_w - p.pad_left + s * p.dilation_w;
            padded += iy < p.in_h + p.pad_bottom && ix < p.in_w + p.pad_right;
            if (iy < 0 || ix < 0 || iy >= p.in_h || ix >= p.in_w) continue;
            const float v = x[static_cast<std::size_t>((n * p.in_h + iy) * p.in_w + ix)];
            sum += v, ++count;
            if (where < 0 || v > best) {
              best = v;
              where = (n * p.in_h + iy) * p.in_w + ix;
              columns = n * p.in_h * p.in_w + ix * p.in_h + iy;
            }
          }
        out.max.push_back(best);
        out.where.push_back(where);
        out.where_columns.push_back(columns);
        out.average.push_back(count > 0 ? static_cast<float>(sum / static_cast<double>(count)) : 0.f);
        out.padded.push_back(padded > 0 ? static_cast<float>(sum / static_cast<double>(padded)) : 0.f);
      }
  return out;
}

/// The planes as channels of one image, whose last axis they are; then as two images, a half each.
void check_channels_last(PoolParams p, const std::vector<float>& x, const Out& want) {
  const auto turned = [](const std::vector<float>& from, int64_t images, int64_t channels) {
    std::vector<float> to(from.size());
    const int64_t area = images * channels == 0 ? 0 : static_cast<int64_t>(from.size()) / (images * channels);
    for (int64_t n = 0; n < images; ++n)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t i = 0; i < area; ++i)
          to[static_cast<std::size_t>((n * area + i) * channels + c)] =
              from[static_cast<std::size_t>((n * channels + c) * area + i)];
    return to;
  };
  for (const int64_t images : {1, 2}) {
    const int64_t channels = p.planes / images;
    if (channels * images != p.planes) continue;
    PoolParams own = p;
    own.planes = images;
    const auto in = turned(x, images, channels);
    std::vector<float> y(want.max.size(), kUnwritten);
    const auto expect = [&](const std::vector<float>& planes, double error) {
      const auto wanted = turned(planes, images, channels);
      for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], wanted[i], error) << i;
    };
    max_pool_nhwc(own, channels, in.data(), y.data(), 0, images * p.out_h);
    EXPECT_EQ(y, turned(want.max, images, channels));
    std::ranges::fill(y, kUnwritten);
    average_pool_nhwc(own, channels, in.data(), y.data(), false, 0, images * p.out_h);
    expect(want.average, 1e-5);
    std::ranges::fill(y, kUnwritten);
    average_pool_nhwc(own, channels, in.data(), y.data(), true, 0, images * p.out_h);
    expect(want.padded, 1e-5);
  }
}

void check_pool(const PoolParams& p) {
  std::mt19937 gen(3);
  std::vector<float> x(static_cast<std::size_t>(p.planes * p.in_h * p.in_w));
  for (float& v : x) v = static_cast<float>(static_cast<int>(gen() % 41) - 20) / 8;
  const Out want = naive_pool(p, x);
  std::vector<float> y(want.max.size(), kUnwritten);
  std::vector<int64_t> where(y.size(), kNowhere);
  max_pool(p, x.data(), y.data(), nullptr, false);
  EXPECT_EQ(y, want.max);
  max_pool(p, x.data(), y.data(), where.data(), false);
  EXPECT_EQ(y, want.max);
  EXPECT_EQ(where, want.where);
  std::ranges::fill(where, kNowhere);
  max_pool(p, x.data(), y.data(), where.data(), true);
  EXPECT_EQ(where, want.where_columns);
  std::ranges::fill(y, kUnwritten);
  average_pool(p, x.data(), y.data(), false);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], want.average[i], 1e-5);
  std::ranges::fill(y, kUnwritten);
  average_pool(p, x.data(), y.data(), true);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], want.padded[i], 1e-5);
  check_channels_last(p, x, want);
}

TEST_P(Pool, Windows) {
  for (int64_t h : {1, 4, 9})
    for (int64_t w : {1, 6, 33})
      for (int64_t kernel : {1, 2, 3})
        for (int64_t stride : {1, 2, 3})
          for (int64_t dilation : {1, 2})
            for (int64_t pad : {0, 1}) {
              PoolParams p;
              p.planes = 2, p.in_h = h, p.in_w = w, p.kernel_h = kernel, p.kernel_w = kernel,
              p.stride_h = p.stride_w = stride;
              p.dilation_h = p.dilation_w = dilation, p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = pad;
              p.out_h = (h + 2 * pad) / stride + 1;  // rounded up, past the pad for some
              p.out_w = (w + 2 * pad) / stride;
              check_pool(p);
            }
}

TEST_P(Pool, ManyChannels) {
  for (const int64_t planes : {37, 138}) {
    PoolParams p;
    p.planes = planes, p.in_h = p.in_w = 7, p.kernel_h = p.kernel_w = 3, p.stride_h = p.stride_w = 2;
    p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = 1, p.out_h = p.out_w = 4;
    check_pool(p);
  }
}

TEST_P(Pool, Empty) {
  PoolParams p;
  check_pool(p);
  p.planes = 2, p.out_h = 0;
  check_pool(p);
  p.out_h = 2, p.in_h = 0;
  check_pool(p);
}

TEST_P(Pool, NanWins) {
  const float x[] = {1, NAN, 3};
  PoolParams p;
  p.planes = 1, p.in_w = 3, p.kernel_w = 3;
  float y;
  int64_t where;
  max_pool(p, x, &y, nullptr, false);
  EXPECT_TRUE(std::isnan(y));
  max_pool(p, x, &y, &where, false);
  EXPECT_TRUE(std::isnan(y));
  EXPECT_EQ(where, 1);
  max_pool_nhwc(p, 1, x, &y, 0, 1);
  EXPECT_TRUE(std::isnan(y));
}

TEST_P(Pool, Global) {
  std::vector<float> x(3 * 49);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  float average[3], high[3];
  global_average_pool(3, 49, x.data(), average);
  global_max_pool(3, 49, x.data(), high);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FLOAT_EQ(average[i], static_cast<float>(49 * i + 24));
    EXPECT_EQ(high[i], static_cast<float>(49 * i + 48));
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, Pool, ::testing::ValuesIn(isas()), name_of_isa);

}  // namespace
}  // namespace frazil::kernel
