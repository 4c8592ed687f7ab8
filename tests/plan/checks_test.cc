#include <algorithm>
#include <string_view>

#include <gtest/gtest.h>

#include "plan/lower/make_plan.h"
#include "suite/tiers.h"

// A condition that inference cannot decide is checked once in each run.
namespace frazil::test {
namespace {

struct CheckCase {
  std::string_view name, text;
  std::size_t checks;  ///< steps of the plan
};

constexpr CheckCase kCases[] = {
    {"Reshape", "graph g(%x: f32[N]) { %y = Reshape(%x, i64[2] [2, 3]) return y = %y }", 1},
    {"ReshapeOfTwo",
     "graph g(%x: f32[N], %z: f32[M]) { %a = Reshape(%x, i64[2] [2, 3]) "
     "%b = Reshape(%z, i64[2] [3, 2]) return a = %a, b = %b }",
     2},
    {"Squeeze", "graph g(%x: f32[N,A]) { %y = Squeeze(%x, i64[1] 1) return y = %y }", 1},
    {"Split", "graph g(%x: f32[N]) { %a, %b = Split(%x, i64[2] [2, 3]) return a = %a, b = %b }", 1},
    {"Concat", "graph g(%x: f32[N,A], %z: f32[M,B]) { %y = Concat(%x, %z) {axis = 0} return y = %y }", 1},
    {"MatMul", "graph g(%x: f32[N,K], %z: f32[L,2]) { %y = MatMul(%x, %z) return y = %y }", 1},
    {"Conv", "graph g(%x: f32[N,C,8], %w: f32[4,D,3]) { %y = Conv(%x, %w) return y = %y }", 1},
    {"InABody",
     "graph g(%n: i64[], %x: f32[N]) { %y = Loop(%n, _, %x) body(%i, %on, %v) { "
     "%a = Reshape(%v, i64[2] [2, 3]) %b = Reshape(%a, i64[1] -1) %c = Tanh(%b) yield %on, %c } "
     "return y = %y }",
     1},
    {"Decided", "graph g(%x: f32[6,K], %z: f32[K,2]) { %y = MatMul(%x, %z) return y = %y }", 0},
};

class Checks : public ::testing::TestWithParam<CheckCase> {};

TEST_P(Checks, AreInThePlanOnce) {
  for (const PassSet passes : {PassSet{}, PassSet::none()}) {
    std::vector<pass::PassRun> ran;
    const auto plan = make_plan(graph_of(GetParam().text), {.passes = passes}, ran);
    ASSERT_TRUE(plan) << plan.error().text();
    const auto is_check = [](const Step& step) { return step.as<step::Check>() != nullptr; };
    EXPECT_EQ(std::ranges::count_if(plan->steps, is_check), GetParam().checks) << "passes " << str(passes);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Checks, ::testing::ValuesIn(kCases),
                         [](const auto& c) { return std::string(c.param.name); });

}  // namespace
}  // namespace frazil::test
