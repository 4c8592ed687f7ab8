#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/tiers.h"

// One plan serves every shape.
namespace frazil::test {
namespace {

using ::testing::HasSubstr;

Tensor numbered_floats(Sizes sizes, std::int64_t seed = 1) {
  Tensor t = Tensor::make(Elem::f32, std::move(sizes)).value();
  for (float& v : t.as_mutable<float>()) v = static_cast<float>(seed++ * 37 % 23 % 5) - 2.0f;
  return t;
}
Tensor zero_floats(Sizes sizes) {
  Tensor t = Tensor::make(Elem::f32, std::move(sizes)).value();
  std::ranges::fill(t.as_mutable<float>(), 0.0f);
  return t;
}

constexpr const char* kMixed = R"(graph g(%x: f32[N,C,H], %w: f32[H,4]) {
  %p = MatMul(%x, %w)
  %t = Transpose(%p) {perm = [0, 2, 1]}
  %s = Shape(%t)
  %n = Slice(%s, i64[1] [0], i64[1] [1])
  %to = Concat(%n, i64[1] [-1]) {axis = 0}
  %flat = Reshape(%t, %to)
  %m = ReduceMax(%x, i64[1] 1)
  %d = Sub(%x, %m)
  %z = NonZero(%flat)
  return flat = %flat, d = %d, z = %z
})";

TEST(Shapes, OnePlanServesAThousand) {
  const Graph graph = graph_of(kMixed);
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  for (std::int64_t k = 0; k < 1000; ++k) {
    const std::int64_t n = 1 + k % 10, c = 1 + k / 10 % 10, h = 1 + k / 100;
    SCOPED_TRACE(fmt::format("{} {} {}", n, c, h));
    const std::vector<Datum> inputs{numbered_floats({n, c, h}, k), numbered_floats({h, 4})};
    if (k % 37 == 0) {
      EXPECT_TRUE(run_beside_reference(*tier.session, graph, inputs, sum_of(h)));
    } else {
      const auto got = tier.session->run(inputs);
      ASSERT_TRUE(got) << got.error().text();
      EXPECT_EQ(got->at(0).tensor().sizes(), (Sizes{n, 4 * c}));
    }
  }
  EXPECT_EQ(tier.session->counters().plans, 1u);
  EXPECT_EQ(tier.session->counters().runs, 1000u);
}

struct ShapeCase {
  const char* name;
  const char* text;
  std::vector<std::vector<Sizes>> runs;  ///< extents of the f32 inputs of each run
};
void PrintTo(const ShapeCase& c, std::ostream* out) { *out << c.name; }

