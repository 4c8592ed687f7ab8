#include "plan/model/fused.h"

#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "code/entries.h"

// Fused kernels as text: what prints is read back, what cannot run is refused, what can runs on tier 0's bytecode.
namespace frazil::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

FusedKernel fused_of(std::string_view text) {
  auto kernel = parse_fused(text);
  if (!kernel) ADD_FAILURE() << kernel.error().text() << "\n" << text;
  return kernel ? *std::move(kernel) : FusedKernel{};
}

constexpr const char* kScaleAndShift = R"(fused (d0, d1 = 4) {
  in 0: f32 [d0, d1]
  in 1: f32 [d1]
  in 2: f32 [_, d1]
  %0: f32 load 0
  %1: f32 load 1
  %2: f32 mul %0 %1 from 7.0 exact
  %3: f32 load 2
  %4: f32 add %2 %3 from 7.0, 9.1 exact
  out 0: f32 [d0, d1] = %4
})";

constexpr const char* kSoftmaxOfSum = R"(fused (d0, d1) {
  in 0: f16 [d0, d1]
  in 1: f32 []
  %0: f32 load 0
  %1: f32 load 1
  %2: f32 add %0 %1 from 1.0 exact
  %3: f32 row softmax %2 from 2.0 exact
  %4: f32 row sum %2 from 3.0 exact
  out 0: f32 [d0, d1] = %3
  out 1: f32 [d0] = %4
  out 2: bf16 [d0, d1] = %2
})";

constexpr const char* kLayerBehindProduct = R"(fused (d0, d1 = 8) {
  in 0: f32
  in 1: f32
  in 2: f32
  in 3: f32 [d0, d1]
  in 4: f32 [d1]
  in 5: f32
  produce matmul negative_slope=0 (0..3) into 0 from 1.0, 2.0 exact after (5..6) fused (d0, d1) {
    in 0: f32 [d0, d1]
    %0: f32 load 0
    %1: f32 neg %0 from 4.0 exact
    out 0: f32 [d0, d1] = %1
  }
  %0: f32 load product
  %1: f32 load 3
  %2: f32 add %0 %1 from 5.0 exact
  %3: f32 load 4
  %4: f32 row layer_norm %2 %3 1e-05 from 6.0 exact
  out 0: f32 [d0, d1] = %4
})";

constexpr const char* kConvolution = R"(fused (d0, d1, d2, d3) {
  in 0: f32
  in 1: f32
  produce conv groups=2 stride=[2, 2] begin=[1, 0] padding=3 (0..2) into 1
  %0: f32 load product
  %1: f32 constant 0.5
  %2: bool lt %0 %1 from 3.0 exact
  out 0: bool [d0, d1, d2, d3] = %2
  out 1: f32 [d0, d1, d2, d3] = %0
})";

TEST(FusedText, IsReadAsItIsPrinted) {
  for (const char* text : {kScaleAndShift, kSoftmaxOfSum, kLayerBehindProduct, kConvolution}) {
    const FusedKernel kernel = fused_of(text);
    EXPECT_EQ(kernel.str(), text);
    const Status verified = verify(kernel);
    EXPECT_TRUE(verified) << verified.error().text();
  }
}

struct BadText {
  const char* text;
  const char* message;
};

TEST(FusedText, NamesTheLineOfWhatItDoesNotRead) {
  const BadText rows[] = {
      {"fused (d1) {}", "line 1, column 8: expected 'd0'"},
      {"fused (d0) {\n  in 1: f32 [d0]\n}", "line 2, column 6: expected '0'"},
      {"fused (d0) {\n  in 0: f33 [d0]\n}", "expected an element type, got 'f33'"},
      {"fused (d0) {\n  %1: f32 constant 1\n}", "line 2, column 3: expected %0, got %1"},
      {"fused (d0) {\n  %0: f32 frobnicate\n}", "expected a scalar operation, got 'frobnicate'"},
      {"fused (d0) {\n  produce matmul size=1 (0..2) into 0\n}", "'size' is not a parameter of it"},
      {"fused (d0) {\n  produce conv (2..1) into 0\n}", "expected a range as 0..2"},
      {"fused (d0) {\n  out 0: f32 [x0] = %0\n}", "expected an axis of the domain or '_'"},
  };
  for (const BadText& row : rows) {
    const auto kernel = parse_fused(row.text);
    ASSERT_FALSE(kernel) << row.text;
    EXPECT_THAT(kernel.error().text(), HasSubstr(row.message)) << row.text;
  }
}

