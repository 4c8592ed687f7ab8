#include "kernel/contract/float_gemm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/on_isa.h"
#include "kernel/random_values.h"
#include "kernel/reported.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

struct GemmCase {
  int64_t m, n, k;
  int a_layout = 0, b_layout = 0;  ///< 0: row-major, 1: transposed, 2: both strides odd, 3: row-major with padding
  bool accumulate = false, bias = false;
  float negative_slope = 1;
};

void strides(int layout, int64_t rows, int64_t cols, int64_t& row, int64_t& col) {
  row = layout == 0 ? cols : layout == 1 ? 1 : layout == 2 ? 3 * cols + 5 : cols + 7;
  col = layout == 1 ? rows : layout == 2 ? 3 : 1;
}

constexpr float kUntouched = 12345.f;
constexpr float kSlopes[] = {1, 0, 0.01f};

/// Runs one case on every path: whole, by rows, packed, packed by rows. The paths must give equal bits, also after the
/// operations on the finished product.
void check_gemm(const GemmCase& t) {
  SCOPED_TRACE("m " + std::to_string(t.m) + " n " + std::to_string(t.n) + " k " + std::to_string(t.k) + " a" +
               std::to_string(t.a_layout) + " b" + std::to_string(t.b_layout) + (t.accumulate ? " +=" : "") +
               (t.bias ? " bias" : "") + " slope " + std::to_string(t.negative_slope) + " " +
               std::string(name_of(features().isa)));
  GemmCall g;
  g.m = t.m, g.n = t.n, g.k = t.k;
  strides(t.a_layout, t.m, t.k, g.a_row, g.a_col);
  strides(t.b_layout, t.k, t.n, g.b_row, g.b_col);
  const auto a = values<float>(t.m * std::abs(g.a_row) + t.k * g.a_col + 1, 1);
  const auto b = values<float>(t.k * std::abs(g.b_row) + t.n * g.b_col + 1, 2);
  const auto bias = values<float>(t.n, 3);
  g.a = a.data(), g.b = b.data(), g.c_row = t.n + 3;
  auto start = values<float>(t.m * g.c_row + 8, 4);
  for (int64_t i = 0; i < t.m; ++i)
    for (int64_t j = t.n; j < g.c_row; ++j) start[static_cast<std::size_t>(i * g.c_row + j)] = kUntouched;
  if (t.bias) g.bias = bias.data();
  g.accumulate = t.accumulate, g.negative_slope = t.negative_slope;
  std::vector<std::byte> scratch(float_gemm_scratch(Elem::f32, t.m, t.n, t.k) + 1);
  std::vector<std::byte> packed(packed_b_bytes(Elem::f32, t.k, t.n) + 1);
  pack_b(Elem::f32, t.k, t.n, g.b, g.b_row, g.b_col, packed.data());

  const auto rows = [&](const GemmCall& call, int64_t begin, int64_t end) {
    float_gemm(Elem::f32, false, call, begin, end, scratch.data());
  };
  const auto at = [](const std::vector<float>& v, int64_t i) { return double(v[static_cast<std::size_t>(i)]); };
  const auto compare = [&](const std::vector<float>& c) {
    for (int64_t i = 0; i < t.m; ++i) {
      for (int64_t j = 0; j < t.n; ++j) {
        const auto place = static_cast<std::size_t>(i * g.c_row + j);
        double sum = 0, size = 0;
        for (int64_t p = 0; p < t.k; ++p) {
          const double x = at(a, i * g.a_row + p * g.a_col) * at(b, p * g.b_row + j * g.b_col);
          sum += x, size += std::abs(x);
        }
        const double extra = (t.bias ? bias[static_cast<std::size_t>(j)] : 0.0) + (t.accumulate ? start[place] : 0.0);
        const double bound = 2 * std::sqrt(double(t.k) + 4) * 6e-8 * (size + std::abs(extra) + 1);
        const double want = std::max(sum + extra, t.negative_slope * (sum + extra));
        ASSERT_NEAR(c[place], want, bound) << i << "," << j;
      }
      for (int64_t j = t.n; j < g.c_row; ++j) ASSERT_EQ(c[static_cast<std::size_t>(i * g.c_row + j)], kUntouched);
    }
  };
  auto whole = start, split = start, with_packed = start, split_packed = start;
  g.c = whole.data();
  gemm(g, scratch.data());
  compare(whole);
  g.c = split.data();
  for (int64_t i = 0; i < t.m; i += 5) rows(g, i, std::min(t.m, i + 5));
  EXPECT_EQ(split, whole);
  g.c = with_packed.data();
  g.packed_b = packed.data();
  gemm(g, scratch.data());
  compare(with_packed);
  auto from_behind = start;
  GemmCall backwards = g;
  backwards.c = from_behind.data(), backwards.backwards = true;
  gemm(backwards, scratch.data());
  EXPECT_EQ(from_behind, with_packed);
  g.c = split_packed.data();
  for (int64_t i = 0; i < t.m; i += 17) rows(g, i, std::min(t.m, i + 17));
  EXPECT_EQ(split_packed, with_packed);

  const auto in_columns = [&](const void* packed_b) {
    auto c = start;
    GemmCall part = g;
    part.c = c.data(), part.packed_b = packed_b;
    for (int64_t j = 0, width = kRangeCols; j < t.n; j += width, width = 3 * kRangeCols - width) {
      const int64_t row = (t.m + 1) / 2;
      part.first_col = j, part.past_col = std::min(t.n, j + width);
      rows(part, 0, row);
      rows(part, row, t.m);
    }
    return c;
  };
  EXPECT_EQ(in_columns(nullptr), whole);
  EXPECT_EQ(in_columns(packed.data()), with_packed);

  const auto finished_later = [&](const void* packed_b) {
    auto c = start;
    GemmCall plain = g;
    plain.c = c.data(), plain.bias = nullptr, plain.negative_slope = 1, plain.packed_b = packed_b;
    gemm(plain, scratch.data());
    for (int64_t i = 0; i < t.m; ++i) {
      for (int64_t j = 0; j < t.n; ++j) {
        float& x = c[static_cast<std::size_t>(i * g.c_row + j)];
        if (t.bias) x += bias[static_cast<std::size_t>(j)];
        x = std::max(x, t.negative_slope * x);
      }
    }
    return c;
  };
  EXPECT_EQ(finished_later(nullptr), whole);
  EXPECT_EQ(finished_later(packed.data()), with_packed);
}

