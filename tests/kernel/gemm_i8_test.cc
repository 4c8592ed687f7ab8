#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/contract/gemm_kernel.h"
#include "kernel/on_isa.h"
#include "kernel/random_values.h"
#include "kernel/reported.h"

// Products of bytes are exact modulo 2^32: for all signs, extremes, extents that leave tails, and orders of rows.
namespace frazil::kernel {
namespace {

using std::int32_t;
using std::int64_t;
using Bytes = std::vector<std::uint8_t>;

struct Extents {
  int64_t m, n, k;
};

/// A product as it is asked for, with bytes of either sign.
struct ByteGemmCase {
  Extents e;
  bool signed_a = false, signed_b = false;
  bool b_columns = false;          ///< columns of B lie side by side
  int zeros = 0;                   ///< 0: none; 1: one for all; 2: one for each row and column
  std::vector<std::uint8_t> only;  ///< all that A and B consist of, if any
};

int32_t number_of(std::uint8_t byte, bool is_signed) {
  return is_signed ? static_cast<std::int8_t>(byte) : static_cast<int32_t>(byte);
}

Bytes bytes(int64_t n, unsigned seed, const Bytes& only) {
  Bytes all = values<std::uint8_t>(n, seed);
  for (std::uint8_t& b : all) b = only.empty() ? b : only[b % only.size()];
  return all;
}

class ByteProduct {
 public:
  explicit ByteProduct(ByteGemmCase c)
      : c_(std::move(c)),
        kernel_(find_gemm(c_.signed_a ? Elem::i8 : Elem::u8, c_.signed_b ? Elem::i8 : Elem::u8, Elem::i32)),
        a_(bytes(c_.e.m * c_.e.k, 1, c_.only)),
        b_(bytes(c_.e.k * c_.e.n, 2, c_.only)),
        a_zero_(bytes(c_.e.m, 3, c_.only)),
        b_zero_(bytes(c_.e.n, 4, c_.only)) {
    const auto [m, n, k] = c_.e;
    call_ = {.m = m, .n = n, .k = k, .a = a_.data(), .a_row = k, .b = b_.data(), .c_row = n};
    call_.b_row = c_.b_columns ? 1 : n;
    call_.b_col = c_.b_columns ? k : 1;
    if (c_.zeros > 0) call_.a_zero = a_zero_.data(), call_.b_zero = b_zero_.data();
    call_.a_zero_step = call_.b_zero_step = c_.zeros == 2;
  }

  /// In steps of some rows, and of some columns unless `width` is 0.
  std::vector<int32_t> run(bool packed, int64_t step, int64_t width = 0) {
    const auto [m, n, k] = c_.e;
    std::vector<std::byte> form(packed ? kernel_->packed_b_bytes(k, n) : 0), scratch(kernel_->scratch_bytes(m, n, k));
    if (packed) kernel_->pack_b(call_, form.data());
    std::vector<int32_t> c(static_cast<std::size_t>(m * n), 77);
    GemmCall g = call_;
    g.c = c.data();
    if (packed) g.packed_b = form.data(), g.b = nullptr;
    for (int64_t j = 0; j < (width == 0 ? 1 : n); j += std::max<int64_t>(width, 1)) {
      if (width != 0) g.first_col = j, g.past_col = std::min(n, j + width);
      for (int64_t i = 0; i < m; i += step) kernel_->rows(g, i, std::min(m, i + step), scratch.data());
    }
    return c;
  }

  std::vector<int32_t> expected() const {
    const auto [m, n, k] = c_.e;
    std::vector<int32_t> c;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) c.push_back(sum(i, j));
    }
    return c;
  }

 private:
  int32_t sum(int64_t i, int64_t j) const {
    const auto at = [](const Bytes& all, int64_t index, bool is_signed) {
      return number_of(all[static_cast<std::size_t>(index)], is_signed);
    };
    const bool each = c_.zeros == 2, any = c_.zeros > 0;
    const int32_t x = any ? at(a_zero_, each ? i : 0, c_.signed_a) : 0,
                  y = any ? at(b_zero_, each ? j : 0, c_.signed_b) : 0;
    std::uint32_t total = 0;
    for (int64_t p = 0; p < c_.e.k; ++p) {
      const int32_t b = at(b_, p * call_.b_row + j * call_.b_col, c_.signed_b);
      total += static_cast<std::uint32_t>((at(a_, i * c_.e.k + p, c_.signed_a) - x) * (b - y));
    }
    return static_cast<int32_t>(total);
  }

  ByteGemmCase c_;
  const GemmKernel* kernel_;
  Bytes a_, b_, a_zero_, b_zero_;
  GemmCall call_;
};

