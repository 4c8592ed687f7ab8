#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/value/float.h"
#include "kernel/contract/float_gemm.h"
#include "kernel/half_testing.h"
#include "kernel/random_values.h"
#include "kernel/reported.h"

// Products of 16-bit floats against sums in double: an element of C lies between what the sum less and plus its error
// gives, as all that follows the sum keeps the order of numbers.
namespace frazil::kernel {
namespace {

using std::int64_t;

float rounded(Elem elem, double x) { return widened(elem, narrowed(elem, static_cast<float>(x))); }

struct HalfGemmCase {
  int64_t m, n, k;
  bool a_columns = false, b_columns = false;  ///< what lies side by side
  bool bias = false, bias_in_sum = false, addend = false;
  float negative_slope = 1;
};

class HalfProduct {
 public:
  HalfProduct(Elem elem, const HalfGemmCase& c)
      : elem_(elem),
        c_(c),
        kernel_(*find_gemm(elem, elem, elem)),
        a_(halves(elem, c.m * c.k, 1)),
        b_(halves(elem, c.k * c.n, 2)),
        bias_(halves(elem, c.n, 3)),
        addend_(halves(elem, c.m * c.n, 4)) {
    call_ = {.m = c.m, .n = c.n, .k = c.k, .a = a_.data(), .b = b_.data(), .c_row = c.n};
    call_.a_row = c.a_columns ? 1 : c.k, call_.a_col = c.a_columns ? c.m : 1;
    call_.b_row = c.b_columns ? 1 : c.n, call_.b_col = c.b_columns ? c.k : 1;
    if (c.bias) call_.bias = bias_.data();
    if (c.addend) call_.addend = addend_.data();
    call_.negative_slope = c.negative_slope, call_.bias_in_sum = c.bias_in_sum;
  }
  GemmCall& call() { return call_; }

  /// In steps of some rows, and of some columns or all.
  Halves run(bool packed, int64_t step, int64_t cols = 0) const {
    std::vector<std::byte> form(packed ? kernel_.packed_b_bytes(c_.k, c_.n) : 0),
        scratch(kernel_.scratch_bytes(c_.m, c_.n, c_.k));
    if (packed) kernel_.pack_b(call_, form.data());
    Halves c(static_cast<std::size_t>(c_.m * c_.n), 0x7fff);
    GemmCall g = call_;
    g.c = c.data();
    if (packed) g.packed_b = form.data(), g.b = nullptr;
    for (int64_t j = 0; j < c_.n; j += cols == 0 ? c_.n : cols) {
      if (cols != 0) g.first_col = j, g.past_col = std::min(c_.n, j + cols);
      for (int64_t i = 0; i < c_.m; i += step) kernel_.rows(g, i, std::min(c_.m, i + step), scratch.data());
    }
    return c;
  }

  void expect_right(const Halves& c) const {
    for (int64_t i = 0; i < c_.m; ++i) {
      for (int64_t j = 0; j < c_.n; ++j) {
        double sum = 0, size = 0;
        for (int64_t p = 0; p < c_.k; ++p) {
          const double product = at(a_, i * call_.a_row + p * call_.a_col) * at(b_, p * call_.b_row + j * call_.b_col);
          sum += product, size += std::fabs(product);
        }
        const double terms = std::sqrt(static_cast<double>(c_.k)) + 2;
        const double error = terms * size * static_cast<double>(std::numeric_limits<float>::epsilon()) + 1e-38;
        const float got = widened(elem_, c[static_cast<std::size_t>(i * c_.n + j)]);
        ASSERT_GE(got, of_sum(sum - error, i, j)) << i << ", " << j;
        ASSERT_LE(got, of_sum(sum + error, i, j)) << i << ", " << j;
      }
    }
  }

 private:
  double at(const Halves& all, int64_t i) const { return widened(elem_, all[static_cast<std::size_t>(i)]); }

  float of_sum(double sum, int64_t i, int64_t j) const {
    const double bias = c_.bias ? at(bias_, j) : 0;
    float x = rounded(elem_, c_.bias_in_sum ? sum + bias : sum);
    if (!c_.bias_in_sum) x = rounded(elem_, x + bias);
    if (c_.addend) x = rounded(elem_, x + at(addend_, i * c_.n + j));
    return x < 0 ? rounded(elem_, x * c_.negative_slope) : x;
  }

