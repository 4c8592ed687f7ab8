#include "kernel/window/conv_nhwc.h"

#include <vector>

#include <gtest/gtest.h>

#include "kernel/conv_cases.h"
#include "kernel/on_isa.h"
#include "kernel/random_values.h"

namespace frazil::kernel {
namespace {

/// [n, c, positions] to [n, positions, c], or back.
template <class T>
std::vector<T> channels_moved(const std::vector<T>& from, int64_t n, int64_t c, int64_t positions, bool last) {
  std::vector<T> to(from.size());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < c; ++j)
      for (int64_t k = 0; k < positions; ++k) {
        const int64_t first = (i * c + j) * positions + k, behind = (i * positions + k) * c + j;
        to[at(last ? behind : first)] = from[at(last ? first : behind)];
      }
  return to;
}

std::vector<ConvParams> nhwc_cases() {
  std::vector<ConvParams> all = cases();
  all.push_back(make(1, 64, 17, 9, 40, 3, 3, 1, 1, 1));
  all.push_back(make(3, 70, 16, 5, 33, 3, 3));
  all.push_back(make(1, 17, 40, 230, 16, 3, 3, 1, 1, 1));
  all.push_back(make(2, 24, 12, 12, 36, 1, 1, 1, 1, 0, 3));
  all.push_back(make(1, 40, 9, 9, 40, 5, 5, 1, 1, 2, 40));
  all.push_back(make(1, 600, 7, 7, 300, 1, 1));
  all.push_back(make(2, 300, 9, 15, 141, 1, 1, 2));
  all.push_back(make(1, 130, 15, 14, 160, 1, 1, 1, 1, 1));
  return all;
}

using NhwcTest = OnIsa;

TEST_P(NhwcTest, Cases) {
  int index = 0, winograd = 0;
  for (const ConvParams& p : nhwc_cases()) {
    SCOPED_TRACE("case " + std::to_string(index++));
    const auto x = values<float>(p.batch * p.in_c * p.in_h * p.in_w, 1);
    const auto w = values<float>(p.out_c * (p.in_c / p.groups) * p.kernel_h * p.kernel_w, 2);
    const auto bias = values<float>(p.out_c, 3);
    const auto last = channels_moved(x, p.batch, p.in_c, p.in_h * p.in_w, true);
    std::vector<std::byte> packed(nhwc_packed_w_bytes(NhwcConv{p}));
    nhwc_pack_w(NhwcConv{p}, w.data(), packed.data());
    for (const bool fast : {false, true}) {
      const NhwcConv conv{p, fast};
      const bool transformed = nhwc_path(conv) == NhwcPath::winograd;
      winograd += transformed;
      if (fast && !transformed) continue;
      std::vector<std::byte> scratch(nhwc_scratch_bytes(conv));
      for (const float* b : {static_cast<const float*>(nullptr), bias.data()}) {
        const auto want = channels_moved(naive_conv(p, x, w, b), p.batch, p.out_c, p.out_h * p.out_w, true);
        std::vector<float> y(want.size() + 16, -777.f), units = y;
        nhwc_range(conv, last.data(), packed.data(), {b}, y.data(), 0, nhwc_units(conv), scratch.data());
        compare(p, y, want, transformed ? 30 : 1);
        for (int64_t u = nhwc_units(conv); u-- > 0;)
          nhwc_range(conv, last.data(), packed.data(), {b}, units.data(), u, u + 1, scratch.data());
        EXPECT_EQ(units, y);
      }
    }
  }
  EXPECT_GE(winograd, 4);
}

/// Images with channels first, where the kernel copies their lines anyway: the same bits.
TEST_P(NhwcTest, StridedImages) {
  int taken = 0;
  for (const ConvParams& p : nhwc_cases()) {
    if (!nhwc_supports_strides(p) || p.in_c == 0) continue;
    ++taken;
    const auto x = values<float>(p.batch * p.in_c * p.in_h * p.in_w, 1);
    const auto w = values<float>(p.out_c * p.in_c * p.kernel_h * p.kernel_w, 2);
    const auto last = channels_moved(x, p.batch, p.in_c, p.in_h * p.in_w, true);
    NhwcConv conv{p};
    std::vector<std::byte> packed(nhwc_packed_w_bytes(NhwcConv{p})), scratch(nhwc_scratch_bytes(conv));
    nhwc_pack_w(NhwcConv{p}, w.data(), packed.data());
    std::vector<float> want(at(p.batch * p.out_h * p.out_w * p.out_c)), y = want;
    nhwc_range(conv, last.data(), packed.data(), {}, want.data(), 0, nhwc_units(conv), scratch.data());
    const int64_t strides[] = {p.in_c * p.in_h * p.in_w, p.in_w, 1, p.in_h * p.in_w};
    std::ranges::copy(strides, conv.x_strides);
    nhwc_range(conv, x.data(), packed.data(), {}, y.data(), 0, nhwc_units(conv), scratch.data());
    EXPECT_EQ(y, want);
  }
  EXPECT_GE(taken, 3);
}

TEST_P(NhwcTest, ColumnsAreScaledAndShifted) {
  for (const ConvParams& p : {make(1, 3, 30, 41, 17, 7, 7, 2, 1, 3), make(1, 32, 16, 16, 33, 3, 3, 1, 1, 1),
                              make(1, 9, 8, 8, 9, 3, 3, 1, 1, 1, 9), make(1, 130, 8, 7, 157, 1, 1)}) {
    const auto x = values<float>(p.batch * p.in_c * p.in_h * p.in_w, 1);
    const auto w = values<float>(p.out_c * (p.in_c / p.groups) * p.kernel_h * p.kernel_w, 2);
    NhwcConv conv{p};
    std::vector<std::byte> packed(nhwc_packed_w_bytes(NhwcConv{p})), scratch(nhwc_scratch_bytes(conv));
    nhwc_pack_w(NhwcConv{p}, w.data(), packed.data());
    std::vector<float> want(at(p.batch * p.out_h * p.out_w * p.out_c)), y = want;
    const auto bias = values<float>(p.out_c, 3), scale = values<float>(p.out_c, 4), shift = values<float>(p.out_c, 5);
    nhwc_range(conv, x.data(), packed.data(), {bias.data()}, want.data(), 0, nhwc_units(conv), scratch.data());
    conv.negative_slope = 0.25f;
    const auto addend = values<float>(static_cast<int64_t>(y.size()), 6);
    const NhwcColumns columns{bias.data(), scale.data(), shift.data(), addend.data()};
    nhwc_range(conv, x.data(), packed.data(), columns, y.data(), 0, nhwc_units(conv), scratch.data());
    for (std::size_t i = 0; i < want.size(); ++i) {
      const std::size_t c = i % at(p.out_c);
      want[i] = want[i] * scale[c] + shift[c] + addend[i];
      if (want[i] < 0) want[i] *= 0.25f;
    }
    EXPECT_EQ(y, want);
  }
}

/// Every tile of a result is reported once, whole rows when they are asked for.
TEST_P(NhwcTest, Tiles) {
  for (const ConvParams& p : nhwc_cases()) {
    for (const bool whole : {false, true}) {
      const NhwcConv conv{p, true};
      struct SeenTile {
        std::vector<int> at;
        int64_t cols;
        bool whole;
      } seen{std::vector<int>(at(p.batch * p.out_h * p.out_w * p.out_c)), p.out_c, whole};
      const TileCallback on_tile{[](void* context, int64_t row0, int64_t row1, int64_t col0, int64_t col1) {
                                   auto& s = *static_cast<SeenTile*>(context);
                                   EXPECT_TRUE(!s.whole || (col0 == 0 && col1 == s.cols));
                                   for (int64_t r = row0; r < row1; ++r)
                                     for (int64_t c = col0; c < col1; ++c) ++s.at[at(r * s.cols + c)];
                                 },
                                 &seen, whole};
      const auto x = values<float>(p.batch * p.in_c * p.in_h * p.in_w, 1);
      const auto w = values<float>(p.out_c * (p.in_c / p.groups) * p.kernel_h * p.kernel_w, 2);
      std::vector<std::byte> packed(nhwc_packed_w_bytes(NhwcConv{p})), scratch(nhwc_scratch_bytes(conv));
      nhwc_pack_w(NhwcConv{p}, w.data(), packed.data());
      std::vector<float> y(seen.at.size());
      nhwc_range(conv, x.data(), packed.data(), {}, y.data(), 0, nhwc_units(conv), scratch.data(), &on_tile);
      EXPECT_EQ(seen.at, std::vector<int>(seen.at.size(), 1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, NhwcTest, ::testing::ValuesIn(isas()), name_of_isa);

}  // namespace
}  // namespace frazil::kernel
