#include "ops/signal/fourier.h"

#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "ops/signal/fourier_smooth.h"

// The fast transform compared with its definition.
namespace frazil::ops {
namespace {

using Complexes = std::vector<Fourier::Number>;

Complexes some_numbers(std::size_t n) {
  Complexes x(n);
  for (std::size_t k = 0; k < n; ++k) {
    const auto t = static_cast<double>(k);
    x[k] = {std::sin(1.7 * t * t + 0.3), std::cos(2.9 * t + 0.01 * t * t)};
  }
  return x;
}

Complexes by_definition(const Complexes& x, bool inverse) {
  const std::size_t n = x.size();
  const double turn = (inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(n);
  Complexes y(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < n; ++j) y[k] += x[j] * std::polar(1.0, turn * static_cast<double>(j * k % n));
    if (inverse) y[k] /= static_cast<double>(n);
  }
  return y;
}

Complexes transformed(Complexes x, bool inverse) {
  const auto n = static_cast<std::int64_t>(x.size());
  Complexes memory(Fourier::scratch(n));
  Fourier(n, inverse, memory.data()).run(x.data());
  return x;
}

void expect_near(const Complexes& got, const Complexes& want) {
  const double tolerance = 1e-13 * static_cast<double>(want.size());
  for (std::size_t k = 0; k < want.size(); ++k) EXPECT_LT(std::abs(got[k] - want[k]), tolerance) << "at " << k;
}

class FourierLengths : public ::testing::TestWithParam<std::size_t> {};

TEST_P(FourierLengths, AgreeWithTheSum) {
  const Complexes x = some_numbers(GetParam());
  expect_near(transformed(x, false), by_definition(x, false));
  expect_near(transformed(x, true), by_definition(x, true));
}

TEST_P(FourierLengths, ComeBack) {
  const Complexes x = some_numbers(GetParam());
  expect_near(transformed(transformed(x, false), true), x);
}

INSTANTIATE_TEST_SUITE_P(UpTo40, FourierLengths, ::testing::Range<std::size_t>(1, 41));
INSTANTIATE_TEST_SUITE_P(Longer, FourierLengths, ::testing::Values(64, 100, 127, 128, 1000, 1009, 1024, 1536));

TEST(Fourier, ComesBackFromLongLines) {
  for (const std::size_t n : {std::size_t{1} << 17, std::size_t{100003}}) {
    const Complexes x = some_numbers(n);
    expect_near(transformed(transformed(x, false), true), x);
  }
}

TEST(SmoothFourier, AgreesWithTheSum) {
  for (std::int64_t n = 1; n <= 1500; ++n) {
    if (!SmoothFourier::supports(n)) continue;
    const Complexes x = some_numbers(static_cast<std::size_t>(n));
    for (const bool inverse : {false, true}) {
      if (n > 200 && n % 10 != 0) continue;
      Complexes y = x;
      std::vector<SmoothFourier::Number> memory(static_cast<std::size_t>(SmoothFourier::scratch(n)));
      SmoothFourier(n, inverse, memory.data()).run(y.data());
      const Complexes want = by_definition(x, inverse);
      const double tolerance = 2e-6 * std::sqrt(static_cast<double>(n)) * (inverse ? 1 : std::log2(n + 1.0));
      for (std::size_t k = 0; k < want.size(); ++k)
        ASSERT_LT(std::abs(y[k] - want[k]), tolerance) << n << " at " << k << (inverse ? " inverse" : "");
    }
  }
}

TEST(SmoothFourier, TakesSmallFactorsOnly) {
  for (const std::int64_t n : {3, 6, 10, 14, 15, 35, 210, 1000}) EXPECT_TRUE(SmoothFourier::supports(n)) << n;
  for (const std::int64_t n : {0, 1, 2, 8, 11, 22, 1024, 1001}) EXPECT_FALSE(SmoothFourier::supports(n)) << n;
}

}  // namespace
}  // namespace frazil::ops
