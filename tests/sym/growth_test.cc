// Expressions that exceed the canonical form stay exact; depth costs neither stack nor excessive time.
#include <gtest/gtest.h>

#include "tree.h"

namespace frazil::test {
namespace {

constexpr int kLong = 100'000;

std::vector<Dim> symbols(Scope& s, int count) {
  std::vector<Dim> r;
  for (int i = 0; i < count; ++i) r.push_back(s.symbol("s" + std::to_string(i), {-9, 9}));
  return r;
}

/// Uses every function that walks an expression.
void walk(Scope& s, Dim d, std::int64_t want, std::vector<std::int64_t> values) {
  EXPECT_EQ(eval(s, d, values), want);
  EXPECT_LE(s.bounds(d).min, want);
  EXPECT_GE(s.bounds(d).max, want);
  EXPECT_FALSE(s.symbols_of(d).empty());
  EXPECT_LE(s.str(d).size(), std::size_t{2} << 20);
  EXPECT_NE(s.equal(d, s.add(d, 1)), Proof::yes);
}

TEST(DimGrowth, SumsOfManySymbolsAreExactAndRoundTrip) {
  Scope s;
  Dim sum = 0;
  std::int64_t want = 0;
  std::vector<std::int64_t> values;
  for (Dim d : symbols(s, 150)) {
    values.push_back(static_cast<std::int64_t>(values.size()) % 7 - 3);
    want += 2 * values.back() + 1;
    sum = s.add(s.add(sum, s.mul(d, 2)), 1);
  }
  EXPECT_EQ(dim(s, s.str(sum)), sum);
  EXPECT_EQ(s.sub(s.add(sum, 5), 5), sum);
  walk(s, sum, want, values);
}

TEST(DimGrowth, HighPowersAndManyTermsAreExactAndRoundTrip) {
  Scope s;
  const auto x = symbols(s, 4);
  Dim power = 1;
  for (int i = 0; i < 20; ++i) power = s.mul(power, x[0]);
  Dim product = 1;
  for (int i = 0; i < 6; ++i) product = s.mul(product, s.add(s.add(x[0], s.mul(x[1], x[2])), s.add(x[3], 1)));
  for (Dim d : {power, product, s.mul(power, product), s.sub(product, power)})
    EXPECT_EQ(dim(s, s.str(d)), d) << s.str(d);
  EXPECT_EQ(s.mul(power, product), s.mul(product, power));
  walk(s, power, 1 << 20, {2, 0, 0, 0});
  walk(s, product, 729, {1, 1, 1, 0});
}

TEST(DimGrowth, LongSumOfTheSameStaysSmall) {
  Scope s;
  const Dim n = s.symbol("N");
  Dim d = 0;
  for (int i = 0; i < kLong; ++i) d = s.add(d, i % 2 ? n : Dim(3));
  EXPECT_EQ(s.str(d), "50000*N + 150000");
}

TEST(DimGrowth, LongSumOfDifferentSymbols) {
  Scope s;
  Dim d = 0;
  for (Dim x : symbols(s, kLong)) d = s.add(d, x);
  walk(s, d, kLong, std::vector<std::int64_t>(kLong, 1));
}

TEST(DimGrowth, LongMaxOfDifferentSymbols) {
  Scope s;
  Dim d = 0;
  for (Dim x : symbols(s, kLong)) d = s.max(d, x);
  std::vector<std::int64_t> values(kLong, 1);
  values[kLong / 2] = 5;
  walk(s, d, 5, values);
}

TEST(DimGrowth, AlternatingChain) {
  Scope s;
  const Dim n = s.symbol("N", {0, 9});
  const Dim m = s.symbol("M", {0, 9});
  Dim d = n;
  for (int i = 0; i < kLong / 4; ++i) d = s.max(s.add(s.mul(s.floordiv(d, 2), m), n), s.add(m, i % 5));
  walk(s, d, 5, {0, 1});
}

TEST(DimGrowth, SharedSquares) {
  Scope s;
  const Dim n = s.symbol("N", {0, 9});
  Dim d = n;
  for (int i = 0; i < 2000; ++i) d = s.floordiv(s.add(s.mul(d, d), 1), s.add(n, 2));
  walk(s, d, 0, {0});
  EXPECT_GE(s.str(d).size(), std::size_t{1} << 20);
  EXPECT_FALSE(parse_dim(s, s.str(d)));
}

}  // namespace
}  // namespace frazil::test
