// Random operators: the effect of a seed, the continuation of a session's stream, and the distribution of the numbers.
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "suite/tiers.h"

namespace frazil::test {
namespace {

std::shared_ptr<const Graph> shared_graph_of(std::string_view text) {
  link_operators();
  auto graph = parse(text);
  EXPECT_TRUE(graph) << graph.error().text();
  return std::make_shared<const Graph>(graph ? std::move(*graph) : Graph());
}

std::unique_ptr<Session> session_of(std::string_view text, bool reference) {
  const auto made = Executable::make(shared_graph_of(text), {.reference = reference});
  EXPECT_TRUE(made) << made.error().text();
  return made ? (*made)->open() : nullptr;
}

std::vector<double> numbers_of_run(Session& session, const std::vector<Datum>& inputs = {}) {
  const auto got = session.run(inputs);
  EXPECT_TRUE(got) << got.error().text();
  std::vector<double> values;
  for (std::int64_t i = 0; got && i < got->at(0).tensor().count(); ++i)
    values.push_back(got->at(0).tensor().number_at(i));
  return values;
}

struct Moments {
  double mean = 0, deviation = 0, low = 0, high = 0;
};
Moments moments(const std::vector<double>& x) {
  Moments m{.low = x.at(0), .high = x.at(0)};
  for (double v : x) m.mean += v, m.low = std::min(m.low, v), m.high = std::max(m.high, v);
  m.mean /= static_cast<double>(x.size());
  for (double v : x) m.deviation += (v - m.mean) * (v - m.mean);
  m.deviation = std::sqrt(m.deviation / static_cast<double>(x.size()));
  return m;
}

constexpr std::string_view kSeeded = "graph g() { %y = RandomNormal() {shape = [3, 5], seed = 7.5} return y = %y }";
constexpr std::string_view kFree = "graph g() { %y = RandomNormal() {shape = [3, 5]} return y = %y }";

TEST(Random, ASeedFixesTheNumbers) {
  const auto want = numbers_of_run(*session_of(kSeeded, true));
  EXPECT_GT(moments(want).deviation, 0.1);
  const auto session = session_of(kSeeded, false);
  for (int run = 0; run < 3; ++run) EXPECT_EQ(numbers_of_run(*session), want);
}

TEST(Random, WithoutASeedASessionGoesOn) {
  for (const bool reference : {true, false}) {
    const auto session = session_of(kFree, reference), other = session_of(kFree, reference);
    const auto first = numbers_of_run(*session), second = numbers_of_run(*session);
    EXPECT_NE(first, second);
    EXPECT_EQ(numbers_of_run(*other), first);
    EXPECT_EQ(numbers_of_run(*other), second);
  }
}

TEST(Random, IterationsOfALoopDrawOn) {
  constexpr std::string_view text = R"(
    graph g() {
      %y = Loop(i64[] 4, _) body(%i, %on) {
        %u = RandomUniform() {shape = [2]}
        yield %on, %u
      }
      return y = %y
    })";
  const auto x = numbers_of_run(*session_of(text, false));
  ASSERT_EQ(x.size(), 8u);
  EXPECT_EQ(x, numbers_of_run(*session_of(text, true)));
  EXPECT_EQ(std::set<double>(x.begin(), x.end()).size(), x.size());
}

TEST(Random, AreDistributedAsTheySay) {
  const auto of = [](std::string_view call) {
    const std::string text = fmt::format("graph g() {{ %y = {} return y = %y }}", call);
    return moments(numbers_of_run(*session_of(text, false)));
  };
  const Moments uniform = of("RandomUniform() {shape = [40000], low = -2.0, high = 6.0}");
  EXPECT_NEAR(uniform.mean, 2, 0.05);
  EXPECT_NEAR(uniform.deviation, 8 / std::sqrt(12.0), 0.05);
  EXPECT_GE(uniform.low, -2);
  EXPECT_LE(uniform.high, 6);
  const Moments normal = of("RandomNormal() {shape = [40000], mean = 3.0, scale = 0.5, dtype = f64}");
  EXPECT_NEAR(normal.mean, 3, 0.02);
  EXPECT_NEAR(normal.deviation, 0.5, 0.02);
  const Moments coins = of("Bernoulli(f32[4,1000] 0.25) {dtype = i64}");
  EXPECT_NEAR(coins.mean, 0.25, 0.03);
}

TEST(Random, ClassesAreDrawnByTheirWeights) {
  constexpr std::string_view text =
      "graph g() { %y = Multinomial(f32[2,3] [[0, 0.6931472, -inf], [-inf, -inf, 5]]) {sample_size = 9000, dtype = "
      "i64} "
      "return y = %y }";
  const auto drawn = numbers_of_run(*session_of(text, false));
  ASSERT_EQ(drawn.size(), 18000u);
  const auto half = drawn.begin() + 9000;
  EXPECT_NEAR(static_cast<double>(std::count(drawn.begin(), half, 0)), 3000, 200);
  EXPECT_NEAR(static_cast<double>(std::count(drawn.begin(), half, 1)), 6000, 200);
  EXPECT_EQ(std::count(half, drawn.end(), 2), 9000);
}

/// NumPy: np.random.seed(0); np.random.uniform(0, 1, 3)
TEST(Random, SeededDropoutIsNumPys) {
  constexpr std::string_view text =
      "graph g() { %y = frazil::Uniform(i64[1] [3]) {seed = 0, generator = \"mt19937\"} return y = %y }";
  const auto x = numbers_of_run(*session_of(text, false));
  ASSERT_EQ(x.size(), 3u);
  EXPECT_DOUBLE_EQ(x[0], 0.5488135039273248);
  EXPECT_DOUBLE_EQ(x[1], 0.7151893663724195);
  EXPECT_DOUBLE_EQ(x[2], 0.6027633760716439);
}

}  // namespace
}  // namespace frazil::test