TEST(FusedVerifier, RefusesWhatCannotRun) {
  const BadText rows[] = {
      {"fused (d0) { in 0: f32 [d0] %0: f32 neg %1 %1: f32 load 0 out 0: f32 [d0] = %0 }",
       "instruction 0 reads one that does not stand before it"},
      {"fused (d0) { %0: f32 load 0 out 0: f32 [d0] = %0 }", "instruction 0 loads an operand that is not there"},
      {"fused (d0) { %0: f32 load product out 0: f32 [d0] = %0 }", "instruction 0 loads an operand that is not there"},
      {"fused (d0) { in 0: f16 [d0] %0: f16 load 0 out 0: f16 [d0] = %0 }", "instruction 0 loads another type"},
      {"fused (d0) { in 0: f32 [d0] in 1: i32 [d0] %0: f32 load 0 %1: i32 load 1 %2: f32 add %0 %1 "
       "out 0: f32 [d0] = %2 }",
       "instruction 2 (add) has operands of other types"},
      {"fused (d0) { in 0: f32 [d0, d1] %0: f32 load 0 out 0: f32 [d0] = %0 }",
       "operand 0: axis 1 follows axis 1 of the domain"},
      {"fused (d0, d1) { in 0: f32 [d0, d0] %0: f32 load 0 out 0: f32 [d0, d1] = %0 }",
       "operand 0: axis 1 follows axis 0 of the domain"},
      {"fused () { in 0: f32 [] %0: f32 load 0 %1: f32 row sum %0 out 0: f32 [] = %1 }",
       "instruction 1 works along rows of a scalar"},
      {"fused (d0, d1, d2) { in 0: f32 [d0, d1, d2] %0: f32 load 0 out 0: f32 [d0] = %0 }",
       "store 0 does not cover the domain"},
      {"fused (d0) { in 0: f32 [d0] %0: f32 load 0 out 0: i32 [d0] = %0 }", "store 0 changes the type"},
      {"fused (d0) { in 0: f32 [d0] %0: f32 load 0 }", "stores nothing"},
      {"fused (d0, d1) { in 0: f32 produce softmax (0..1) into 0 %0: f32 load product out 0: f32 [d0, d1] = %0 }",
       "softmax cannot be the producer of a fused kernel"},
      {"fused (d0, d1) { in 0: f32 produce matmul (0..2) into 0 %0: f32 load product out 0: f32 [d0, d1] = %0 }",
       "the producer has operands that are not there"},
      {"fused (d0, d1) { in 0: f32 produce matmul (0..1) into 1 %0: f32 load product out 0: f32 [d0, d1] = %0 }",
       "the producer writes no result"},
  };
  for (const BadText& row : rows) {
    const Status status = verify(fused_of(row.text));
    ASSERT_FALSE(status) << row.text;
    EXPECT_THAT(status.error().text(), HasSubstr(row.message));
  }
}

// ---- running one by itself ----

struct Array {
  std::vector<std::int64_t> dims;
  std::vector<float> values;
  code::OperandShape shape(std::vector<std::int64_t>& strides) const {
    strides.assign(dims.size(), 1);
    for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
    return {true, Elem::f32, dims, strides, true};
  }
};

/// Runs a kernel on tier 0's bytecode, each unit by itself, from the last to the first.
std::vector<std::vector<float>> run(const FusedKernel& kernel, const std::vector<std::int64_t>& domain,
                                    std::vector<Array> in, std::vector<Array> out) {
  const auto entry = code::hand_entry(params::Fused{}, std::make_shared<const FusedKernel>(kernel),
                                      static_cast<std::uint32_t>(in.size()));
  std::vector<std::vector<std::int64_t>> strides(in.size() + out.size());
  std::vector<code::OperandShape> shapes;
  std::vector<std::byte*> pointers;
  const auto add = [&](Array& a) {
    shapes.push_back(a.shape(strides[shapes.size()]));
    pointers.push_back(reinterpret_cast<std::byte*>(a.values.data()));
  };
  for (Array& a : in) add(a);
  for (Array& a : out) a.values.resize(static_cast<std::size_t>(element_count(a.dims))), add(a);
  const std::vector<code::WeightRef> weights(in.size());
  code::WeightRefs packed;
  code::Prepare cx{.in = std::span(shapes).first(in.size()),
                   .out = std::span(shapes).subspan(in.size()),
                   .domain = domain,
                   .weights = weights,
                   .packed = packed};
  std::vector<std::max_align_t> state(entry->step.state_bytes / sizeof(std::max_align_t) + 1);
  std::memset(state.data(), 0, state.size() * sizeof(std::max_align_t));  // padding, too
  const Status prepared = entry->step.prepare(cx, entry->step.code.get(), state.data());
  EXPECT_TRUE(prepared) << prepared.error().text();
  std::vector<std::byte> scratch(cx.scratch_bytes + 64);
  const code::Call call{pointers.data(), pointers.data() + in.size(), entry->step.code.get(), state.data(), nullptr};
  for (std::int64_t u = cx.units; u-- > 0;) entry->run(call, {0, scratch.data()}, u, u + 1);
  std::vector<std::vector<float>> results;
  for (Array& a : out) results.push_back(a.values);
  return results;
}

