#include "kernel/row/rows.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/on_isa.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

std::vector<float> noise(int64_t n, float scale, unsigned seed) {
  std::mt19937 gen(seed);
  std::normal_distribution<float> dist(0, scale);
  std::vector<float> v(static_cast<std::size_t>(n));
  for (float& x : v) x = dist(gen);
  return v;
}

constexpr int64_t kCols[] = {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 768, 1001};

struct Tolerance {
  double relative, absolute;
};

class RowsTest : public OnIsa {
 protected:
  /// Three rows with padding. Calls run(rows) out of place and in place; both must agree.
  template <class Run, class Want>
  void check(int64_t cols, float scale, Tolerance tolerance, Run run, Want want) {
    const int64_t gap = 5, step = cols + gap;
    const auto x = noise(3 * step, scale, 7);
    std::vector<float> y(x.size(), -9.f), in_place = x;
    run(Rows{.rows = 3, .cols = cols, .x = x.data(), .x_row = step, .y = y.data(), .y_row = step});
    run(Rows{.rows = 3, .cols = cols, .x = in_place.data(), .x_row = step, .y = in_place.data(), .y_row = step});
    for (int64_t i = 0; i < 3; ++i) {
      const float* row = x.data() + i * step;
      const std::vector<double> expected = want(row);
      for (int64_t j = 0; j < cols; ++j) {
        const auto at = static_cast<std::size_t>(i * step + j);
        const double wanted = expected[static_cast<std::size_t>(j)];
        ASSERT_NEAR(y[at], wanted, tolerance.relative * std::abs(wanted) + tolerance.absolute) << cols << " " << j;
        ASSERT_EQ(y[at], in_place[at]);
      }
      for (int64_t j = cols; j < step; ++j) ASSERT_EQ(y[static_cast<std::size_t>(i * step + j)], -9.f);
    }
  }
};

TEST_P(RowsTest, Softmax) {
  for (int64_t cols : kCols) {
    for (float scale : {1.f, 30.f}) {
      check(
          cols, scale, {3e-6, 3e-9}, [](const Rows& r) { softmax(r); },
          [&](const float* x) {
            double high = -1e30, sum = 0;
            for (int64_t j = 0; j < cols; ++j) high = std::max(high, double(x[j]));
            for (int64_t j = 0; j < cols; ++j) sum += std::exp(x[j] - high);
            std::vector<double> y;
            for (int64_t j = 0; j < cols; ++j) y.push_back(std::exp(x[j] - high) / sum);
            return y;
          });
      check(
          cols, scale, {1e-6, 1e-6}, [](const Rows& r) { log_softmax(r); },
          [&](const float* x) {
            double high = -1e30, sum = 0;
            for (int64_t j = 0; j < cols; ++j) high = std::max(high, double(x[j]));
            for (int64_t j = 0; j < cols; ++j) sum += std::exp(x[j] - high);
            std::vector<double> y;
            for (int64_t j = 0; j < cols; ++j) y.push_back(x[j] - high - std::log(sum));
            return y;
          });
    }
  }
}

TEST_P(RowsTest, SoftmaxSpecialValues) {
  std::vector<float> x(20, -std::numeric_limits<float>::infinity()), y(20);
  x[3] = 2, x[17] = 2;
  softmax({.rows = 1, .cols = 20, .x = x.data(), .x_row = 20, .y = y.data(), .y_row = 20});
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(y[i], i == 3 || i == 17 ? 0.5f : 0.f);
  x[5] = std::nanf("");
  softmax({.rows = 1, .cols = 20, .x = x.data(), .x_row = 20, .y = y.data(), .y_row = 20});
  for (float v : y) EXPECT_TRUE(std::isnan(v));
  softmax({});
  log_softmax({.rows = 3});
  layer_norm({}, nullptr, nullptr, 1e-5f, nullptr, nullptr);
  rms_norm({}, nullptr, 1e-5f, nullptr);
}

TEST_P(RowsTest, Norms) {
  for (int64_t cols : kCols) {
    const auto scale = noise(cols, 1, 1), bias = noise(cols, 1, 2);
    for (int use = 0; use < 2; ++use) {
      float mean[3], inverse[3];
      const float* s = use ? scale.data() : nullptr;
      const float* b = use ? bias.data() : nullptr;
      int row = 0;
      check(
          cols, 3, {2e-6, 2e-6}, [&](const Rows& r) { layer_norm(r, s, b, 1e-5f, mean, inverse); },
          [&](const float* x) {
            double m = 0, v = 0;
            for (int64_t j = 0; j < cols; ++j) m += x[j];
            m /= double(cols);
            for (int64_t j = 0; j < cols; ++j) v += (x[j] - m) * (x[j] - m);
            const double inv = 1 / std::sqrt(v / double(cols) + 1e-5);
            EXPECT_NEAR(mean[row], m, 1e-5);
            EXPECT_NEAR(inverse[row], inv, 1e-5 * inv);
            ++row;
            std::vector<double> y;
            for (int64_t j = 0; j < cols; ++j) y.push_back((x[j] - m) * inv * (use ? s[j] : 1) + (use ? b[j] : 0));
            return y;
          });
      row = 0;
      check(
          cols, 3, {2e-6, 1e-8}, [&](const Rows& r) { rms_norm(r, s, 1e-5f, inverse); },
          [&](const float* x) {
            double v = 0;
            for (int64_t j = 0; j < cols; ++j) v += double(x[j]) * x[j];
            const double inv = 1 / std::sqrt(v / double(cols) + 1e-5);
            EXPECT_NEAR(inverse[row++], inv, 1e-5 * inv);
            std::vector<double> y;
            for (int64_t j = 0; j < cols; ++j) y.push_back(x[j] * inv * (use ? s[j] : 1));
            return y;
          });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, RowsTest, ::testing::ValuesIn(isas()), name_of_isa);

}  // namespace
}  // namespace frazil::kernel
