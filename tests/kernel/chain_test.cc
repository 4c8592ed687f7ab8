#include "kernel/tile/chain.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/on_isa.h"
#include "kernel/random_values.h"

// Chains against the same operations one by one, with the bits that these have.
namespace frazil::kernel {
namespace {

using std::int64_t;
using Op = ChainStep::Op;
using From = ChainStep::From;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

using Chain = OnIsa;

float to_byte(float x, Elem e) {
  if (std::isnan(x)) return 0;
  const float low = e == Elem::i8 ? -128 : 0, high = e == Elem::i8 ? 127 : 255;
  return std::trunc(std::min(std::max(x, low), high));
}

float quantised(float x, float scale, float zero, Elem e) {
  const float y = std::nearbyint(x / scale) + zero;
  const float low = e == Elem::i8 ? -128 : 0, high = e == Elem::i8 ? 127 : 255;
  return to_byte(std::isnan(y) ? y : std::min(std::max(y, low), high), e);
}

/// Numbers at and beside the middle of two integers, huge ones, and none.
std::vector<float> hard_numbers(int64_t n, float scale) {
  std::vector<float> x = values<float>(n, 1, 300 * scale);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float middle = (static_cast<float>(static_cast<int>(i % 600) - 300) + 0.5F) * scale;
    if (i % 3 == 0) x[i] = middle;
    if (i % 7 == 0) x[i] = std::nextafter(middle, i % 2 == 0 ? kInf : -kInf);
    if (i % 41 == 0) x[i] = std::vector<float>{kNaN, kInf, -kInf, 1e30F, -3e9F, 1e-40F, -0.0F}[i / 41 % 7];
  }
  return x;
}

TEST_P(Chain, Quantises) {
  for (const float scale : {0.1F, 1.0F, 0.037F, -0.5F, 1e-41F, 3e37F, 0.0F}) {
    for (const Elem elem : {Elem::u8, Elem::i8}) {
      for (const int64_t n : {1, 15, 63, 64, 130, 2000}) {
        const std::vector<float> x = hard_numbers(n, scale == 0 ? 1 : scale);
        const float zero = elem == Elem::u8 ? 128 : 3;
        const ChainStep steps[] = {
            {.op = Op::load, .index = 0},
            {.op = Op::quantise,
             .index = 1,
             .elem = elem,
             .zero_from = ChainStep::Zero::constant,
             .number = scale,
             .zero = zero,
             .low = elem == Elem::u8 ? 0.F : -128.F,
             .high = elem == Elem::u8 ? 255.F : 127.F},
            {.op = Op::store, .index = 0, .elem = elem},
            {.op = Op::store, .index = 1, .elem = Elem::f32},
        };
        std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n) + 1, 77);
        std::vector<float> reals(static_cast<std::size_t>(n) + 1, 77);
        const void* operands[] = {x.data()};
        void* results[] = {bytes.data(), reals.data()};
        run_chain(steps, operands, results, n);
        for (std::size_t i = 0; i < x.size(); ++i) {
          const float expected = quantised(x[i], scale, zero, elem);
          EXPECT_EQ(reals[i], expected) << x[i] << " / " << scale;
          EXPECT_EQ(bytes[i], static_cast<std::uint8_t>(static_cast<int>(expected))) << x[i] << " / " << scale;
        }
        EXPECT_EQ(bytes.back(), 77);
        EXPECT_EQ(reals.back(), 77);
      }
    }
  }
}

