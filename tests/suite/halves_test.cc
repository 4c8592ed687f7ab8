#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/value/float.h"
#include "plan/model/plan.h"
#include "suite/tiers.h"

// Models of f16 and bf16 run on kernels, with the bits that their operators have one by one.
namespace frazil::test {
namespace {

/// Numbers from -1 to 1 with a long period.
Tensor halves(Elem elem, const Sizes& sizes, std::uint32_t seed, float size = 1) {
  Tensor t = Tensor::make(elem, sizes).value();
  std::vector<float> wide(static_cast<std::size_t>(t.count()));
  for (float& v : wide) {
    seed = seed * 1664525u + 1013904223u;
    v = size * (static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1);
  }
  from_f32(elem, wide.data(), t.mutable_data(), wide.size());
  return t;
}

Tensor positive(Tensor t) {
  std::vector<float> wide(static_cast<std::size_t>(t.count()));
  to_f32(t.elem(), t.data(), wide.data(), wide.size());
  for (float& v : wide) v = std::abs(v) + 0.5F;
  from_f32(t.elem(), wide.data(), t.mutable_data(), wide.size());
  return t;
}

/// A graph in which T is the element type, the extents of its weights, and those of its inputs, run by run.
struct HalfCase {
  const char* name;
  const char* text;
  std::map<std::string, Sizes, std::less<>> weights;
  std::vector<std::vector<Sizes>> runs;
  Kernel kernel = Kernel::fused;  ///< that serves it
  double loose = 1;               ///< rounding errors of the type that add up
};

std::string with_type(std::string text, Elem elem) {
  for (std::size_t at = 0; (at = text.find("T[", at)) != std::string::npos; ++at)
    text.replace(at, 1, frazil::name_of(elem));
  for (std::size_t at = 0; (at = text.find("to = T", at)) != std::string::npos; ++at)
    text.replace(at + 5, 1, elem == Elem::f16 ? "10" : "16");
  return text;
}

Graph half_graph_of(const HalfCase& c, Elem elem) {
  std::string text;
  for (const auto& [name, sizes] : c.weights)
    text += fmt::format("weight @{}: {}[{}]\n", name, frazil::name_of(elem), fmt::join(sizes, ","));
  return frazil::test::graph_of(text + with_type(c.text, elem), [&](std::string_view name) {
    const auto at = c.weights.find(name);
    const float size = at->second.size() > 1 ? 0.5F : 1;
    Tensor t = halves(elem, at->second, static_cast<std::uint32_t>(name.size() * 77 + name.back()), size);
    return name == "variance" ? positive(std::move(t)) : t;
  });
}

Tolerance tolerance_of(Elem elem, double loose) {
  const double last = elem == Elem::f16 ? 1.0 / 1024 : 1.0 / 128;
  return {.rtol = loose * last, .atol = loose * last};
}

class Halves : public ::testing::TestWithParam<std::tuple<HalfCase, Elem>> {};

std::vector<Datum> half_inputs_of(const std::vector<Sizes>& sizes, Elem elem) {
  std::vector<Datum> inputs;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    inputs.emplace_back(halves(elem, sizes[i], static_cast<std::uint32_t>(i + 1)));
  return inputs;
}

TEST_P(Halves, RunOnKernels) {
  const auto& [c, elem] = GetParam();
  const Graph graph = half_graph_of(c, elem);
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  const Plan& plan = tier.executable->plan();
  bool served = false;
  for (const Step& step : plan.steps) {
    const auto kernel = plan.kernel_of(step);
    served |= kernel == c.kernel;
    EXPECT_NE(kernel, Kernel::reference) << plan.str();
  }
  EXPECT_TRUE(served) << plan.str();
  for (const auto& run : c.runs) run_tiers(graph, half_inputs_of(run, elem), tolerance_of(elem, c.loose));
}

TEST_P(Halves, HaveTheBitsOfSingleNodes) {
  const auto& [c, elem] = GetParam();
  const Graph graph = half_graph_of(c, elem);
  const Tier0 fused(graph), single(graph, PassSet::without(Pass::fuse));
  ASSERT_TRUE(fused && single);
  for (const auto& run : c.runs) {
    const auto got = fused.session->run(half_inputs_of(run, elem)),
               want = single.session->run(half_inputs_of(run, elem));
    ASSERT_EQ(got.has_value(), want.has_value());
    if (got) expect_equal(graph, *got, *want, kExact);
  }
}

std::vector<HalfCase> cases() {
  return {
      {"product",
       "graph g(%x: T[M,40]) { %y = MatMul(%x, @w) return y = %y }",
       {{"w", {40, 33}}},
       {{{1, 40}}, {{3, 40}}, {{70, 40}}, {{0, 40}}},
       Kernel::matmul},
      {"product_of_inputs",
       "graph g(%a: T[B,M,K], %b: T[B,K,N]) { %y = MatMul(%a, %b) return y = %y }",
       {},
       {{{2, 5, 7}, {2, 7, 40}}, {{1, 1, 64}, {1, 64, 33}}, {{3, 2, 0}, {3, 0, 4}}, {{0, 2, 3}, {0, 3, 4}}},
       Kernel::matmul},
      {"product_with_transpose",
       "graph g(%a: T[B,H,M,D], %b: T[B,H,N,D]) {\n"
       "  %t = Transpose(%b) {perm = [0, 1, 3, 2]}\n  %y = MatMul(%a, %t) return y = %y }",
       {},
       {{{2, 3, 20, 16}, {2, 3, 21, 16}}, {{1, 2, 1, 64}, {1, 2, 50, 64}}},
       Kernel::matmul},
      {"dense",
       "graph g(%x: T[M,64], %r: T[M,48]) {\n"
       "  %p = MatMul(%x, @w)\n  %s = Add(%p, @b)\n  %a = Add(%r, %s)\n  %y = Relu(%a)\n  return y = %y }",
       {{"w", {64, 48}}, {"b", {48}}},
       {{{1, 64}, {1, 48}}, {{50, 64}, {50, 48}}, {{0, 64}, {0, 48}}},
       Kernel::matmul,
       2},
      {"gelu",
       "graph g(%x: T[M,64]) {\n"
       "  %p = MatMul(%x, @w)\n  %s = Add(@b, %p)\n  %g = Gelu(%s)\n  %t = Tanh(%g)\n  %y = Mul(%t, %g)\n"
       "  return y = %y, g = %g }",
       {{"w", {64, 48}}, {"b", {48}}},
       {{{1, 64}}, {{50, 64}}},
       Kernel::matmul,
       3},
      {"gemm",
       "graph g(%x: T[M,40]) { %y = Gemm(%x, @w, @b) {transB = 1} return y = %y }",
       {{"w", {33, 40}}, {"b", {33}}},
       {{{1, 40}}, {{20, 40}}, {{0, 40}}},
       Kernel::gemm},
      {"gemm_scaled",
       "graph g(%x: T[40,M], %c: T[M,33]) {\n"
       "  %p = Gemm(%x, @w, %c) {transA = 1, alpha = 0.5, beta = -2.0}\n  %y = LeakyRelu(%p) {alpha = 0.25}\n"
       "  return y = %y }",
       {{"w", {40, 33}}},
       {{{40, 1}, {1, 33}}, {{40, 120}, {120, 33}}},
       Kernel::gemm},
      {"gemm_column",
       "graph g(%x: T[M,40], %c: T[M,1]) { %y = Gemm(%x, @w, %c) return y = %y }",
       {{"w", {40, 33}}},
       {{{7, 40}, {7, 1}}},
       Kernel::gemm},
      {"layer_norm",
       "graph g(%x: T[M,72], %r: T[M,72]) {\n"
       "  %a = Add(%x, %r)\n  %y = LayerNormalization(%a, @s, @b) {epsilon = 0.00001}\n  return y = %y, a = %a }",
       {{"s", {72}}, {"b", {72}}},
       {{{3, 72}, {3, 72}}, {{0, 72}, {0, 72}}},
       Kernel::fused,
       3},
      {"layer_norm_alone",
       "graph g(%x: T[M,72]) { %y = LayerNormalization(%x, @s) return y = %y }",
       {{"s", {72}}},
       {{{3, 72}}},
       Kernel::fused,
       2},
      {"softmax",
       "graph g(%x: T[B,M,31], %m: T[B,1,31]) {\n  %s = Add(%x, %m)\n  %y = Softmax(%s)\n  %z = LogSoftmax(%x)\n"
       "  return y = %y, z = %z }",
       {},
       {{{2, 5, 31}, {2, 1, 31}}, {{2, 0, 31}, {2, 1, 31}}},
       Kernel::fused,
       2},
      {"folds",
       "graph g(%x: T[M,31]) {\n  %s = ReduceSum(%x, i64[1] [-1])\n  %m = ReduceMean(%x, i64[1] [1])\n"
       "  %h = ReduceMax(%x, i64[1] [1]) {keepdims = 0}\n  return s = %s, m = %m, h = %h }",
       {},
       {{{5, 31}}, {{0, 31}}},
       Kernel::fused,
       2},
      {"chain",
       "graph g(%x: T[M,N], %v: T[N]) {\n"
       "  %a = Mul(%x, %v)\n  %b = Add(%a, T[] 0.3)\n  %c = Sigmoid(%b)\n  %d = Sub(%x, %c)\n  %e = Relu(%d)\n"
       "  %f = Max(%e, %v)\n  %y = Div(%f, %b)\n  %w = Cast(%y) {to = f32}\n  %z = Exp(%w)\n  return y = %y, z = %z }",
       {},
       {{{5, 31}, {31}}, {{1, 2000}, {2000}}, {{0, 3}, {3}}},
       Kernel::fused,
       40},
      {"convolution",
       "graph g(%x: T[B,16,H,W]) {\n  %p = Conv(%x, @w, @b) {pads = [1, 1, 1, 1], strides = [2, 2]}\n  %y = Relu(%p)\n"
       "  return y = %y }",
       {{"w", {40, 16, 3, 3}}, {"b", {40}}},
       {{{1, 16, 9, 8}}, {{2, 16, 12, 12}}, {{0, 16, 5, 5}}},
       Kernel::conv},
      {"block",
       "graph g(%x: T[B,3,20,21]) {\n"
       "  %c = Conv(%x, @first) {pads = [3, 3, 3, 3], strides = [2, 2]}\n"
       "  %n = BatchNormalization(%c, @s, @t, @m, @variance)\n  %r = Relu(%n)\n"
       "  %p = MaxPool(%r) {kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]}\n"
       "  %d = Conv(%p, @point)\n  %e = Conv(%p, @window, @b) {pads = [1, 1, 1, 1]}\n  %f = Add(%d, %e)\n"
       "  %g = Relu(%f)\n  %a = AveragePool(%g) {kernel_shape = [5, 6]}\n  %y = Flatten(%a)\n  return y = %y }",
       {{"first", {16, 3, 7, 7}},
        {"s", {16}},
        {"t", {16}},
        {"m", {16}},
        {"variance", {16}},
        {"point", {32, 16, 1, 1}},
        {"window", {32, 16, 3, 3}},
        {"b", {32}}},
       {{{1, 3, 20, 21}}, {{2, 3, 20, 21}}},
       Kernel::conv,
       20},
      {"grouped",
       "graph g(%x: T[B,6,H,W]) { %y = Conv(%x, @w, @b) {group = 3, pads = [1, 1, 1, 1]} return y = %y }",
       {{"w", {9, 2, 3, 3}}, {"b", {9}}},
       {{{1, 6, 9, 8}}},
       Kernel::conv},
      {"given_weights",
       "graph g(%x: T[B,6,H,W], %w: T[9,6,3,3]) { %y = Conv(%x, %w) return y = %y }",
       {},
       {{{1, 6, 9, 8}, {9, 6, 3, 3}}},
       Kernel::conv},
      {"transposed_convolution",
       "graph g(%x: T[B,6,H,W]) { %y = ConvTranspose(%x, @w, @b) {strides = [2, 2]} return y = %y }",
       {{"w", {6, 5, 3, 3}}, {"b", {5}}},
       {{{1, 6, 5, 4}}},
       Kernel::conv_transpose},
  };
}

std::string half_case_name(const ::testing::TestParamInfo<Halves::ParamType>& info) {
  return fmt::format("{}_{}", std::get<0>(info.param).name, frazil::name_of(std::get<1>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(Suite, Halves,
                         ::testing::Combine(::testing::ValuesIn(cases()), ::testing::Values(Elem::f16, Elem::bf16)),
                         half_case_name);

}  // namespace
}  // namespace frazil::test
