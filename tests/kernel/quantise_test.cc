#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/on_isa.h"
#include "kernel/random_values.h"
#include "kernel/tile/tile.h"

// Quantisation against its operations one by one.
namespace frazil::kernel {
namespace {

using std::int64_t;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

using Quantise = OnIsa;

int quantised(float x, float scale, float zero, Elem e) {
  const float y = std::nearbyint(x / scale) + zero;
  const float low = e == Elem::i8 ? -128 : 0, high = e == Elem::i8 ? 127 : 255;
  return std::isnan(y) ? 0 : static_cast<int>(std::min(std::max(y, low), high));
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

TEST_P(Quantise, HasTheBitsOfItsOperations) {
  for (const float scale : {0.1F, 1.0F, 0.037F, -0.5F, 1e-41F, 3e37F, 0.0F}) {
    for (const auto& [elem, zero] :
         {std::pair{Elem::u8, 0.0F}, std::pair{Elem::u8, 128.0F}, std::pair{Elem::u8, 255.0F},
          std::pair{Elem::i8, 3.0F}, std::pair{Elem::i8, -128.0F}, std::pair{Elem::u8, 0.75F},
          std::pair{Elem::u8, -1e9F}, std::pair{Elem::i8, kNaN}}) {
      for (const int64_t n : {1, 15, 63, 64, 130, 2000}) {
        const std::vector<float> x = hard_numbers(n, scale == 0 ? 1 : scale);
        std::vector<std::uint8_t> y(static_cast<std::size_t>(n) + 1, 77);
        const void* const in[] = {x.data(), &scale, &zero};
        quantise_fn(elem)(y.data(), in, x.size());
        for (std::size_t i = 0; i < x.size(); ++i)
          ASSERT_EQ(y[i], static_cast<std::uint8_t>(quantised(x[i], scale, zero, elem))) << x[i] << " / " << scale;
        EXPECT_EQ(y.back(), 77);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Quantise, ::testing::ValuesIn(isas()), name_of_isa);

}  // namespace
}  // namespace frazil::kernel
