// Proofs from bounds. N >= 1, M >= 0, Z of any sign, B in [0, 7], C in [2, 4].
#include <gtest/gtest.h>

#include "tree.h"

namespace frazil::test {
namespace {

constexpr std::int64_t kInf = Dim::kMax;

Scope scope_with_bounds() {
  Scope s;
  s.symbol("N", {1, kInf});
  s.symbol("M");
  s.symbol("Z", {-kInf, kInf});
  s.symbol("B", {0, 7});
  s.symbol("C", {2, 4});
  return s;
}

TEST(DimBounds, OfExpressions) {
  const struct {
    const char* text;
    Bounds want;
  } cases[] = {
      {"5", {5, 5}},
      {"N", {1, kInf}},
      {"N - 5", {-4, kInf}},
      {"-N", {-kInf, -1}},
      {"B - C", {-4, 5}},
      {"B*C", {0, 28}},
      {"Z*Z", {0, kInf}},
      {"(B - 3)*C", {-12, 22}},  // expanded to B*C - 3*C
      {"floordiv(B, C)", {0, 3}},
      {"floordiv(C, B - 3)", {-4, 4}},
      {"mod(N, 8)", {0, 7}},
      {"mod(Z, 8)", {0, 7}},
      {"mod(Z, N)", {0, kInf}},
      {"mod(Z, C)", {0, 3}},
      {"mod(Z, C + 1)", {0, 4}},
      {"mod(B, C + 9)", {0, 7}},
      {"mod(Z, -C)", {-3, 0}},
      {"N - floordiv(N, 2)", {1, kInf}},
      {"N - 2*floordiv(N + 1, 2)", {-1, 0}},
      {"min(N, 8)", {1, 8}},
      {"max(Z, 3)", {3, kInf}},
      {"max(M, B) - M", {0, 7}},
      {"min(M, B) - max(M, B)", {-kInf, 0}},
  };
  Scope s = scope_with_bounds();
  for (const auto& [text, want] : cases) {
    const Bounds got = s.bounds(dim(s, text));
    EXPECT_EQ(got, want) << text << ": [" << got.min << ", " << got.max << "]";
  }
}

TEST(DimProof, Comparisons) {
  const struct {
    const char *a, *b;
    Proof equal, less, less_equal;
  } cases[] = {
      {"N", "N", Proof::yes, Proof::no, Proof::yes},
      {"N", "M", Proof::maybe, Proof::maybe, Proof::maybe},
      {"N", "N + 1", Proof::no, Proof::yes, Proof::yes},
      {"N + 1", "N", Proof::no, Proof::no, Proof::no},
      {"0", "N", Proof::no, Proof::yes, Proof::yes},
      {"0", "M", Proof::maybe, Proof::maybe, Proof::yes},
      {"B", "7", Proof::maybe, Proof::maybe, Proof::yes},
      {"B", "8", Proof::no, Proof::yes, Proof::yes},
      {"N", "2*N", Proof::no, Proof::yes, Proof::yes},
      {"2*Z", "2*M + 1", Proof::no, Proof::maybe, Proof::maybe},  // parity
      {"floordiv(N, 2)", "N", Proof::no, Proof::yes, Proof::yes},
      {"floordiv(N, 2)*2", "N", Proof::maybe, Proof::maybe, Proof::yes},
      {"mod(Z, N)", "N", Proof::no, Proof::yes, Proof::yes},
      {"floordiv(N, 2) + floordiv(N + 1, 2)", "N", Proof::yes, Proof::no, Proof::yes},
      {"floordiv(N - 3*M, 4)", "floordiv(N + M, 4) - M", Proof::yes, Proof::no, Proof::yes},
      {"min(N, M)", "N", Proof::maybe, Proof::maybe, Proof::yes},
      {"min(N, M)", "max(N, B)", Proof::maybe, Proof::maybe, Proof::yes},
      {"max(N, M) + 1", "M", Proof::no, Proof::no, Proof::no},
      {"max(N, M)", "N + M", Proof::maybe, Proof::maybe, Proof::yes},
  };
  Scope s = scope_with_bounds();
  for (const auto& c : cases) {
    const Dim a = dim(s, c.a);
    const Dim b = dim(s, c.b);
    EXPECT_EQ(s.equal(a, b), c.equal) << c.a << " == " << c.b;
    EXPECT_EQ(s.less(a, b), c.less) << c.a << " < " << c.b;
    EXPECT_EQ(s.less_equal(a, b), c.less_equal) << c.a << " <= " << c.b;
  }
}

TEST(DimProof, ConstantsAreWhatBoundsForce) {
  Scope s = scope_with_bounds();
  EXPECT_EQ(constant_of(s, 4), 4);
  EXPECT_EQ(constant_of(s, dim(s, "N")), std::nullopt);
  EXPECT_EQ(constant_of(s, s.symbol("four", {4, 4})), 4);
  EXPECT_EQ(constant_of(s, dim(s, "3*four + 1")), 13);
  EXPECT_EQ(constant_of(s, dim(s, "floordiv(N, 2) + floordiv(N + 1, 2) - N")), 0);
}

TEST(DimProof, NarrowingASymbolReachesExpressionsBuiltBefore) {
  Scope s;
  const Dim n = s.symbol("N");
  const Dim e = dim(s, "2*N + 1");
  const Dim m = dim(s, "max(N, 4)");
  EXPECT_EQ(s.less(e, 100), Proof::maybe);
  EXPECT_EQ(s.symbol("N", {4, 10}), n);
  EXPECT_EQ(s.bounds(e), (Bounds{9, 21}));
  EXPECT_EQ(s.less(e, 100), Proof::yes);
  EXPECT_EQ(s.equal(m, n), Proof::yes);
}

TEST(DimProof, BoundsThatContradictAreIgnored) {
  Scope s;
  s.symbol("N", {4, 10});
  s.symbol("N", {20, 30});
  EXPECT_EQ(s.bounds(dim(s, "N")), (Bounds{4, 10}));
  s.symbol("N", {8, 30});
  EXPECT_EQ(s.bounds(dim(s, "N")), (Bounds{8, 10}));
  EXPECT_EQ(s.bounds(s.symbol("E", {3, 2})), (Bounds{-kInf, kInf}));
}

}  // namespace
}  // namespace frazil::test
