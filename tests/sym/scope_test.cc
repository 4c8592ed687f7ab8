// Symbols, copies and saturation.
#include <gtest/gtest.h>

#include "tree.h"

namespace frazil::test {
namespace {

TEST(Scope, SymbolsAreNumberedInOrder) {
  Scope s;
  const Dim n = s.symbol("N", {2, 9});
  const Dim data = s.unbacked({0, 100});
  EXPECT_EQ(s.symbol("N", {0, 9}), n);
  EXPECT_EQ(s.symbol_count(), 2u);
  EXPECT_EQ(s.symbol_name(0), "N");
  EXPECT_EQ(s.symbol_name(1), "?0");
  EXPECT_EQ(symbol_bounds(s, 0), (Bounds{2, 9}));
  EXPECT_EQ(s.symbol_dim(1), data);
  EXPECT_EQ(s.as_symbol(data), SymbolId{1});
  EXPECT_EQ(s.as_symbol(s.add(data, 1)), std::nullopt);
  EXPECT_EQ(s.as_symbol(5), std::nullopt);
  EXPECT_EQ(s.find_symbol("N"), SymbolId{0});
  EXPECT_EQ(s.find_symbol("M"), std::nullopt);
}

TEST(Scope, FreshNamesAreFree) {
  Scope s;
  s.symbol("?0");
  s.symbol("?x");
  const Dim d = s.unbacked();
  EXPECT_EQ(s.str(d), "?1");
  EXPECT_TRUE(is_unbacked(s, *s.as_symbol(d)));
  EXPECT_TRUE(is_unbacked(s, *s.find_symbol("?0")));  // as read back from text
  EXPECT_FALSE(is_unbacked(s, *s.find_symbol("?x")));
}

TEST(Scope, NamesKeepTheirPlace) {
  Scope s;
  s.symbol("N");
  const std::string_view name = s.symbol_name(0);
  for (int i = 0; i < 1000; ++i) s.unbacked();
  EXPECT_EQ(name.data(), s.symbol_name(0).data());
}

TEST(Scope, SymbolsOfAnExpression) {
  Scope s;
  for (const char* name : {"A", "B", "C", "D"}) s.symbol(name);
  const auto symbols = [&](const char* text) { return s.symbols_of(dim(s, text)); };
  EXPECT_EQ(symbols("7"), std::vector<SymbolId>{});
  EXPECT_EQ(symbols("D"), std::vector<SymbolId>{3});
  EXPECT_EQ(symbols("max(D*A, A) + floordiv(A + 1, B)"), (std::vector<SymbolId>{0, 1, 3}));
  EXPECT_EQ(symbols("C + B - C"), std::vector<SymbolId>{1});
}

TEST(Scope, CopiesKnowTheOriginalsDimsAndGoTheirOwnWay) {
  Scope s;
  const Dim n = s.symbol("N");
  const Dim e = dim(s, "floordiv(N + 1, 2)");
  Scope copy = s;
  EXPECT_EQ(dim(copy, "floordiv(N + 1, 2)"), e);
  EXPECT_EQ(copy.str(e), s.str(e));
  copy.symbol("M");
  copy.symbol("N", {5, 5});
  EXPECT_EQ(s.symbol_count(), 1u);
  EXPECT_EQ(constant_of(s, n), std::nullopt);
  EXPECT_EQ(constant_of(copy, e), 3);

  Scope moved = std::move(copy);
  EXPECT_EQ(constant_of(moved, e), 3);
  moved = s;
  EXPECT_EQ(constant_of(moved, e), std::nullopt);
  Scope& self = moved;
  moved = self;
  EXPECT_EQ(moved.str(e), "floordiv(N + 1, 2)");
}

TEST(Scope, SymbolsOfAnExpressionAreAscendingAndUnique) {
  Scope s;
  for (const char* name : {"A", "B", "C"}) s.symbol(name);
  const struct {
    const char* from;
    std::vector<SymbolId> want;
  } cases[] = {
      {"9", {}}, {"B", {1}}, {"C + A", {0, 2}}, {"floordiv(C + B, A) + C", {0, 1, 2}}, {"max(B, 3)*B", {1}},
  };
  for (const auto& c : cases) EXPECT_EQ(s.symbols_of(dim(s, c.from)), c.want) << c.from;
}

TEST(Scope, SymbolsOfLargeExpressionsAreComplete) {
  Scope s;
  Dim sum = 0;
  std::vector<SymbolId> want;
  for (SymbolId id = 0; id < 40; ++id) {
    sum = s.add(s.symbol("s" + std::to_string(id)), s.floordiv(sum, 2));
    want.push_back(id);
    ASSERT_EQ(s.symbols_of(sum), want);
  }
}

TEST(Scope, EvalNeedsTheValuesThatAreRead) {
  Scope s;
  const Dim a = s.symbol("A");
  const Dim b = s.symbol("B");
  const std::int64_t values[] = {6};
  EXPECT_EQ(eval(s, s.add(a, 1), values), 7);
  EXPECT_EQ(eval(s, s.add(b, 1), values), std::nullopt);
  EXPECT_EQ(eval(s, 7, {}), 7);
  EXPECT_EQ(eval(s, s.floordiv(a, b), std::vector<std::int64_t>{6, 0}), std::nullopt);
  EXPECT_EQ(eval(s, s.floordiv(a, b), std::vector<std::int64_t>{6, -4}), -2);
}

TEST(DimSaturation, ConstantsClamp) {
  constexpr std::int64_t max = Dim::kMax;
  constexpr std::int64_t min = Dim::kMin;
  Scope s;
  EXPECT_EQ(Dim(INT64_MAX), Dim(max));
  EXPECT_EQ(Dim(INT64_MIN), Dim(min));
  EXPECT_EQ(Dim(max).value(), max);
  EXPECT_EQ(Dim(min).value(), min);
  EXPECT_EQ(s.add(max, 1), Dim(max));
  EXPECT_EQ(s.add(min, -1), Dim(min));
  EXPECT_EQ(s.sub(min, max), Dim(min));
  EXPECT_EQ(s.mul(max, max), Dim(max));
  EXPECT_EQ(s.mul(max, min), Dim(min));
  EXPECT_EQ(s.mul(std::int64_t{1} << 40, std::int64_t{1} << 40), Dim(max));
  EXPECT_EQ(s.floordiv(min, -1), Dim(max));
  EXPECT_EQ(mod(s, max, 2), Dim(1));
}

TEST(DimSaturation, CoefficientsAndBoundsClamp) {
  Scope s;
  const Dim n = s.symbol("N", {1, Dim::kMax});
  const Dim huge = s.mul(s.mul(n, std::int64_t{1} << 60), 1 << 30);
  EXPECT_EQ(huge, s.mul(n, Dim::kMax));
  EXPECT_EQ(s.bounds(huge), (Bounds{Dim::kMax, Dim::kMax}));
  EXPECT_EQ(eval(s, huge, std::vector<std::int64_t>{7}), Dim::kMax);
  EXPECT_EQ(s.bounds(s.sub(n, 5)), (Bounds{-4, Dim::kMax}));
  EXPECT_EQ(s.less(s.mul(n, n), 0), Proof::no);
  EXPECT_EQ(s.bounds(s.symbol("Z", {INT64_MIN, INT64_MAX})), (Bounds{Dim::kMin, Dim::kMax}));
}

TEST(DimSaturation, ExtremeConstantsInEveryOperation) {
  const std::int64_t values[] = {Dim::kMin, Dim::kMin + 1, -2, -1, 0, 1, 2, Dim::kMax - 1, Dim::kMax};
  for (std::int64_t a : values)
    for (std::int64_t b : values) {
      Scope s;
      const Dim n = s.symbol("N", {Dim::kMin, Dim::kMax});
      const Dim x = s.add(s.mul(n, a), b);
      const Dim y = s.add(s.mul(n, b), a);
      for (Dim d : {s.floordiv(x, b), mod(s, x, a), s.floordiv(x, y), s.min(x, y), s.max(x, y), s.mul(x, y),
                    ceildiv(s, y, b)}) {
        const Bounds bounds = s.bounds(d);
        EXPECT_LE(bounds.min, bounds.max) << s.str(d);
        EXPECT_EQ(dim(s, s.str(d)), d) << s.str(d);
        s.equal(d, x);
        s.less(d, y);
        eval(s, d, std::vector<std::int64_t>{INT64_MIN});
        eval(s, d, std::vector<std::int64_t>{INT64_MAX});
      }
    }
}

TEST(Scope, BroadcastsToAnExtentOnce) {
  Scope scope;
  const Dim n = scope.symbol("N"), m = scope.symbol("M"), k = scope.symbol("K");
  EXPECT_EQ(scope.broadcast(n, 1), n);
  EXPECT_EQ(scope.broadcast(1, m), m);
  EXPECT_EQ(scope.broadcast(n, 8), Dim(8));
  EXPECT_EQ(scope.broadcast(n, n), n);
  const Dim nm = scope.broadcast(n, m);
  EXPECT_EQ(scope.str(nm), "floordiv(M*N, max(min(M, N), 1))");
  EXPECT_EQ(scope.broadcast(nm, n), nm);
  EXPECT_EQ(scope.broadcast(m, nm), nm);
  EXPECT_EQ(scope.broadcast(nm, k), scope.broadcast(n, scope.broadcast(m, k)));
}

}  // namespace
}  // namespace frazil::test