/// A convolution's epilogue with a sum of two quantised images.
TEST_P(Chain, AddsWhatWasQuantised) {
  for (const int64_t n : {1, 16, 56, 64, 100, 192, 777}) {
    const auto sums = values<std::int32_t>(n, 1), more = values<std::int32_t>(n, 6);
    const auto factors = values<float>(n, 2), bias = values<float>(n, 3, 1e8F);
    const auto other = values<std::uint8_t>(n, 4);
    const float one = 0.75F;
    std::vector<std::int8_t> y(static_cast<std::size_t>(n) + 1, 77);
    const ChainStep steps[] = {
        {.op = Op::load, .index = 3, .elem = Elem::u8},
        {.op = Op::sub, .number = 100},
        {.op = Op::mul, .from = From::one, .index = 4},
        {.op = Op::save, .index = 2},
        {.op = Op::load_sum, .index = 0, .other = 5},
        {.op = Op::mul, .from = From::each, .index = 1},
        {.op = Op::add, .from = From::each, .index = 2},
        {.op = Op::mul, .number = 1e-7F},
        {.op = Op::add, .from = From::slot, .index = 2},
        {.op = Op::max, .number = 0},
        {.op = Op::round},
        {.op = Op::sub_from, .number = 100},
        {.op = Op::to_byte, .elem = Elem::i8},
        {.op = Op::store, .index = 0, .elem = Elem::i8},
    };
    const void* operands[] = {sums.data(), factors.data(), bias.data(), other.data(), &one, more.data()};
    void* results[] = {y.data()};
    run_chain(steps, operands, results, n);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto sum =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[i]) + static_cast<std::uint32_t>(more[i]));
      const float scaled = static_cast<float>(sum) * factors[i], moved = scaled + bias[i], small = moved * 1e-7F;
      const float added = small + (static_cast<float>(other[i]) - 100) * one;
      EXPECT_EQ(y[i], static_cast<std::int8_t>(to_byte(100 - std::nearbyint(std::max(added, 0.F)), Elem::i8)));
    }
    EXPECT_EQ(y.back(), 77);
  }
}

TEST_P(Chain, LimitsKeepNaNAndTheirOrder) {
  const std::vector<float> x{kNaN, -0.0F, 0.0F, 1, -1, kInf, -kInf};
  const auto run = [&](Op op, float number) {
    std::vector<float> y(x.size(), 77);
    const ChainStep steps[] = {{.op = Op::load}, {.op = op, .number = number}, {.op = Op::store}};
    const void* operands[] = {x.data()};
    void* results[] = {y.data()};
    run_chain(steps, operands, results, static_cast<int64_t>(x.size()));
    return y;
  };
  const auto bits = [](float f) { return std::isnan(f) ? 1U : std::bit_cast<std::uint32_t>(f); };
  for (const float number : {0.0F, -0.0F, 0.5F, kNaN}) {
    const auto most = run(Op::max, number), most_of = run(Op::max_of, number), least = run(Op::min, number),
               least_of = run(Op::min_of, number), rest = run(Op::sub_from, number), part = run(Op::div_into, number);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto pick = [](bool first, float a, float b) {
        return std::isnan(a) ? a : std::isnan(b) || !first ? b : a;
      };
      EXPECT_EQ(bits(most[i]), bits(pick(x[i] > number, x[i], number))) << x[i];
      EXPECT_EQ(bits(most_of[i]), bits(pick(number > x[i], number, x[i]))) << x[i];
      EXPECT_EQ(bits(least[i]), bits(pick(x[i] < number, x[i], number))) << x[i];
      EXPECT_EQ(bits(least_of[i]), bits(pick(number < x[i], number, x[i]))) << x[i];
      EXPECT_EQ(bits(rest[i]), bits(number - x[i])) << x[i];
      EXPECT_EQ(bits(part[i]), bits(number / x[i])) << x[i];
    }
  }
}