  Elem elem_;
  HalfGemmCase c_;
  const GemmKernel& kernel_;
  Halves a_, b_, bias_, addend_;
  GemmCall call_;
};

void expect_right(Elem elem, const HalfGemmCase& c) {
  SCOPED_TRACE(std::to_string(c.m) + " x " + std::to_string(c.n) + " x " + std::to_string(c.k));
  const HalfProduct product(elem, c);
  const Halves packed = product.run(true, c.m);
  product.expect_right(packed);
  EXPECT_EQ(product.run(true, 5), packed) << "five rows at a time";
  const Halves direct = product.run(false, c.m);
  product.expect_right(direct);
  EXPECT_EQ(product.run(false, 7), direct) << "as it lies, seven rows at a time";
  for (const int64_t cols : {kRangeCols, 3 * kRangeCols}) {
    if (cols >= c.n) continue;
    EXPECT_EQ(product.run(true, c.m, cols), packed) << cols << " columns at a time";
    EXPECT_EQ(product.run(false, c.m, cols), direct) << "as it lies, " << cols << " columns at a time";
  }
}

class HalfProducts : public HalfTest {};

TEST_P(HalfProducts, HaveAllTails) {
  for (int64_t m = 1; m <= 26; ++m) expect_right(elem(), {.m = m, .n = 37, .k = 18});
  for (int64_t n = 1; n <= 70; n += n < 40 ? 1 : 7) expect_right(elem(), {.m = 5, .n = n, .k = 7});
  for (int64_t k = 1; k <= 40; ++k) expect_right(elem(), {.m = 6, .n = 19, .k = k});
  for (int64_t k = 1; k <= 70; k += 3) expect_right(elem(), {.m = 2, .n = 67, .k = k, .b_columns = true});
}

TEST_P(HalfProducts, TakeAnyStrides) {
  for (int strides = 0; strides < 4; ++strides) {
    const bool a = (strides & 1) != 0, b = (strides & 2) != 0;
    for (const int64_t m : {1, 2, 3, 13, 40}) {
      expect_right(elem(), {.m = m, .n = 129, .k = 65, .a_columns = a, .b_columns = b});
      expect_right(elem(), {.m = m, .n = 16, .k = 64, .a_columns = a, .b_columns = b});
    }
  }
}

TEST_P(HalfProducts, DoWhatFollows) {
  for (int bits = 0; bits < 16; ++bits) {
    HalfGemmCase c{.m = 14, .n = 45, .k = 50};
    c.bias = (bits & 1) != 0, c.bias_in_sum = (bits & 2) != 0, c.addend = (bits & 4) != 0;
    c.negative_slope = (bits & 8) == 0 ? 1 : c.addend ? 0.25F : 0;
    expect_right(elem(), c);
    c.m = 1, c.n = 200;
    expect_right(elem(), c);
  }
}

TEST_P(HalfProducts, HaveManyBlocks) {
  expect_right(elem(), {.m = 5, .n = 40, .k = 5000, .bias = true});
  expect_right(elem(), {.m = 330, .n = 130, .k = 33, .negative_slope = 0});
  expect_right(elem(), {.m = 26, .n = 40, .k = 9000});
  expect_right(elem(), {.m = 6, .n = 2100, .k = 300, .addend = true});
}

TEST_P(HalfProducts, WithoutDepthAreWhatFollows) {
  const HalfProduct product(elem(), {.m = 5, .n = 40, .k = 0, .bias = true});
  product.expect_right(product.run(false, 5));
  EXPECT_EQ(product.run(false, 5, kRangeCols), product.run(false, 5));
}

TEST_P(HalfProducts, RoundAsFmaDoesWhereTheyAreStrict) {
  HalfProduct product(elem(), {.m = 20, .n = 40, .k = 70});
  product.call().strict = true;
  const Halves strict = product.run(true, 20);
  CpuFeatures without = features();
  without.bf16_dot = false;
  force_features(without);
  product.call().strict = false;
  EXPECT_EQ(product.run(true, 20), strict);
}

TEST_P(HalfProducts, KeepNumbersThatAreNotFinite) {
  const float infinite = std::numeric_limits<float>::infinity();
  HalfProduct product(elem(), {.m = 6, .n = 33, .k = 3});
  Halves a(18, narrowed(elem(), 1)), b(99, narrowed(elem(), 2));
  a[3] = narrowed(elem(), infinite), a[7] = narrowed(elem(), std::nanf("")), a[17] = narrowed(elem(), -infinite);
  product.call().a = a.data(), product.call().b = b.data();
  const Halves c = product.run(true, 6);
  EXPECT_EQ(widened(elem(), c[0]), 6);
  EXPECT_EQ(widened(elem(), c[33]), infinite);
  EXPECT_TRUE(std::isnan(widened(elem(), c[66])));
  EXPECT_EQ(widened(elem(), c[5 * 33 + 32]), -infinite);
}

TEST_P(HalfProducts, ReportEachTileOnce) {
  for (const HalfGemmCase c : {HalfGemmCase{.m = 280, .n = 1300, .k = 21}, HalfGemmCase{.m = 130, .n = 60, .k = 210},
                               HalfGemmCase{.m = 2, .n = 70, .k = 9}, HalfGemmCase{.m = 1, .n = 9, .k = 0}}) {
    HalfProduct product(elem(), c);
    const Halves expected = product.run(c.k > 0, c.m);
    Reported<std::uint16_t> r{
        .expected = &expected, .c = Halves(expected.size()), .seen = std::vector<int>(expected.size()), .n = c.n};
    const TileCallback callback{.done = &Reported<std::uint16_t>::done, .context = &r, .whole_rows = c.n < 500};
    GemmCall g = product.call();
    const GemmKernel& kernel = *find_gemm(elem(), elem(), elem());
    std::vector<std::byte> scratch(kernel.scratch_bytes(c.m, c.n, c.k)), form(kernel.packed_b_bytes(c.k, c.n));
    kernel.pack_b(g, form.data());
    g.on_tile = &callback, g.c = r.c.data();
    if (c.k > 0) g.packed_b = form.data();
    kernel.rows(g, 0, c.m, scratch.data());
    EXPECT_EQ(r.seen, std::vector<int>(expected.size(), 1));
  }
}

TEST_P(HalfProducts, GiveTheirSumsInF32) {
  const HalfGemmCase c{.m = 9, .n = 50, .k = 31};
  HalfProduct product(elem(), c);
  const GemmKernel& kernel = *find_gemm(elem(), elem(), Elem::f32);
  std::vector<std::byte> scratch(kernel.scratch_bytes(c.m, c.n, c.k));
  std::vector<float> sums(static_cast<std::size_t>(c.m * c.n), 77);
  GemmCall g = product.call();
  g.c = sums.data();
  kernel.rows(g, 0, c.m, scratch.data());
  Halves narrow;
  for (const float x : sums) narrow.push_back(narrowed(elem(), x));
  EXPECT_EQ(narrow, product.run(false, c.m));
}

INSTANTIATE_TEST_SUITE_P(Isa, HalfProducts, half_params(), name_of_half);

}  // namespace
}  // namespace frazil::kernel