const ShapeCase kShapes[] = {
    {"EmptyAndSingle",
     "graph g(%x: f32[N,M]) {\n %y = Exp(%x)\n %z = Add(%y, %x)\n return z = %z, y = %y\n}",
     {{{0, 0}}, {{0, 5}}, {{5, 0}}, {{1, 1}}, {{1, 7}}, {{7, 1}}, {{3, 4}}}},
    {"Rows",
     "graph g(%x: f32[N,M], %b: f32[M]) {\n %y = Add(%x, %b)\n return y = %y\n}",
     {{{3, 4}, {4}}, {{0, 4}, {4}}, {{3, 0}, {0}}, {{3, 1}, {1}}, {{1, 1}, {1}}}},
    {"BroadcastOfSymbols",
     "graph g(%x: f32[A,B], %y: f32[C,D]) {\n %z = Mul(%x, %y)\n return z = %z\n}",
     {{{3, 4}, {3, 4}},
      {{3, 4}, {1, 4}},
      {{1, 4}, {3, 1}},
      {{3, 1}, {1, 1}},
      {{0, 4}, {1, 4}},
      {{1, 1}, {0, 0}},
      {{1, 5}, {7, 5}},
      {{3, 4}, {3, 4}}}},
    {"BroadcastOfThree",
     "graph g(%x: f32[A], %y: f32[B,1], %z: f32[C,1,1]) {\n %p = Add(%x, %y)\n %q = Mul(%p, %z)\n return q = %q\n}",
     {{{3}, {2, 1}, {4, 1, 1}}, {{1}, {1, 1}, {1, 1, 1}}, {{0}, {2, 1}, {4, 1, 1}}, {{5}, {1, 1}, {0, 1, 1}}}},
    {"WhereTheyAre",
     "graph g(%x: f32[N,M]) {\n %z = NonZero(%x)\n %t = Transpose(%z) {perm = [1, 0]}\n %v = GatherND(%x, %t)\n return "
     "z = %z, v = %v\n}",
     {{{3, 4}}, {{0, 4}}, {{1, 1}}, {{9, 2}}, {{2, 9}}}},
    {"TopOfHalf",
     "graph g(%x: f32[N,M]) {\n %s = Shape(%x) {start = 1}\n %k = Div(%s, i64[1] 2)\n %v, %i = TopK(%x, %k)\n %y = "
     "Neg(%v)\n return y = %y, i = %i\n}",
     {{{3, 4}}, {{1, 1}}, {{2, 9}}, {{0, 4}}, {{3, 0}}}},
    {"ReshapeByArithmetic",
     "graph g(%x: f32[N,M,4]) {\n %s = Shape(%x)\n %n = Gather(%s, i64[] 0)\n %m = Gather(%s, i64[] 1)\n %p = Mul(%n, "
     "%m)\n %u = Unsqueeze(%p, i64[1] 0)\n %h = Concat(%u, i64[2] [2, 2]) {axis = 0}\n %y = Reshape(%x, %h)\n return y "
     "= %y\n}",
     {{{3, 5, 4}}, {{1, 1, 4}}, {{0, 5, 4}}, {{7, 2, 4}}}},
    {"ReshapeBack",
     "graph g(%x: f32[N,M]) {\n %s = Shape(%x)\n %f = Reshape(%x, i64[1] [-1])\n %e = Exp(%f)\n %y = Reshape(%e, %s) "
     "{allowzero = 1}\n return y = %y\n}",
     {{{3, 5}}, {{1, 1}}, {{2, 1}}, {{4, 3}}}},
    {"SliceOfHalf",
     "graph g(%x: f32[N]) {\n %s = Shape(%x)\n %h = Div(%s, i64[1] 2)\n %y = Slice(%x, i64[1] 0, %h)\n %z = Slice(%x, "
     "%h, i64[1] 9999)\n %w = Concat(%z, %y) {axis = 0}\n return w = %w\n}",
     {{{5}}, {{0}}, {{1}}, {{8}}, {{2}}}},
    {"ExpandToShape",
     "graph g(%x: f32[N,1], %y: f32[M]) {\n %a = Shape(%x) {end = 1}\n %b = Shape(%y)\n %c = Concat(%a, %b) {axis = "
     "0}\n %e = Expand(%x, %c)\n %z = Add(%e, %y)\n return z = %z\n}",
     {{{3, 1}, {4}}, {{1, 1}, {1}}, {{0, 1}, {4}}, {{3, 1}, {0}}}},
    {"ConcatAndSplit",
     "graph g(%x: f32[N,4], %y: f32[M,4]) {\n %c = Concat(%x, %y) {axis = 0}\n %l, %r = Split(%c) {axis = 1, "
     "num_outputs = 2}\n %s = Add(%l, %r)\n return s = %s, c = %c\n}",
     {{{3, 4}, {2, 4}}, {{0, 4}, {2, 4}}, {{1, 4}, {0, 4}}, {{0, 4}, {0, 4}}}},
    {"Attention",
     "graph g(%q: f32[N,H,8], %k: f32[N,T,8]) {\n %t = Transpose(%k) {perm = [0, 2, 1]}\n %s = MatMul(%q, %t)\n %p = "
     "Softmax(%s)\n %y = MatMul(%p, %k)\n return y = %y\n}",
     {{{2, 3, 8}, {2, 5, 8}}, {{1, 1, 8}, {1, 1, 8}}, {{3, 17, 8}, {3, 16, 8}}, {{0, 3, 8}, {0, 5, 8}}}},
    {"Convolution",
     "graph g(%x: f32[N,2,H,W], %w: f32[3,2,3,3]) {\n %c = Conv(%x, %w) {pads = [1, 1, 1, 1]}\n %r = Relu(%c)\n %p = "
     "MaxPool(%r) {kernel_shape = [2, 2], strides = [2, 2]}\n %y = GlobalAveragePool(%p)\n return y = %y, p = %p\n}",
     {{{1, 2, 4, 4}, {3, 2, 3, 3}}, {{2, 2, 9, 5}, {3, 2, 3, 3}}, {{1, 2, 2, 17}, {3, 2, 3, 3}}}},
};

class ShapeTable : public ::testing::TestWithParam<ShapeCase> {};

TEST_P(ShapeTable, OneSessionTakesThemAll) {
  const ShapeCase& c = GetParam();
  const Graph graph = graph_of(c.text);
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  for (int round = 0; round < 2; ++round) {
    for (const auto& sizes : c.runs) {
      std::vector<Datum> inputs;
      std::string trace;
      for (const Sizes& s : sizes) {
        inputs.push_back(numbered_floats(s, static_cast<std::int64_t>(7 * inputs.size()) + round));
        trace += inputs.back().tensor().type_str() + " ";
      }
      SCOPED_TRACE(trace);
      const auto got = run_beside_reference(*tier.session, graph, inputs, sum_of(64));
      EXPECT_TRUE(got) << got.error().text();
    }
  }
  EXPECT_EQ(tier.session->counters().plans, 1u);
}

