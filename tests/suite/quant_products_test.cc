#include <random>

#include <gtest/gtest.h>

#include "plan/model/plan.h"
#include "suite/tiers.h"

// Quantised products run as one step, with exact sums and the bits of the reference executor.
namespace frazil::test {
namespace {

template <class T>
Tensor any_bytes(Elem elem, Sizes sizes, unsigned seed) {
  Tensor t = Tensor::make(elem, std::move(sizes)).value();
  std::mt19937 random(seed);
  for (T& v : t.as_mutable<T>()) v = static_cast<T>(random());
  return t;
}

/// How many steps of the plan each family of kernels serves.
std::map<Kernel, int> kernels_of(const Plan& plan) {
  std::map<Kernel, int> count;
  for (const Step& step : plan.steps) {
    if (const auto kernel = plan.kernel_of(step)) ++count[*kernel];
  }
  return count;
}

struct Quantised {
  const char* text;
  Sizes x, w;
  Kernel kernel;
};

const Quantised kProducts[] = {
    {"weight @w: i8[70,90]\n"
     "graph g(%x: u8[M,70]) {\n"
     "  %y = QLinearMatMul(%x, f32[] 0.02, u8[] 128, @w, f32[] 0.03, i8[] 3, f32[] 0.7, u8[] 99)\n"
     "  return y = %y\n}\n",
     {50, 70},
     {70, 90},
     Kernel::matmul},
    {"weight @w: i8[70,90]\n"
     "graph g(%x: u8[M,70]) {\n"
     "  %a = DequantizeLinear(%x, f32[] 0.5, u8[] 128)\n"
     "  %b = DequantizeLinear(@w, f32[] 0.25)\n"
     "  %p = MatMul(%a, %b)\n"
     "  %s = Add(%p, f32[90] 0.125)\n"
     "  %r = Relu(%s)\n"
     "  %y = QuantizeLinear(%r, f32[] 16, u8[] 1)\n"
     "  return y = %y\n}\n",
     {50, 70},
     {70, 90},
     Kernel::matmul},
    {"weight @w: i8[40,6,3,3]\n"
     "graph g(%x: u8[N,6,H,W]) {\n"
     "  %y = QLinearConv(%x, f32[] 0.02, u8[] 128, @w, f32[40] 0.03, i8[40] 0, f32[] 0.7, u8[] 99) {pads = [1, 1, 1, "
     "1]}\n"
     "  return y = %y\n}\n",
     {2, 6, 19, 21},
     {40, 6, 3, 3},
     Kernel::conv},
    {"weight @w: i8[40,6,3,3]\n"
     "graph g(%x: u8[N,6,H,W]) {\n"
     "  %a = DequantizeLinear(%x, f32[] 0.5, u8[] 128)\n"
     "  %b = DequantizeLinear(@w, f32[40] 0.25) {axis = 0}\n"
     "  %c = Conv(%a, %b, f32[40] 0.125) {strides = [2, 2]}\n"
     "  %r = Relu(%c)\n"
     "  %y = QuantizeLinear(%r, f32[] 16, u8[] 1)\n"
     "  return y = %y\n}\n",
     {2, 6, 19, 21},
     {40, 6, 3, 3},
     Kernel::conv},
};

class QuantProducts : public ::testing::TestWithParam<Quantised> {};

TEST_P(QuantProducts, AreOneStepAndExact) {
  const Quantised& q = GetParam();
  const Tensor w = any_bytes<std::int8_t>(Elem::i8, q.w, 1);
  const Graph graph = graph_of(q.text, [&](std::string_view) { return w; });
  const std::vector<Datum> inputs{any_bytes<std::uint8_t>(Elem::u8, q.x, 2)};
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  auto kernels = kernels_of(tier.executable->plan());
  kernels.erase(Kernel::copy);  // of an image that is turned
  EXPECT_EQ(kernels, (std::map<Kernel, int>{{q.kernel, 1}}));
  EXPECT_TRUE(run_tiers(graph, inputs, kExact));
  const auto fused = tier.session->run(inputs);
  const Tier0 apart(graph, PassSet::without(Pass::fuse));
  const auto alone = apart.session->run(inputs);
  ASSERT_TRUE(fused && alone);
  expect_equal(graph, *fused, *alone, kExact);
}

/// A residual block between quantised images: each convolution is a step with all that follows it, on bytes with
/// channels last, and its sums go nowhere.
TEST(QuantBlock, IsAStepForEachConvolution) {
  const Graph graph = graph_of(
      "weight @w: i8[64,64,3,3]\nweight @d: i8[64,1,3,3]\nweight @p: i8[64,64,1,1]\n"
      "graph g(%x: u8[N,64,10,11]) {\n"
      "  %a = DequantizeLinear(%x, f32[] 0.5, u8[] 128)\n"
      "  %wa = DequantizeLinear(@w, f32[64] 0.25, i8[64] 0) {axis = 0}\n"
      "  %ca = Conv(%a, %wa, f32[64] 0.125) {pads = [1, 1, 1, 1]}\n"
      "  %qa = QuantizeLinear(%ca, f32[] 32, u8[] 0)\n"
      "  %b = DequantizeLinear(%qa, f32[] 32, u8[] 0)\n"
      "  %wb = DequantizeLinear(@d, f32[64] 0.25, i8[64] 0) {axis = 0}\n"
      "  %cb = Conv(%b, %wb) {pads = [1, 1, 1, 1], group = 64}\n"
      "  %qb = QuantizeLinear(%cb, f32[] 64, u8[] 120)\n"
      "  %m = DequantizeLinear(%qb, f32[] 64, u8[] 120)\n"
      "  %pool = MaxPool(%m) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}\n"
      "  %qp = QuantizeLinear(%pool, f32[] 64, u8[] 120)\n"
      "  %c = DequantizeLinear(%qp, f32[] 64, u8[] 120)\n"
      "  %wc = DequantizeLinear(@p, f32[64] 0.5, i8[64] 0) {axis = 0}\n"
      "  %cc = Conv(%c, %wc, f32[64] 0.25)\n"
      "  %qc = QuantizeLinear(%cc, f32[] 512, u8[] 128)\n"
      "  %e = DequantizeLinear(%qc, f32[] 512, u8[] 128)\n"
      "  %sum = Add(%e, %a)\n"
      "  %r = Relu(%sum)\n"
      "  %y = QuantizeLinear(%r, f32[] 256, u8[] 3)\n"
      "  return y = %y\n}\n",
      [&](std::string_view name) {
        return any_bytes<std::int8_t>(Elem::i8, {64, name == "d" ? 1 : 64, name == "p" ? 1 : 3, name == "p" ? 1 : 3},
                                      1);
      });
  const std::vector<Datum> inputs{any_bytes<std::uint8_t>(Elem::u8, {2, 64, 10, 11}, 2)};
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  const auto kernels = kernels_of(tier.executable->plan());
  EXPECT_EQ(kernels.at(Kernel::conv), 3);
  EXPECT_EQ(kernels.at(Kernel::max_pool), 1);
  for (const auto& fused : tier.executable->plan().fused) {
    if (fused->producer) {
      EXPECT_EQ(fused->producer->into, kNotStored);
    }
  }
  EXPECT_TRUE(run_tiers(graph, inputs, kExact));
}

INSTANTIATE_TEST_SUITE_P(All, QuantProducts, ::testing::ValuesIn(kProducts));

}  // namespace
}  // namespace frazil::test