TEST(FusedOnTier0, RunsAsWritten) {
  const auto y =
      run(fused_of(kScaleAndShift), {2, 4},
          {{{2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}}, {{4}, {1, 10, 100, -1}}, {{1, 4}, {0.5, 0, 0, 0}}}, {{{2, 4}, {}}});
  EXPECT_THAT(y[0], ElementsAre(1.5, 20, 300, -4, 5.5, 60, 700, -8));
}

/// Operands whose axes are in another order than the domain's.
TEST(FusedOnTier0, ReadsAndWritesTransposed) {
  const auto y = run(fused_of("fused (d0, d1) { in 0: f32 [d1, d0] in 1: f32 [d0, d1] %0: f32 load 0 %1: f32 load 1 "
                              "%2: f32 sub %0 %1 out 0: f32 [d1, d0] = %2 out 1: f32 [d0, d1] = %0 }"),
                     {2, 2}, {{{2, 2}, {1, 2, 3, 4}}, {{2, 2}, {10, 20, 30, 40}}}, {{{2, 2}, {}}, {{2, 2}, {}}});
  EXPECT_THAT(y[0], ElementsAre(1 - 10, 2 - 30, 3 - 20, 4 - 40));
  EXPECT_THAT(y[1], ElementsAre(1, 3, 2, 4));
}

/// What an inner value is: the kernel cut off behind its instruction.
TEST(FusedOnTier0, GivesInnerValuesWhenItIsCut) {
  const FusedKernel whole = fused_of(kScaleAndShift);
  const FusedKernel part = cut(whole, {2, Elem::f32, Access::broadcast(2, 2)});
  ASSERT_TRUE(verify(part));
  EXPECT_EQ(part.body.size(), 3U);
  const auto y =
      run(part, {1, 4}, {{{1, 4}, {1, 2, 3, 4}}, {{4}, {1, 10, 100, -1}}, {{1, 4}, {9, 9, 9, 9}}}, {{{1, 4}, {}}});
  EXPECT_THAT(y[0], ElementsAre(1, 20, 300, -4));
}

/// A product with its prologue, a row that is added, Relu and a normalisation behind it.
TEST(FusedOnTier0, RunsWhatStandsAroundAProduct) {
  FusedKernel kernel = fused_of(kLayerBehindProduct);
  constexpr std::int64_t m = 50, k = 3, n = 8;
  const auto number = [](std::int64_t i, std::int64_t j) { return static_cast<float>((i * 7 + j * 3) % 11) - 5; };
  Array x{{m, k}, {}}, w{{k, n}, {}}, bias{{n}, {}}, other{{m, n}, {}}, scale{{n}, {}}, made{{m, k}, {}};
  for (std::int64_t i = 0; i < m * k; ++i) x.values.push_back(number(i / k, i % k));
  for (std::int64_t i = 0; i < k * n; ++i) w.values.push_back(number(i % n, i / n));
  for (std::int64_t j = 0; j < n; ++j) bias.values.push_back(static_cast<float>(j)), scale.values.push_back(1);
  for (std::int64_t i = 0; i < m * n; ++i) other.values.push_back(number(i, 1));
  const auto y = run(kernel, {m, n}, {made, w, bias, other, scale, x}, {{{m, n}, {}}});
  for (std::int64_t i = 0; i < m; ++i) {
    double row[n], mean = 0, variance = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = bias.values[static_cast<std::size_t>(j)];
      for (std::int64_t p = 0; p < k; ++p) {
        sum -= static_cast<double>(x.values[static_cast<std::size_t>(i * k + p)]) *
               static_cast<double>(w.values[static_cast<std::size_t>(p * n + j)]);
      }
      row[j] = std::max(sum, 0.0) + static_cast<double>(other.values[static_cast<std::size_t>(i * n + j)]);
      mean += row[j] / n;
    }
    for (double v : row) variance += (v - mean) * (v - mean) / n;
    for (std::int64_t j = 0; j < n; ++j) {
      const double want = (row[j] - mean) / std::sqrt(variance + 1e-5);
      EXPECT_NEAR(y[0][static_cast<std::size_t>(i * n + j)], want, 1e-4) << i << ", " << j;
    }
  }
}

}  // namespace
}  // namespace frazil::test
