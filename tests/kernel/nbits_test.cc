#include "kernel/nbits.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/isa.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

int number(const std::vector<std::uint8_t>& bytes, int bits, int64_t i) {
  const int per_byte = 8 / bits;
  return bytes[static_cast<std::size_t>(i / per_byte)] / (1 << (i % per_byte * bits)) % (1 << bits);
}

enum class Zeros { middle, packed, real };

void expect_numbers(int bits, int64_t count, int64_t block, Zeros zeros) {
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
  if (zeros == Zeros::real) row.zeros = real.data();
  if (zeros == Zeros::packed) row.packed_zeros = packed.data();
  std::vector<float> got(static_cast<std::size_t>(count) + 1, 7.0f);
  unpack_row(row, got.data());
  for (int64_t i = 0; i < count; ++i) {
    const auto b = static_cast<std::size_t>(i / block);
    const float zero = zeros == Zeros::real     ? real[b]
                       : zeros == Zeros::packed ? static_cast<float>(number(packed, bits, i / block))
                                                : static_cast<float>(1 << (bits - 1));
    ASSERT_EQ(got[static_cast<std::size_t>(i)], (static_cast<float>(number(numbers, bits, i)) - zero) * scales[b]) << i;
  }
  EXPECT_EQ(got.back(), 7.0f);
}

TEST(Nbits, UnpacksEachNumber) {
  for (const Isa isa : isas()) {
    force_isa(isa);
    for (const int bits : {2, 4, 8}) {
      for (const auto& [count, block] : {std::pair{16, 16}, {1, 16}, {31, 16}, {33, 32}, {300, 64}, {257, 128}}) {
        for (const Zeros zeros : {Zeros::middle, Zeros::packed, Zeros::real}) {
          SCOPED_TRACE(::testing::Message() << name_of(isa) << ": " << count << " of " << bits << " bits by " << block);
          expect_numbers(bits, count, block, zeros);
        }
      }
    }
  }
  force_isa(best_isa());
}

}  // namespace
}  // namespace frazil::kernel
