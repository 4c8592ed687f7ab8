#include "kernel/window/conv.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/conv_cases.h"
#include "kernel/on_isa.h"
#include "kernel/random_values.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

std::vector<Want> naive_transpose(const ConvParams& p, const std::vector<float>& x, const std::vector<float>& w,
                                  const float* bias) {
  const int64_t gi = p.in_c / p.groups, go = p.out_c / p.groups;
  std::vector<Want> y(at(p.batch * p.out_c * p.out_h * p.out_w));
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t o = 0; o < p.out_c; ++o)
      for (int64_t i = 0; i < p.out_h; ++i)
        for (int64_t j = 0; j < p.out_w; ++j) {
          Want& want = y[at(((n * p.out_c + o) * p.out_h + i) * p.out_w + j)];
          if (bias != nullptr) want.add(bias[o]);
          for (int64_t c = 0; c < gi; ++c)
            for (int64_t r = 0; r < p.kernel_h; ++r)
              for (int64_t s = 0; s < p.kernel_w; ++s) {
                const int64_t ty = i + p.pad_top - r * p.dilation_h, tx = j + p.pad_left - s * p.dilation_w;
                if (ty < 0 || tx < 0 || ty % p.stride_h != 0 || tx % p.stride_w != 0) continue;
                if (ty / p.stride_h >= p.in_h || tx / p.stride_w >= p.in_w) continue;
                const int64_t ic = o / go * gi + c;
                want.add(double(x[at(((n * p.in_c + ic) * p.in_h + ty / p.stride_h) * p.in_w + tx / p.stride_w)]) *
                         w[at(((ic * go + o % go) * p.kernel_h + r) * p.kernel_w + s)]);
              }
        }
  return y;
}

using ConvTest = OnIsa;

TEST_P(ConvTest, Cases) {
  int index = 0;
  for (const ConvParams& p : cases()) {
    SCOPED_TRACE("case " + std::to_string(index++));
    const auto x = values<float>(p.batch * p.in_c * p.in_h * p.in_w, 1);
    const auto w = values<float>(p.out_c * (p.in_c / p.groups) * p.kernel_h * p.kernel_w, 2);
    const auto bias = values<float>(p.out_c, 3);
    std::vector<std::byte> packed(at(conv_packed_w_bytes(p))), scratch(at(conv_scratch_bytes(p)));
    conv_pack_w(p, w.data(), packed.data());
    for (const float* b : {static_cast<const float*>(nullptr), bias.data()}) {
      const auto want = naive_conv(p, x, w, b);
      std::vector<float> y(want.size() + 16, -777.f), units = y;
      conv(p, x.data(), packed.data(), b, y.data(), scratch.data());
      compare(p, y, want);
      for (int64_t u = conv_units(p); u-- > 0;)
        conv_range(p, x.data(), packed.data(), b, units.data(), u, u + 1, scratch.data());
      EXPECT_EQ(units, y);
      if (p.groups != 1 || p.in_c == 0) continue;
      std::vector<std::byte> as_b(at(conv_rows_packed_w_bytes(p))), room(at(conv_rows_scratch_bytes(p)));
      conv_rows_pack_w(p, w.data(), as_b.data());
      std::ranges::fill(y, -777.f);
      conv_rows(p, x.data(), as_b.data(), b, y.data(), room.data());
      compare(p, y, want);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, ConvTest, ::testing::ValuesIn(isas()), name_of_isa);

TEST(ConvTranspose, Cases) {
  int index = 0;
  for (ConvParams p : cases()) {
    SCOPED_TRACE("case " + std::to_string(index++));
    std::swap(p.in_h, p.out_h);
    std::swap(p.in_w, p.out_w);
    const auto x = values<float>(p.batch * p.in_c * p.in_h * p.in_w, 1);
    const auto w = values<float>(p.in_c * (p.out_c / p.groups) * p.kernel_h * p.kernel_w, 2);
    const auto bias = values<float>(p.out_c, 3);
    const auto want = naive_transpose(p, x, w, bias.data());
    std::vector<float> y(want.size() + 16, -777.f);
    std::vector<std::byte> scratch(at(conv_transpose_scratch_bytes(p)));
    conv_transpose_range(p, x.data(), w.data(), bias.data(), y.data(), 0, conv_transpose_units(p), scratch.data());
    compare(p, y, want);
    std::vector<float> units(y.size(), -777.f);
    for (int64_t u = conv_transpose_units(p); u-- > 0;)
      conv_transpose_range(p, x.data(), w.data(), bias.data(), units.data(), u, u + 1, scratch.data());
    EXPECT_EQ(units, y);
  }
}

}  // namespace
}  // namespace frazil::kernel
