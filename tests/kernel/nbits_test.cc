#include "kernel/contract/nbits.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/on_isa.h"
#include "kernel/random_values.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

int number_at(const std::vector<std::uint8_t>& bytes, int bits, int64_t i) {
  const int per_byte = 8 / bits;
  return bytes[static_cast<std::size_t>(i / per_byte)] / (1 << (i % per_byte * bits)) % (1 << bits);
}

enum class ZeroPoints { middle, packed, real };

void expect_numbers(int bits, int64_t count, int64_t block, ZeroPoints zeros) {
  std::mt19937 gen(3);
  const int64_t blocks = (count + block - 1) / block;
  std::vector<std::uint8_t> numbers(static_cast<std::size_t>(blocks * block * bits / 8)),
      packed(static_cast<std::size_t>((blocks * bits + 7) / 8));
  for (auto* list : {&numbers, &packed}) {
    for (std::uint8_t& byte : *list) byte = static_cast<std::uint8_t>(gen());
  }
  std::vector<float> scales, real;
  for (int64_t b = 0; b < blocks; ++b) {
    scales.push_back(static_cast<float>(b + 1) / 8);
    real.push_back(static_cast<float>(b) / 4);
  }
  PackedRow row{bits, count, block, numbers.data(), scales.data()};
  if (zeros == ZeroPoints::real) row.zeros = real.data();
  if (zeros == ZeroPoints::packed) row.packed_zeros = packed.data();
  std::vector<float> got(static_cast<std::size_t>(count) + 1, 7.0f);
  unpack_row(row, got.data());
  for (int64_t i = 0; i < count; ++i) {
    const auto b = static_cast<std::size_t>(i / block);
    const float zero = zeros == ZeroPoints::real     ? real[b]
                       : zeros == ZeroPoints::packed ? static_cast<float>(number_at(packed, bits, i / block))
                                                     : static_cast<float>(1 << (bits - 1));
    ASSERT_EQ(got[static_cast<std::size_t>(i)], (static_cast<float>(number_at(numbers, bits, i)) - zero) * scales[b])
        << i;
  }
  EXPECT_EQ(got.back(), 7.0f);
}

TEST(Nbits, UnpacksEachNumber) {
  on_every_isa([] {
    for (const int bits : {2, 4, 8}) {
      for (const auto& [count, block] : {std::pair{16, 16}, {1, 16}, {31, 16}, {33, 32}, {300, 64}, {257, 128}}) {
        for (const ZeroPoints zeros : {ZeroPoints::middle, ZeroPoints::packed, ZeroPoints::real}) {
          SCOPED_TRACE(::testing::Message() << count << " of " << bits << " bits by " << block);
          expect_numbers(bits, count, block, zeros);
        }
      }
    }
  });
}

struct ProductCase {
  int64_t m, n, k, block;
};

/// A product of random numbers, column by column unpacked in the reference.
void expect_product(const ProductCase& c, ZeroPoints zeros, bool has_bias) {
  const int64_t blocks = c.k / c.block, zero_bytes = (blocks + 1) / 2;
  const auto numbers = values<std::uint8_t>(c.n * c.k / 2, 1), packed = values<std::uint8_t>(c.n * zero_bytes, 2);
  const auto a = values<float>(c.m * c.k, 3), scales = values<float>(c.n * blocks, 4),
             real = values<float>(c.n * blocks, 5, 15), bias = values<float>(c.n, 6);
  NBitsProduct p{.column = {4, c.k, c.block, numbers.data(), scales.data()}, .m = c.m, .n = c.n, .c_row = c.n};
  if (zeros == ZeroPoints::real) p.column.zeros = real.data();
  if (zeros == ZeroPoints::packed) p.column.packed_zeros = packed.data();
  if (has_bias) p.bias = bias.data();
  ASSERT_TRUE(has_nbits_product(p.column));
  std::vector<float> arranged(static_cast<std::size_t>(nbits_arranged(c.m, c.k))),
      room(static_cast<std::size_t>(nbits_scratch_floats(p.column)));
  nbits_arrange(a.data(), c.m, c.k, arranged.data());
  const auto run = [&](const std::vector<int64_t>& cuts) {
    std::vector<float> y(static_cast<std::size_t>(c.m * c.n) + 1, 7);
    p.c = y.data();
    int64_t from = 0;
    for (const int64_t cut : cuts) {
      nbits_product(p, arranged.data(), from, std::min(cut, c.n), room.data());
      from = std::min(cut, c.n);
    }
    nbits_product(p, arranged.data(), from, c.n, room.data());
    EXPECT_EQ(y.back(), 7);
    return y;
  };
  const std::vector<float> y = run({});
  EXPECT_EQ(y, run({1, 5, 37, 64}));
  for (int64_t j = 0; j < c.n; ++j) {
    PackedRow column = p.column;
    column.numbers += j * c.k / 2, column.scales += j * blocks;
    if (column.zeros != nullptr) column.zeros += j * blocks;
    if (column.packed_zeros != nullptr) column.packed_zeros += j * zero_bytes;
    std::vector<float> w(static_cast<std::size_t>(c.k));
    unpack_row(column, w.data());
    for (int64_t i = 0; i < c.m; ++i) {
      double sum = has_bias ? bias[static_cast<std::size_t>(j)] : 0, size = 1;
      for (int64_t k = 0; k < c.k; ++k) {
        const double term =
            static_cast<double>(a[static_cast<std::size_t>(i * c.k + k)]) * w[static_cast<std::size_t>(k)];
        sum += term, size += std::abs(term);
      }
      EXPECT_NEAR(y[static_cast<std::size_t>(i * c.n + j)], sum, 1e-6 * size) << i << ", " << j;
    }
  }
}

TEST(Nbits, MultipliesAsTheyLie) {
  if (!has_nbits_product({.bits = 4, .count = 32, .block = 32})) GTEST_SKIP() << "needs AVX-512";
  for (const ProductCase c : {ProductCase{1, 70, 32, 32},
                              {1, 33, 1280, 32},
                              {2, 5, 160, 32},
                              {3, 40, 192, 64},
                              {4, 3, 576, 64},
                              {5, 9, 512, 128},
                              {8, 35, 384, 128},
                              {9, 2, 1024, 256},
                              {17, 65, 96, 32}}) {
    for (const ZeroPoints zeros : {ZeroPoints::middle, ZeroPoints::packed, ZeroPoints::real}) {
      SCOPED_TRACE(::testing::Message() << c.m << " x " << c.n << " x " << c.k << " by " << c.block);
      expect_product(c, zeros, zeros == ZeroPoints::real);
    }
  }
}

TEST(Nbits, LeavesOtherProducts) {
  EXPECT_FALSE(has_nbits_product({.bits = 8, .count = 32, .block = 32}));
  EXPECT_FALSE(has_nbits_product({.bits = 4, .count = 32, .block = 16}));
  EXPECT_FALSE(has_nbits_product({.bits = 4, .count = 33, .block = 32}));
}

}  // namespace
}  // namespace frazil::kernel
