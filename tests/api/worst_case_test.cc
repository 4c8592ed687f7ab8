#include <random>
#include <string>
#include <vector>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/message_of.h"

// Upper bounds of work and memory, against graphs whose bounds are known and against runs.
namespace {

using frazil::Array;
using frazil::Code;
using frazil::ExtentRange;
using frazil::Model;
using frazil::WorstCase;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Ranges = std::map<std::string, ExtentRange>;

std::vector<std::string> texts(const std::vector<frazil::Unbounded>& parts) {
  std::vector<std::string> lines;
  for (const auto& part : parts) lines.push_back(part.where + ": " + part.why);
  return lines;
}

TEST(WorstCase, CountsEachPath) {
  struct Case {
    const char* what;
    const char* text;
    Ranges ranges;
    double operations;
  };
  const Case cases[] = {
      {"an element of each value", "graph g(%x: f32[N]) { %y = Add(%x, %x) return y = %y }", {{"N", {1, 10}}}, 10},
      {"a product",
       "graph g(%x: f32[N,4], %w: f32[4,3]) { %y = MatMul(%x, %w) return y = %y }",
       {{"N", {2, 5}}},
       5 * 4 * 3 * 2},
      {"extents that grow with another",
       "graph g(%x: f32[N]) { %y = Concat(%x, %x) {axis = 0} %z = Neg(%y) return z = %z }",
       {{"N", {1, 7}}},
       14},
      {"the branch with more work",
       R"(graph g(%x: f32[N], %c: bool[]) {
            %y = If(%c) then_branch() { %a = Add(%x, %x) %b = Mul(%a, %x) yield %b }
                 else_branch() { %d = Neg(%x) yield %d }
            return y = %y
          })",
       {{"N", {1, 8}}},
       16},
      {"a loop with a constant count",
       R"(graph g(%x: f32[N]) {
            %y = Loop(i64[] 5, _, %x) body(%i, %c, %s) { %t = Add(%s, %x) yield %c, %t }
            return y = %y
          })",
       {{"N", {1, 8}}},
       40},
      {"a loop whose count is an input",
       R"(graph g(%x: f32[N], %n: i64[]) {
            %y = Loop(%n, _, %x) body(%i, %c, %s) { %t = Add(%s, %x) yield %c, %t }
            return y = %y
          })",
       {{"N", {1, 8}}, {"n", {0, 3}}},
       24},
  };
  for (const Case& c : cases) {
    const WorstCase worst = worst_case(Model::from_text(c.text), c.ranges);
    EXPECT_EQ(worst.operations, c.operations) << c.what;
    EXPECT_THAT(texts(worst.unbounded_work), IsEmpty()) << c.what;
  }
}

TEST(WorstCase, NamesWhatHasNoBound) {
  struct Case {
    const char* text;
    std::vector<std::string> work;
  };
  const Case cases[] = {
      {"graph g(%x: f32[N,M]) { %y = Neg(%x) \"minus\" return y = %y }",
       {"node 'minus' (Neg): extent 'M' has no upper bound"}},
      {R"(graph g(%x: f32[N], %n: i64[]) {
            %y = Loop(%n, _, %x) body(%i, %c, %s) { %t = Add(%s, %x) yield %c, %t } "again"
            return y = %y
          })",
       {"node 'again' (Loop): the value of input 'n' has no upper bound"}},
      {R"(graph g(%x: f32[N], %n: i64[N]) {
            %m = ReduceSum(%n) {keepdims = 0}
            %y = Loop(%m, _, %x) body(%i, %c, %s) { %t = Add(%s, %x) yield %c, %t } "again"
            return y = %y
          })",
       {"node 'again' (Loop): the number of iterations depends on data"}},
      {"graph g(%x: f32[N]) { %y = NonZero(%x) \"where\" %z = Mul(%y, %y) \"square\" return z = %z }",
       {"node 'where' (NonZero): an extent depends on data", "node 'square' (Mul): an extent depends on data"}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(texts(worst_case(Model::from_text(c.text), {{"N", {1, 8}}}).unbounded_work), c.work) << c.text;
  }
}

TEST(WorstCase, RefusesRangesThatMeanNothing) {
  const Model model = Model::from_text("graph g(%x: f32[N]) { %y = Neg(%x) return y = %y }");
  EXPECT_EQ(message_of([&] { worst_case(model, {{"M", {1, 2}}}); }, Code::bad_input),
            "no input has an extent 'M' or is an integer of this name");
  EXPECT_EQ(message_of([&] { worst_case(model, {{"N", {3, 2}}}); }, Code::bad_input),
            "extent 'N': expected a range from at least 0, got 3 to 2");
}

