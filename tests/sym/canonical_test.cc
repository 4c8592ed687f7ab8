// The canonical form of expressions. N >= 1, M >= 0, H >= 3, Z of any sign, B in [0, 7].
#include <gtest/gtest.h>

#include "tree.h"

namespace frazil::test {
namespace {

Scope scope_with_heights() {
  Scope s;
  s.symbol("N", {1, Dim::kMax});
  s.symbol("M");
  s.symbol("H", {3, 4096});
  s.symbol("Z", {Dim::kMin, Dim::kMax});
  s.symbol("B", {0, 7});
  return s;
}

struct CanonicalCase {
  const char* written;
  const char* canonical;
};

void check_canonical(std::span<const CanonicalCase> cases) {
  Scope s = scope_with_heights();
  for (const auto& [written, canonical] : cases) EXPECT_EQ(s.str(dim(s, written)), canonical) << written;
}

TEST(DimCanonical, SumsAndProducts) {
  check_canonical({{
      {"1 + 2*3", "7"},
      {"N + N", "2*N"},
      {"N - N", "0"},
      {"M + N", "M + N"},
      {"N + M", "M + N"},
      {"3 + N", "N + 3"},
      {"0*N", "0"},
      {"N*M", "M*N"},
      {"2*N*M + N*2 - 3", "2*M*N + 2*N - 3"},
      {"(N + 1)*(N - 1)", "N*N - 1"},
      {"(N + M)*(N - M)", "-M*M + N*N"},
      {"-(N - M)", "M - N"},
      {"-N", "-N"},
      {"--N", "N"},
      {"(M + 1)*2 - M - M", "2"},
  }});
}

TEST(DimCanonical, DivisionByConstants) {
  check_canonical({{
      {"floordiv(7, 2)", "3"},
      {"floordiv(-7, 2)", "-4"},
      {"floordiv(7, -2)", "-4"},
      {"floordiv(7, 0)", "0"},
      {"floordiv(Z, 0)", "0"},
      {"floordiv(N, 1)", "N"},
      {"floordiv(N, -1)", "-N"},
      {"floordiv(6*N + 4, 2)", "3*N + 2"},
      {"floordiv(2*N + 1, 2)", "N"},
      {"floordiv(2*N - 1, 2)", "N - 1"},
      {"floordiv(3*N, 2)", "N + floordiv(N, 2)"},
      {"floordiv(4*N + 6, 8)", "floordiv(N + 1, 2)"},
      {"floordiv(N + 9, 4)", "floordiv(N + 1, 4) + 2"},
      {"floordiv(N - 1, 4)", "floordiv(N + 3, 4) - 1"},
      {"floordiv(N, -4)", "-floordiv(N + 3, 4)"},
      {"-floordiv(-N, 4)", "floordiv(N + 3, 4)"},
      {"floordiv(floordiv(N, 2), 3)", "floordiv(N, 6)"},
      {"floordiv(floordiv(N + 1, 2) + 1, 2)", "floordiv(N + 3, 4)"},
      {"floordiv(floordiv(N, 2) + M, 3)", "floordiv(2*M + N, 6)"},
      {"floordiv(B, 8)", "0"},
      {"floordiv(B + 8, 8)", "1"},
      {"floordiv(B - 8, 8)", "-1"},
  }});
}

TEST(DimCanonical, DivisionByExpressions) {
  check_canonical({{
      {"floordiv(N*M, N)", "M"},
      {"floordiv(N*M, M)", "floordiv(M*N, M)"},  // M may be 0, and a division by 0 must be detected
      {"floordiv(N*768*H, 64*H)", "12*N"},
      {"floordiv(N*H + H, H)", "N + 1"},
      {"floordiv(N*M + M, N + 1)", "M"},
      {"floordiv(N*N - 1, N + 1)", "N - 1"},
      {"floordiv(N*M + H, N)", "M + floordiv(H, N)"},
      {"floordiv(N*H, 2*H)", "floordiv(N, 2)"},
      {"floordiv(-N*M, -N)", "M"},
      {"floordiv(2*M, 4*Z)", "floordiv(M, 2*Z)"},
      {"floordiv(N - 1, N)", "0"},
      {"floordiv(-N, N + 1)", "-1"},
      {"floordiv(0, Z)", "0"},
      {"floordiv(N, N)", "1"},
      {"floordiv(B, B + 1)", "0"},
  }});
}

TEST(DimCanonical, ModIsWrittenWithFloordiv) {
  check_canonical({{
      {"mod(7, 3)", "1"},
      {"mod(-7, 3)", "2"},
      {"mod(7, -3)", "-2"},
      {"mod(N, 1)", "0"},
      {"mod(N, 8)", "N - 8*floordiv(N, 8)"},
      {"mod(N + 8, 8)", "N - 8*floordiv(N, 8)"},
      {"mod(8*N + 3, 8)", "3"},
      {"mod(B, 8)", "B"},
      {"mod(N*M, N)", "0"},
      {"mod(M, N)", "-N*floordiv(M, N) + M"},
      {"mod(N, 8) + 8*floordiv(N, 8)", "N"},
  }});
}

TEST(DimCanonical, MinAndMax) {
  check_canonical({{
      {"min(3, 5)", "3"},
      {"max(3, 5)", "5"},
      {"max(N, N)", "N"},
      {"max(N, N + 1)", "N + 1"},
      {"min(N, N + 1)", "N"},
      {"max(M, 0)", "M"},
      {"max(0, Z)", "max(Z, 0)"},
      {"min(B, 7)", "B"},
      {"max(B, 7)", "7"},
      {"max(H, 5)", "max(H, 5)"},
      {"max(max(M, N), H)", "max(H, M, N)"},
      {"max(M, max(H, N), M)", "max(H, M, N)"},
      {"max(max(M, 3), 5)", "max(M, 5)"},
      {"min(min(M, 3), 5)", "min(M, 3)"},
      {"max(M, min(M, Z))", "M"},
      {"min(M, max(M, Z))", "M"},
      {"max(M + N, M)", "M + N"},
      {"max(floordiv(M, 2), M)", "M"},
      {"min(max(B, 0), 7)", "B"},
  }});
}

TEST(DimCanonical, EqualFormsMeet) {
  const CanonicalCase pairs[] = {
      {"floordiv(H - 3 + 2, 2) + 1", "floordiv(H + 1, 2)"},
      {"floordiv(N + 1, 2)", "-floordiv(-N, 2)"},
      {"mod(N, 4)", "mod(N + 4*M, 4)"},
      {"max(N, M) + 1 - max(M, N)", "1"},
      {"N*(M + H)", "H*N + M*N"},
      {"floordiv(N*M*H, H*N)", "M"},
  };
  Scope s = scope_with_heights();
  for (const auto& [a, b] : pairs) EXPECT_EQ(dim(s, a), dim(s, b)) << a << " and " << b;
}

TEST(DimCanonical, CeildivRoundsUp) {
  Scope s = scope_with_heights();
  const Dim n = dim(s, "N");
  EXPECT_EQ(ceildiv(s, 7, 2), Dim(4));
  EXPECT_EQ(ceildiv(s, -7, 2), Dim(-3));
  EXPECT_EQ(ceildiv(s, n, 2), dim(s, "floordiv(N + 1, 2)"));
  EXPECT_EQ(ceildiv(s, s.mul(n, 4), 2), dim(s, "2*N"));
}

TEST(DimCanonical, ProductOfManyFoldsInOrder) {
  Scope s = scope_with_heights();
  const Dim dims[] = {dim(s, "N"), 3, dim(s, "M"), 2};
  EXPECT_EQ(product(s, dims), dim(s, "6*N*M"));
  EXPECT_EQ(product(s, {}), Dim(1));
}

}  // namespace
}  // namespace frazil::test