void expect_exact_product(const ByteGemmCase& c) {
  ByteProduct product(c);
  const auto expected = product.expected();
  EXPECT_EQ(product.run(true, c.e.m), expected) << "packed";
  EXPECT_EQ(product.run(false, c.e.m), expected) << "as it lies";
  EXPECT_EQ(product.run(true, 5), expected) << "packed, five rows at a time";
  EXPECT_EQ(product.run(true, 7, 32), expected) << "packed, some columns at a time";
  EXPECT_EQ(product.run(false, 3, 64), expected) << "as it lies, few rows of some columns";
  EXPECT_EQ(product.run(false, 7, 32), expected) << "as it lies, some columns at a time";
}

class ByteProducts : public OnFeatures {};

TEST_P(ByteProducts, AreExactForAllSigns) {
  for (int signs = 0; signs < 4; ++signs) {
    for (int zeros = 0; zeros < 3; ++zeros) {
      SCOPED_TRACE(std::to_string(signs) + ", " + std::to_string(zeros));
      const bool a = (signs & 1) != 0, b = (signs & 2) != 0;
      expect_exact_product({.e = {13, 45, 61}, .signed_a = a, .signed_b = b, .zeros = zeros, .only = {}});
      expect_exact_product(
          {.e = {9, 64, 32}, .signed_a = a, .signed_b = b, .b_columns = true, .zeros = zeros, .only = {}});
    }
  }
}

TEST_P(ByteProducts, AreExactForExtremes) {
  for (int signs = 0; signs < 4; ++signs) {
    SCOPED_TRACE(signs);
    const bool a = (signs & 1) != 0, b = (signs & 2) != 0;
    for (const Bytes& only : {Bytes{0x80}, Bytes{0xff}, Bytes{0x7f}, Bytes{0x80, 0xff}, Bytes{0x7f, 0x80, 0}}) {
      expect_exact_product({.e = {6, 33, 70}, .signed_a = a, .signed_b = b, .zeros = 2, .only = only});
      expect_exact_product({.e = {7, 16, 70}, .signed_a = a, .signed_b = b, .only = only});
    }
  }
}

TEST_P(ByteProducts, AreExactForAllTails) {
  for (int64_t m = 1; m <= 14; ++m) expect_exact_product({.e = {m, 37, 18}, .signed_b = true, .zeros = 1, .only = {}});
  for (int64_t n = 1; n <= 66; ++n) expect_exact_product({.e = {5, n, 7}, .signed_b = true, .zeros = 2, .only = {}});
  for (int64_t k = 1; k <= 40; ++k) expect_exact_product({.e = {4, 19, k}, .signed_a = true, .zeros = 1, .only = {}});
}

TEST_P(ByteProducts, AreExactOverManyBlocks) {
  expect_exact_product({.e = {3, 40, 2500}, .signed_b = true, .zeros = 1, .only = {}});
  expect_exact_product({.e = {203, 300, 33}, .signed_b = true, .zeros = 1, .only = {}});
  expect_exact_product({.e = {26, 40, 9000}, .zeros = 2, .only = {}});
  expect_exact_product({.e = {4, 700, 4000}, .signed_a = true, .signed_b = true, .only = {}});
}

TEST_P(ByteProducts, WithoutDepthAreZero) {
  ByteProduct product({.e = {5, 3, 0}, .zeros = 1, .only = {}});
  EXPECT_EQ(product.run(false, 5), std::vector<int32_t>(15));
}

TEST_P(ByteProducts, ReportEachTileOnce) {
  const Extents e{130, 600, 2100};
  const Bytes a = values<std::uint8_t>(e.m * e.k, 1), b = values<std::uint8_t>(e.k * e.n, 2);
  const GemmKernel& kernel = *find_gemm(Elem::u8, Elem::i8, Elem::i32);
  GemmCall g{.m = e.m, .n = e.n, .k = e.k, .a = a.data(), .a_row = e.k, .b = b.data(), .b_row = e.n, .c_row = e.n};
  std::vector<std::byte> form(kernel.packed_b_bytes(e.k, e.n)), scratch(kernel.scratch_bytes(e.m, e.n, e.k));
  kernel.pack_b(g, form.data());
  std::vector<int32_t> expected(static_cast<std::size_t>(e.m * e.n));
  g.c = expected.data();
  kernel.rows(g, 0, e.m, scratch.data());
  for (const bool packed : {true, false}) {
    for (const bool whole : {true, false}) {
      Reported<int32_t> r{
          .expected = &expected, .c = expected, .seen = std::vector<int32_t>(expected.size()), .n = e.n};
      std::ranges::fill(r.c, 0);
      const TileCallback callback{.done = &Reported<int32_t>::done, .context = &r, .whole_rows = whole};
      g.on_tile = &callback;
      g.c = r.c.data();
      g.packed_b = packed ? form.data() : nullptr;
      kernel.rows(g, 0, e.m, scratch.data());
      EXPECT_EQ(r.seen, std::vector<int32_t>(expected.size(), 1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, ByteProducts, ::testing::ValuesIn(all_features()), name_of_features);

}  // namespace
}  // namespace frazil::kernel
