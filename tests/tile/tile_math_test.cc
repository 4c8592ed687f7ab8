#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/tile/tile.h"
#include "tile_testing.h"

namespace frazil::kernel {
namespace {

/// |got - want| in units of the last place of want as f32. Overflow counts from 2^128.
double error_in_ulp(float got, double want) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? 0 : 1e9;
  if (std::signbit(want) != std::signbit(got)) return 1e9;
  auto finite = [](double x) { return std::isinf(x) || std::fabs(x) > 0x1p128 ? std::copysign(0x1p128, x) : x; };
  double value = finite(got), exact = finite(want);
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::fabs(value - exact) / std::ldexp(1.0, std::max(std::min(exponent, 128) - 24, -149));
}

struct Function {
  ScalarOp op;
  double (*exact)(double);
  double bound;
};

const Function kFunctions[] = {
    {ScalarOp::sqrt, std::sqrt, 0.501},
    {ScalarOp::exp, std::exp, 1.1},
    {ScalarOp::expm1, std::expm1, 1.6},
    {ScalarOp::log, std::log, 1.0},
    {ScalarOp::log1p, std::log1p, 1.6},
    {ScalarOp::tanh, std::tanh, 3.0},
    {ScalarOp::erf, std::erf, 1.5},
    {ScalarOp::sin, std::sin, 1.0},
    {ScalarOp::cos, std::cos, 1.0},
    {ScalarOp::tan, std::tan, 4},
    {ScalarOp::asin, std::asin, 4},
    {ScalarOp::acos, std::acos, 4},
    {ScalarOp::atan, std::atan, 4},
    {ScalarOp::sinh, std::sinh, 4},
    {ScalarOp::cosh, std::cosh, 4},
    {ScalarOp::asinh, std::asinh, 4},
    {ScalarOp::acosh, std::acosh, 4},
    {ScalarOp::atanh, std::atanh, 4},
    {ScalarOp::logistic, [](double x) { return 1 / (1 + std::exp(-x)); }, 2.5},
};

/// Every 12007th float: all binades of both signs, denormals, infinity and NaN.
TEST(TileMath, StaysWithinItsUlp) {
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 12007) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  const std::vector<float> special = specials<float>();
  x.insert(x.end(), special.begin(), special.end());
  std::vector<float> y(x.size());
  for (const Function& f : kFunctions) {
    const void* in[] = {x.data()};
    tile_fn(f.op, Elem::f32, 0)(y.data(), in, x.size());
    double worst = -1;
    std::size_t at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (double e = error_in_ulp(y[i], f.exact(x[i])); e > worst) {
        worst = e;
        at = i;
      }
    }
    std::printf("  %-9s %.3f ulp at %.9g\n", std::string(name_of(f.op)).c_str(), worst, double(x[at]));
    EXPECT_LE(worst, f.bound) << name_of(f.op) << " of " << x[at] << " gave " << y[at];
  }
}

TEST(TileMath, PowStaysWithinItsUlp) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> centred(-1, 1);
  std::vector<float> x, y;
  for (int i = 0; i < 400000; ++i) {
    float a = centred(random), b = centred(random);
    switch (i % 4) {
      case 0: a = std::bit_cast<float>(static_cast<std::uint32_t>(random())), b = 8 * b; break;
      case 1: a = std::exp(20 * a), b = 80 * b; break;
      case 2: a = 1 + 1e-3f * a, b = 1e5f * b; break;
      case 3: a = 30 * a, b = std::round(20 * b); break;
    }
    x.push_back(a);
    y.push_back(b);
  }
  for (float a : specials<float>()) {
    for (float b : specials<float>()) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  std::vector<float> z(x.size());
  const void* in[] = {x.data(), y.data()};
  tile_fn(ScalarOp::pow, Elem::f32, 0)(z.data(), in, x.size());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double e = error_in_ulp(z[i], std::pow(double(x[i]), double(y[i])));
    worst = std::max(worst, e);
    ASSERT_LE(e, 0.51) << x[i] << " ^ " << y[i] << " gave " << z[i];
  }
  std::printf("  pow       %.3f ulp\n", worst);
}

/// Around the places where results turn to 0, denormal, 1 or infinity, and where branches of a formula meet.
TEST(TileMath, HoldsAtThresholds) {
  for (const Function& f : kFunctions) {
    for (float centre : {-104.0f, -103.28f, -87.337f, -17.33f, -0.9f, -0.3466f, 0.0f, 0x1p-25f, 0.2929f, 0.4142f, 0.9f,
                         1.0f, 3.92f, 4.0f, 9.01f, 88.7228f, 89.0f, 1e6f, 0x1p-126f}) {
      std::vector<float> x(4001), y(4001);
      x[2000] = centre;
      for (int i = 1; i <= 2000; ++i) {
        x[2000 + i] = std::nextafter(x[2000 + i - 1], INFINITY);
        x[2000 - i] = std::nextafter(x[2000 - i + 1], -INFINITY);
      }
      const void* in[] = {x.data()};
      tile_fn(f.op, Elem::f32, 0)(y.data(), in, x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_LE(error_in_ulp(y[i], f.exact(x[i])), f.bound) << name_of(f.op) << " of " << x[i] << " gave " << y[i];
      }
    }
  }
}

}  // namespace
/// A divisor that stays the same is turned into a reciprocal, which nobody may see.
TEST(TileMath, DividesByAScalarCorrectlyRounded) {
  std::mt19937 random(12);
  const auto any_float = [&] { return std::bit_cast<float>(static_cast<std::uint32_t>(random())); };
  std::vector<float> divisors = specials<float>();
  for (float b : {1.7f, 3.0f, 7.0f, 0x1.fffffep0f, 0x1.000002p0f, -0.3f, 0x1p-60f, 0x1p60f}) divisors.push_back(b);
  for (int i = 0; i < 300; ++i) divisors.push_back(i % 3 == 0 ? any_float() : 1 + std::ldexp(float(random()), -32));
  std::vector<float> a = specials<float>(), q;
  for (int i = 0; i < 20000; ++i) a.push_back(i % 2 == 0 ? any_float() : std::ldexp(float(random()), -40));
  q.resize(a.size());
  for (const float b : divisors) {
    const void* in[] = {a.data(), &b};
    tile_fn(ScalarOp::div, Elem::f32, 2)(q.data(), in, a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      const float want = a[i] / b;
      ASSERT_TRUE(std::isnan(want) ? std::isnan(q[i])
                                   : std::bit_cast<std::uint32_t>(q[i]) == std::bit_cast<std::uint32_t>(want))
          << a[i] << " / " << b << " gave " << q[i] << ", not " << want;
    }
  }
}

}  // namespace frazil::kernel