/// Returns the text of a random graph of f32[N,M] values, with branches and loops.
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {}

  std::string text() {
    std::string body = "graph g(%v0: f32[N,M], %v1: f32[N,M], %w: f32[M,M], %c: bool[]) {\n";
    std::vector<std::string> values{"%v0", "%v1"};
    body += nodes(values, 8, 2);
    return body + "return y = " + values.back() + " }";
  }

 private:
  std::string pick(const std::vector<std::string>& values) { return values[random_() % values.size()]; }
  std::string fresh() { return "%n" + std::to_string(++made_); }

  std::string nodes(std::vector<std::string>& values, int count, int depth) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      const std::string name = fresh();
      text += name + " = " + operation(values, depth) + "\n";
      values.push_back(name);
    }
    return text;
  }

  std::string operation(const std::vector<std::string>& values, int depth) {
    switch (random_() % (depth > 0 ? 7 : 5)) {
      case 0: return "Add(" + pick(values) + ", " + pick(values) + ")";
      case 1: return "Sigmoid(" + pick(values) + ")";
      case 2: return "MatMul(" + pick(values) + ", %w)";
      case 3: return "Softmax(" + pick(values) + ") {axis = -1}";
      case 4: return "Mul(" + pick(values) + ", f32[] 0.5)";
      case 5: return branches(values, depth);
      default: return loop(values, depth);
    }
  }

  std::string block(std::vector<std::string> values, int depth) {
    std::string text = nodes(values, 1 + static_cast<int>(random_() % 3), depth - 1);
    return text + "yield " + values.back();
  }
  std::string branches(const std::vector<std::string>& values, int depth) {
    return "If(%c) then_branch() { " + block(values, depth) + " } else_branch() { " + block(values, depth) + " }";
  }
  std::string loop(std::vector<std::string> values, int depth) {
    const std::string number = std::to_string(++made_), state = "%s" + number;
    std::string text = "Loop(i64[] " + std::to_string(1 + random_() % 4) + ", _, " + pick(values) + ") body(%i" +
                       number + ", %k" + number + ", " + state + ") { ";
    values.push_back(state);
    text += nodes(values, 1 + static_cast<int>(random_() % 3), depth - 1);
    return text + "yield %k" + number + ", " + values.back() + " }";
  }

  std::mt19937 random_;
  int made_ = 0;
};

/// Returns the operations of a run, as the profiler counts them.
double counted_operations(const Model& model, std::int64_t n, std::int64_t m, bool condition, std::size_t& held) {
  auto session = model.open({.tier = "0", .threads = 1});
  const Array x(frazil::Dtype::f32, {n, m}), w(frazil::Dtype::f32, {m, m});
  const std::vector<frazil::Named> inputs{{"v0", x}, {"v1", x}, {"w", w}, {"c", Array::scalar(condition)}};
  frazil::Profiler profiler;
  session.start_profile(profiler);
  session.run(inputs);
  held = session.counters().held_bytes;
  double flops = 0;
  for (const auto& row : profiler.profile().rows) flops += row.flops;
  return flops;
}

TEST(WorstCase, NoRunDoesMore) {
  constexpr std::size_t kKernels = 128 << 10;  // memory of the kernels, which is not part of the bound
  double closest = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const std::string text = RandomGraph(seed).text();
    const Model model = Model::from_text(text);
    const WorstCase worst = worst_case(model, {{"N", {1, 600}}, {"M", {2, 50}}});
    ASSERT_THAT(texts(worst.unbounded_work), IsEmpty()) << text;
    ASSERT_THAT(texts(worst.unbounded_memory), IsEmpty()) << text;
    for (const auto& [n, m] : {std::pair{1, 2}, {300, 50}, {600, 2}, {600, 50}}) {
      for (const bool condition : {false, true}) {
        std::size_t held = 0;
        const double operations = counted_operations(model, n, m, condition, held);
        EXPECT_LE(held, worst.memory_bytes + worst.output_bytes + kKernels)
            << seed << ", N " << n << ", M " << m << "\n"
            << text;
        EXPECT_LE(operations, worst.operations) << seed << ", N " << n << ", M " << m << "\n" << text;
        closest = std::max(closest, operations / worst.operations);
      }
    }
  }
  EXPECT_GT(closest, 0.8);
}

}  // namespace