using GemmTest = OnIsa;

TEST_P(GemmTest, EveryRowAndColumnTail) {
  for (int64_t m = 0; m <= 30; ++m)
    for (int64_t n : {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 65, 129}) check_gemm({m, n, 11});
}

TEST_P(GemmTest, Layouts) {
  for (int64_t m : {1, 2, 3, 4, 5, 12, 13, 16, 17, 40})
    for (int64_t n : {1, 5, 32, 47, 130})
      for (int64_t k : {0, 1, 3, 16, 37})
        for (int a = 0; a < 4; ++a)
          for (int b = 0; b < 4; ++b)
            check_gemm({m, n, k, a, b, (m + n) % 2 == 0, (m + k) % 2 == 0, kSlopes[(n + k) % 3]});
}

TEST_P(GemmTest, SeveralBlocks) {
  check_gemm({1, 70, 1000, 0, 0, true, true});
  check_gemm({1, 70, 1000, 0, 1, true, true});
  check_gemm({1, 8, 5000, 0, 0, true, true});
  check_gemm({1, 130, 300, 0, 0, true, true});
  check_gemm({5, 1100, 600, 0, 0, false, true});
  for (int64_t m : {3, 30})
    for (int b = 0; b < 3; ++b) check_gemm({m, 40, 9000, b, b, true, true});
  check_gemm({5, 70, 1000, 1, 1, true, true});
  check_gemm({200, 70, 520, 0, 0, true, true});
  check_gemm({150, 1100, 300, 1, 1, false, true});
  check_gemm({301, 45, 257, 2, 2, true, false});
  for (int64_t m : {1, 5, 40})
    for (float negative_slope : kSlopes) check_gemm({m, 130, 600, 0, 0, false, true, negative_slope});
}

TEST_P(GemmTest, FewRowsOfManyColumns) {
  for (int64_t m : {1, 2, 5, 12, 16, 37, 48})
    for (int b = 0; b < 2; ++b) check_gemm({m, 515, 530, 0, b, m % 2 == 0, true, kSlopes[m % 3]});
}