TEST_P(Chain, ScalesRows) {
  constexpr int64_t kRows = 3;
  for (const int64_t n : {1, 16, 56, 64, 100, 777}) {
    const auto sums = values<std::int32_t>(kRows * n, 1);
    const auto factors = values<float>(n, 2), offsets = values<float>(n, 3, 1e8F);
    std::vector<float> y(static_cast<std::size_t>(kRows * n) + 1, 77);
    const ChainStep steps[] = {{.op = Op::load_scaled, .index = 0, .other = 1, .third = 2}, {.op = Op::store}};
    const void* operands[] = {sums.data(), factors.data(), offsets.data()};
    void* results[] = {y.data()};
    const int64_t moves[] = {4 * n, 0, 0};
    run_chain_rows(steps, operands, results, n, {kRows, moves, std::span(moves).first(1)});
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const std::size_t col = i % static_cast<std::size_t>(n);
      const float scaled = static_cast<float>(sums[i]) * factors[col];
      EXPECT_EQ(y[i], scaled + offsets[col]);
    }
    EXPECT_EQ(y.back(), 77);
  }
}

/// Rows of sums, with what they are scaled by, and of what is added to them.
struct SumRows {
  static constexpr int64_t kRows = 5;
  int64_t n;
  std::vector<std::int32_t> sums;
  std::vector<float> factors, offsets, reals;
  std::vector<std::uint8_t> bytes;

  explicit SumRows(int64_t cols)
      : n(cols),
        sums(values<std::int32_t>(kRows * n, 1)),
        factors(values<float>(n, 2, 2e-3F)),
        offsets(values<float>(n, 3, 5)),
        reals(values<float>(kRows * n, 4, 20)),
        bytes(values<std::uint8_t>(kRows * n, 6)) {
    // Most are small, some have quotients in the middle of two integers, or none.
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = i % 9 == 0 ? sums[i] : sums[i] % 30000;
    for (std::size_t c = 0; c < factors.size(); ++c) {
      if (c % 5 == 1) factors[c] = 0.5F * kScale, offsets[c] = 0;
      if (c % 61 == 7) offsets[c] = std::vector<float>{kNaN, kInf, -kInf, 1e30F, -0.0F}[c / 61 % 5];
      if (c % 67 == 8) factors[c] = std::vector<float>{kNaN, kInf, -kInf, 3e38F, 0}[c / 67 % 5];
    }
  }

  static constexpr float kScale = 0.0371F;
  float scaled(std::size_t i) const {
    const std::size_t c = i % static_cast<std::size_t>(n);
    const float product = static_cast<float>(sums[i]) * factors[c];
    return product + offsets[c];
  }

  /// As the chain writes it.
  template <class T>
  std::vector<T> run(std::span<const ChainStep> steps) const {
    std::vector<T> y(sums.size() + 1, T(77));
    const void* operands[] = {factors.data(), sums.data(), offsets.data(), reals.data(), bytes.data()};
    void* results[] = {y.data()};
    const int64_t moves[] = {0, 4 * n, 0, 4 * n, n}, steps_of_y[] = {static_cast<int64_t>(sizeof(T)) * n};
    run_chain_rows(steps, operands, results, n, {kRows, moves, steps_of_y});
    EXPECT_EQ(y.back(), T(77));
    EXPECT_EQ(operands[1], sums.data() + (kRows - 1) * n);
    EXPECT_EQ(results[0], y.data() + (kRows - 1) * n);
    y.pop_back();
    return y;
  }
};

ChainStep quantise_to(Elem elem, float scale, float zero, float low, float high) {
  const auto from = zero == 0 ? ChainStep::Zero::none : ChainStep::Zero::constant;
  return {.op = Op::quantise, .elem = elem, .zero_from = from, .number = scale, .zero = zero, .low = low, .high = high};
}

constexpr int64_t kWidths[] = {1, 17, 63, 64, 65, 128, 200, 512};