INSTANTIATE_TEST_SUITE_P(Table, ShapeTable, ::testing::ValuesIn(kShapes),
                         [](const auto& shape) { return std::string(shape.param.name); });

TEST(ShapeErrors, BroadcastNamesNodeAndExtents) {
  const Graph graph = graph_of("graph g(%x: f32[N], %y: f32[M]) {\n %z = Add(%x, %y) \"sum\"\n return z = %z\n}");
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  const std::vector<Datum> bad{numbered_floats({3}), numbered_floats({5})},
      good{numbered_floats({3}), numbered_floats({1})};
  for (int round = 0; round < 3; ++round) {
    const auto got = run_beside_reference(*tier.session, graph, bad);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Code::bad_input);
    EXPECT_THAT(got.error().text(), HasSubstr("'sum'"));
    EXPECT_THAT(got.error().text(), HasSubstr("3"));
    EXPECT_THAT(got.error().text(), HasSubstr("5"));
    EXPECT_TRUE(run_beside_reference(*tier.session, graph, good)) << "a session works after an error";
  }
}

TEST(ShapeErrors, ContradictingSymbolsNameTheInput) {
  const Graph graph = graph_of("graph g(%x: f32[N,2], %y: f32[N]) {\n %z = Neg(%x)\n return z = %z, y = %y\n}");
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  struct Bad {
    std::vector<Datum> inputs;
    const char* input;
  };
  const Bad cases[] = {{{numbered_floats({3, 2}), numbered_floats({5})}, "'y'"},
                       {{numbered_floats({3, 4}), numbered_floats({3})}, "'x'"},
                       {{numbered_floats({3}), numbered_floats({3})}, "'x'"},
                       {{Tensor::of<std::int64_t>({1, 2}, {1, 2}), numbered_floats({1})}, "'x'"},
                       {{numbered_floats({3, 2}), Datum()}, "'y'"}};
  for (const Bad& bad : cases) {
    const auto got = run_beside_reference(*tier.session, graph, bad.inputs);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Code::bad_input);
    EXPECT_THAT(got.error().text(), HasSubstr(bad.input));
    EXPECT_TRUE(run_beside_reference(*tier.session, graph, {numbered_floats({4, 2}), numbered_floats({4})}));
  }
}

TEST(ShapeErrors, InsideALoopTheSessionRecovers) {
  const Graph graph = graph_of(R"(graph g(%n: i64[], %x: f32[N], %y: f32[M]) {
    %z = Loop(%n, _, %x) body(%i, %on, %v) {
      %w = Concat(%v, %x) {axis = 0}
      %u = Add(%w, %y) "inner"
      yield %on, %u
    }
    return z = %z
  })");
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  const std::vector<Datum> bad{Tensor::scalar<std::int64_t>(2), numbered_floats({2}), numbered_floats({4})};
  const std::vector<Datum> good{Tensor::scalar<std::int64_t>(3), numbered_floats({2}), zero_floats({1})};
  for (int round = 0; round < 2; ++round) {
    const auto got = run_beside_reference(*tier.session, graph, bad);
    ASSERT_FALSE(got);
    EXPECT_THAT(got.error().text(), HasSubstr("'inner'"));
    EXPECT_TRUE(run_beside_reference(*tier.session, graph, good));
  }
}

TEST(ShapeErrors, ReshapeThatDoesNotFit) {
  const Graph graph = graph_of("graph g(%x: f32[N], %s: i64[2]) {\n %y = Reshape(%x, %s) \"fold\"\n return y = %y\n}");
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  const auto shape = [](std::int64_t a, std::int64_t b) { return Tensor::of<std::int64_t>({2}, {a, b}); };
  for (const auto& [n, s, fits] : {std::tuple{6, shape(2, 3), true},
                                   {6, shape(4, -1), false},
                                   {6, shape(-1, 2), true},
                                   {6, shape(2, 2), false},
                                   {0, shape(0, 3), true},
                                   {5, shape(5, 1), true}}) {
    SCOPED_TRACE(summary(s));
    const auto got = run_beside_reference(*tier.session, graph, {numbered_floats({n}), s});
    EXPECT_EQ(got.has_value(), fits);
    if (!got) {
      EXPECT_THAT(got.error().text(), HasSubstr("'fold'"));
    }
  }
}

}  // namespace
}  // namespace frazil::test