TEST_P(GemmTest, ReluKeepsNanAndHasNoNegativeZero) {
  constexpr float kTiny = 1e-30f;  // its square underflows to 0
  const float a[] = {-kTiny, 0, -2, 0, NAN, 0, INFINITY, 0, 3, 0}, b[] = {kTiny, 0};
  for (int64_t m : {1, 5}) {
    std::vector<std::byte> scratch(float_gemm_scratch(Elem::f32, m, 1, 2) + 1);
    std::vector<float> c(5, 7);
    GemmCall g;
    g.m = m, g.n = 1, g.k = 2, g.a = a, g.a_row = 2, g.b = b, g.b_row = 1, g.c = c.data(), g.c_row = 1,
    g.negative_slope = 0;
    gemm(g, scratch.data());
    EXPECT_EQ(c[0], 0);
    EXPECT_FALSE(std::signbit(c[0]));
    if (m == 1) continue;
    EXPECT_EQ(c[1], 0);
    EXPECT_TRUE(std::isnan(c[2]));
    EXPECT_EQ(c[3], INFINITY);
    EXPECT_EQ(c[4], 3 * kTiny);
  }
}

/// Each element is reported once, with its final value, and in whole rows where these are asked for: `b_layout` and the
/// extents choose how B is read.
void check_reports(const GemmCase& t, bool packed, bool whole_rows) {
  SCOPED_TRACE("m " + std::to_string(t.m) + " n " + std::to_string(t.n) + " k " + std::to_string(t.k) + " b" +
               std::to_string(t.b_layout) + (packed ? " packed" : "") + (whole_rows ? " whole rows" : ""));
  const auto a = values<float>(t.m * t.k, 1), b = values<float>(t.k * t.n, 2);
  GemmCall g{.m = t.m, .n = t.n, .k = t.k, .a = a.data(), .a_row = t.k, .b = b.data(), .c_row = t.n};
  strides(t.b_layout, t.k, t.n, g.b_row, g.b_col);
  std::vector<std::byte> scratch(float_gemm_scratch(Elem::f32, t.m, t.n, t.k) + 1);
  std::vector<std::byte> form(packed_b_bytes(Elem::f32, t.k, t.n) + 1);
  pack_b(Elem::f32, t.k, t.n, g.b, g.b_row, g.b_col, form.data());
  if (packed) g.packed_b = form.data();
  std::vector<float> expected(static_cast<std::size_t>(t.m * t.n));
  g.c = expected.data();
  gemm(g, scratch.data());
  struct Rows : Reported<float> {
    bool whole;
    static void done(void* self, int64_t row0, int64_t row1, int64_t col0, int64_t col1) {
      const auto& rows = *static_cast<Rows*>(self);
      EXPECT_TRUE(!rows.whole || (col0 == 0 && col1 == rows.n)) << col0 << " to " << col1;
      Reported<float>::done(self, row0, row1, col0, col1);
    }
  };
  Rows rows{{.expected = &expected,
             .c = std::vector<float>(expected.size()),
             .seen = std::vector<int>(expected.size()),
             .n = t.n},
            whole_rows};
  const TileCallback on_tile{.done = &Rows::done, .context = &rows, .whole_rows = whole_rows};
  g.c = rows.c.data(), g.on_tile = &on_tile;
  gemm(g, scratch.data());
  EXPECT_EQ(rows.seen, std::vector<int>(expected.size(), 1));
}

TEST_P(GemmTest, ReportsEachTileOnce) {
  const GemmCase cases[] = {{1, 70, 30},   {1, 2600, 40},       {5, 2600, 530},      {12, 2600, 40},
                            {3, 90, 5000}, {40, 300, 5000},     {300, 1300, 21},     {130, 60, 210},
                            {1, 9, 0},     {9, 2600, 70, 0, 1}, {40, 2600, 70, 0, 1}};
  for (const GemmCase& c : cases)
    for (const bool packed : {false, true})
      for (const bool whole_rows : {false, true}) check_reports(c, packed && c.k > 0, whole_rows);
}

INSTANTIATE_TEST_SUITE_P(Isa, GemmTest, ::testing::ValuesIn(isas()), name_of_isa);

}  // namespace
}  // namespace frazil::kernel