TEST_P(Chain, QuantisesRowsOfSums) {
  struct Limits {
    Elem elem;
    float zero, low, high;
  };
  for (const int64_t n : kWidths) {
    const SumRows rows(n);
    for (const float scale : {SumRows::kScale, -0.11F, 1e-41F, 3e37F}) {
      for (const Limits l : {Limits{Elem::u8, 0, 0, 255}, Limits{Elem::u8, 128, 0, 255}, Limits{Elem::u8, 3, 3, 255},
                             Limits{Elem::u8, 0, 0, 100}, Limits{Elem::i8, -5, -128, 127}}) {
        const ChainStep steps[] = {{.op = Op::load_scaled, .index = 1, .other = 0, .third = 2},
                                   quantise_to(l.elem, scale, l.zero, l.low, l.high),
                                   {.op = Op::store, .elem = l.elem}};
        const auto y = rows.run<std::uint8_t>(steps);
        for (std::size_t i = 0; i < y.size(); ++i) {
          const float q = std::nearbyint(rows.scaled(i) / scale) + l.zero;
          const float expected = std::isnan(q) ? 0 : std::min(std::max(q, l.low), l.high);
          EXPECT_EQ(y[i], static_cast<std::uint8_t>(static_cast<int>(expected))) << rows.scaled(i) << " / " << scale;
        }
      }
    }
  }
}

TEST_P(Chain, AddsToQuantisedSums) {
  constexpr float kFirst = SumRows::kScale, kLast = 0.0519F, kOther = 0.0277F;
  for (const int64_t n : kWidths) {
    const SumRows rows(n);
    for (const float zero : {0.F, 120.F}) {
      for (const bool bytes : {false, true}) {
        std::vector<ChainStep> steps;
        if (bytes) {
          steps = {{.op = Op::load, .index = 4, .elem = Elem::u8}, {.op = Op::mul, .number = kOther}};
          if (zero != 0) steps.insert(steps.begin() + 1, {.op = Op::sub, .number = 7});
          steps.push_back({.op = Op::save, .index = 1});
        }
        steps.push_back({.op = Op::load_scaled, .index = 1, .other = 0, .third = 2});
        steps.push_back(quantise_to(Elem::u8, kFirst, zero, 0, 255));
        if (zero != 0) steps.push_back({.op = Op::sub, .number = zero});
        steps.push_back({.op = Op::mul, .number = kFirst});
        if (bytes) steps.push_back({.op = Op::add, .from = From::slot, .index = 1});
        if (!bytes) steps.push_back({.op = Op::add, .from = From::each, .index = 3});
        steps.push_back(quantise_to(Elem::u8, kLast, 0, 0, 255));
        steps.push_back({.op = Op::store, .elem = Elem::u8});
        const auto y = rows.run<std::uint8_t>(steps);
        for (std::size_t i = 0; i < y.size(); ++i) {
          const float widened = (quantised(rows.scaled(i), kFirst, zero, Elem::u8) - zero) * kFirst;
          const float other = (static_cast<float>(rows.bytes[i]) - (zero != 0 ? 7.F : 0.F)) * kOther;
          const float sum = widened + (bytes ? other : rows.reals[i]);
          EXPECT_EQ(y[i], static_cast<std::uint8_t>(quantised(sum, kLast, 0, Elem::u8))) << sum;
        }
      }
    }
  }
}

TEST_P(Chain, WidensQuantisedSums) {
  for (const int64_t n : kWidths) {
    const SumRows rows(n);
    for (const float zero : {0.F, 120.F}) {
      std::vector<ChainStep> steps = {{.op = Op::load_scaled, .index = 1, .other = 0, .third = 2},
                                      quantise_to(Elem::u8, SumRows::kScale, zero, 0, 255)};
      if (zero != 0) steps.push_back({.op = Op::sub, .number = zero});
      steps.push_back({.op = Op::mul, .number = -0.3F});
      steps.push_back({.op = Op::store});
      const auto y = rows.run<float>(steps);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const float expected = (quantised(rows.scaled(i), SumRows::kScale, zero, Elem::u8) - zero) * -0.3F;
        EXPECT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(expected)) << rows.scaled(i);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Chain, ::testing::ValuesIn(isas()), name_of_isa);

}  // namespace
}  // namespace frazil::kernel
