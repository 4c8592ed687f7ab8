// Machine code of whole plans: guards that miss, limits inside of code, other extents, code that comes in mid-run.
#include "exec/native/plan_code.h"

#include <algorithm>
#include <chrono>
#include <regex>
#include <set>
#include <string>
#include <thread>

#include "exec/native/code_maker.h"
#include "exec/native/compile_thread.h"
#include "exec/native/explain_tiers.h"
#include "suite/tiers.h"

namespace frazil::test {
namespace {

using exec::Counters;
using exec::Tier;

class PlanCode : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto module = exec::native_module(); !module) GTEST_SKIP() << module.error().text();
  }
  static std::shared_ptr<Executable> made(std::string_view text, Tier tier) {
    return Executable::make(std::make_shared<const Graph>(graph_of(text)), {.tier = tier}).value();
  }
  /// Runs on the session and on tier 0: equal bits, or equal errors.
  static void expect_alike(Session& session, Session& tier0, std::string_view inputs) {
    const Graph& graph = session.executable().graph();
    const auto got = session.run(in_order(graph, inputs)), want = tier0.run(in_order(graph, inputs));
    ASSERT_EQ(got.has_value(), want.has_value()) << (got ? want : got).error().text();
    if (got) {
      expect_equal(graph, *got, *want, kExact);
    } else {
      EXPECT_EQ(got.error().text(), want.error().text());
    }
  }
};

/// The key of the code of a graph's plan.
std::string key_of(std::string_view text) {
  const auto executable =
      Executable::make(std::make_shared<const Graph>(graph_of(text)), {.tier = Tier::interpreted}).value();
  const std::size_t steps = executable->plan().steps.size();
  code::NativePlan native{.plan = &executable->plan()};
  native.bodies.resize(steps);
  native.guards.resize(steps);
  native.find_entries();
  return native.key();
}

/// A user's names must not be able to look like a part of another plan.
TEST(PlanKeys, HoldNoNames) {
  const std::string one = key_of(R"(graph one(%x: f32[N], %y: f32[N]) { %z = Add(%x, %y) "a" return z = %z })");
  EXPECT_EQ(one, key_of(R"(graph other(%p: f32[M], %q: f32[M]) { %r = Add(%p, %q) "b;group 1;" return r = %r })"));
  EXPECT_EQ(one.find('"'), std::string::npos);
}

TEST(PlanKeys, DifferWherePlansDo) {
  constexpr const char* kGraphs[] = {
      "graph g(%x: f32[N], %y: f32[N]) { %z = Add(%x, %y) return z = %z }",
      "graph g(%x: f32[N], %y: f32[N]) { %z = Add(%x, %x) return z = %z }",
      "graph g(%x: f64[N], %y: f64[N]) { %z = Add(%x, %y) return z = %z }",
      "graph g(%x: f32[N], %y: f32[M]) { %z = Concat(%x, %y) {axis = 0} return z = %z }",
      "graph g(%x: f32[N], %y: f32[M]) { %z = Concat(%y, %x) {axis = 0} return z = %z }",
      "graph g(%n: i64[], %x: f32[N]) { %y = Loop(%n, _, %x) body(%i, %on, %v) { %b = Exp(%v) yield %on, %b } "
      "return y = %y }",
      "graph g(%n: i64[], %x: f32[N]) { %y, %z = Loop(%n, _, %x) body(%i, %on, %v) { %b = Exp(%v) "
      "%c = ReduceSum(%b) yield %on, %b, %c } return y = %y, z = %z }",
  };
  std::set<std::string> keys;
  for (const char* text : kGraphs) EXPECT_TRUE(keys.insert(key_of(text)).second) << text;
}

/// Counts to %n; no two rounds give the same vector, so that one too many or too few shows.
constexpr std::string_view kCountingLoop = R"(graph g(%n: i64[], %x: f32[N]) {
  %y = Loop(%n, _, %x) body(%i, %on, %v) {
    %a = Mul(%v, f32[] 3.7)
    %b = Add(%a, f32[] 1)
    %c = Sin(%b)
    yield %on, %c
  }
  return y = %y
})";

TEST_F(PlanCode, RunsLoops) {
  const auto session = made(kCountingLoop, Tier::specialised)->open(),
             tier0 = made(kCountingLoop, Tier::interpreted)->open();
  expect_alike(*session, *tier0, "%n = i64[] 100, %x = f32[2] [1, 2]");
  expect_alike(*session, *tier0, "%n = i64[] 5000, %x = f32[2] [3, 4]");
  EXPECT_GT(session->counters().entered, 0u);
  EXPECT_EQ(session->counters().missed, 0u);
  EXPECT_EQ(session->counters().iterations, tier0->counters().iterations);
}

TEST_F(PlanCode, OtherExtentsHaveOtherCode) {
  const auto executable = made(kCountingLoop, Tier::specialised);
  const auto session = executable->open(), tier0 = made(kCountingLoop, Tier::interpreted)->open();
  for (int round = 0; round < 2; ++round) {
    for (int n = 1; n <= 12; ++n) {
      std::string x = "[0";
      for (int i = 1; i < n; ++i) x += ", " + std::to_string(i);
      expect_alike(*session, *tier0, "%n = i64[] 70, %x = f32[" + std::to_string(n) + "] " + x + "]");
    }
  }
  const std::string text = executable->machine_code().plan()->explain();
  EXPECT_LE(std::ranges::count(text, '\n'), 8) << "versions are bounded:\n" << text;
}

TEST_F(PlanCode, ExplainsEachLaunch) {
  const auto executable = made(R"(graph g(%x: f32[N,4], %w: f32[4,4]) {
    %a = Exp(%x) "first"
    %b = MatMul(%a, %w) "second"
    %c = NonZero(%b) "third"
    return c = %c
  })",
                               Tier::compiled);
  const std::string text = exec::explain_tiers(*executable);
  for (const char* node : {"first", "second", "third"}) {
    EXPECT_THAT(text, testing::ContainsRegex(fmt::format(" [0-9]+ (0|1|kernel|ref) +node '{}'", node)));
  }
}

TEST_F(PlanCode, TellsForWhichExtentsItIs) {
  const auto executable = made(R"(graph g(%n: i64[], %x: f32[N,M]) {
    %y = Loop(%n, _, %x) body(%i, %on, %v) { %a = Exp(%v) %b = Sin(%a) yield %on, %b }
    return y = %y
  })",
                               Tier::specialised);
  const auto session = executable->open();
  ASSERT_TRUE(session->run(in_order(executable->graph(), "%n = i64[] 70, %x = f32[2,3] [[1, 2, 3], [4, 5, 6]]")));
  EXPECT_THAT(executable->machine_code().plan()->explain(),
              testing::ContainsRegex("steps with r[0-9]+ = 2, r[0-9]+ = 3\n"));
}

/// Each round sums the first %i + 3 elements: extents that only the run determines.
constexpr std::string_view kPrefixes = R"(graph g(%n: i64[], %x: f32[N]) {
  %s = Loop(%n, _, f32[] 0) body(%i, %on, %t) {
    %end = Add(%i, i64[] 3)
    %ends = Unsqueeze(%end, i64[1] [0])
    %part = Slice(%x, i64[1] [0], %ends)
    %square = Mul(%part, %part)
    %sum = ReduceSum(%square, i64[1] [0]) {keepdims = 0}
    %u = Add(%t, %sum)
    yield %on, %u
  }
  return s = %s
})";

TEST_F(PlanCode, GuardsInTheMiddleOfALoopMiss) {
  const auto session = made(kPrefixes, Tier::specialised)->open(), tier0 = made(kPrefixes, Tier::interpreted)->open();
  std::string x = "[1";
  for (int i = 1; i < 100; ++i) x += ", " + std::to_string(i % 7);
  for (int run = 0; run < 2; ++run) expect_alike(*session, *tier0, "%n = i64[] 100, %x = f32[100] " + x + "]");
  EXPECT_GT(session->counters().missed, 50u);
  EXPECT_EQ(session->counters().iterations, tier0->counters().iterations);
}

TEST_F(PlanCode, LimitsOnStepsAreExact) {
  const auto session = made(kCountingLoop, Tier::specialised)->open(),
             tier0 = made(kCountingLoop, Tier::interpreted)->open();
  expect_alike(*session, *tier0, "%n = i64[] 100, %x = f32[1] [1]");
  for (std::uint64_t steps = 1; steps < 120; ++steps) {
    for (Session* s : {session.get(), tier0.get()}) s->set_limits({.steps = steps});
    const Graph& graph = session->executable().graph();
    const auto inputs = in_order(graph, "%n = i64[] 10, %x = f32[1] [1]");
    EXPECT_EQ(session->run(inputs).has_value(), tier0->run(inputs).has_value()) << steps << " steps";
  }
}

TEST_F(PlanCode, DeadlinesEndIt) {
  const auto session = made(kCountingLoop, Tier::specialised)->open();
  const Graph& graph = session->executable().graph();
  ASSERT_TRUE(session->run(in_order(graph, "%n = i64[] 100, %x = f32[1] [1]")));
  session->set_limits({.time = std::chrono::milliseconds(20)});
  const auto ended = session->run(in_order(graph, "%n = i64[] 900000000, %x = f32[1] [1]"));
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::limit);
}

TEST_F(PlanCode, ComesFromAnotherThreadInTheMiddleOfARun) {
  const auto begin = std::chrono::steady_clock::now();
  // In no cache, so that it is compiled.
  const std::string text = std::regex_replace(std::string(kCountingLoop), std::regex("3.7"),
                                              fmt::format("3.7{}", begin.time_since_epoch().count() % 1'000'000));
  const auto session = made(text, Tier::adaptive)->open(), tier0 = made(text, Tier::interpreted)->open();
  for (int run = 0; run < 1000 && session->counters().entered == 0; ++run) {
    expect_alike(*session, *tier0, "%n = i64[] 100000, %x = f32[3] [1, 2, 3]");
  }
  EXPECT_GT(session->counters().entered, 0u);
  exec::CompileThread::instance().wait_until_idle();
  std::size_t compiled = 0;
  for (const exec::CodeEvent& e : exec::code_events()) {
    if (e.begin < begin || e.cached) continue;
    ++compiled;
    EXPECT_NE(e.thread, std::this_thread::get_id());
  }
  EXPECT_GT(compiled, 0U);
}

TEST_F(PlanCode, ComesForAPlanWithoutLoops) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const std::string text = fmt::format(  // in no cache
      "graph g(%x: f32[2,3]) {{ %a = Mul(%x, f32[] 3.7{}) %b = ReduceSum(%a, i64[1] [1]) {{keepdims = 1}} "
      "%c = Softmax(%a) %d = Add(%c, %b) return d = %d }}",
      now % 1'000'000);
  const auto session = made(text, Tier::adaptive)->open(), tier0 = made(text, Tier::interpreted)->open();
  for (int run = 0; run < 20'000 && session->counters().entered == 0; ++run) {
    expect_alike(*session, *tier0, "%x = f32[2,3] [1, 2, 3, 4, 5, 6]");
    if (run % 2'000 == 0) exec::CompileThread::instance().wait_until_idle();
  }
  EXPECT_GT(session->counters().entered, 0u);
}

/// Passes evaluate functions of constants unless they are off; LLVM must leave them to the C library as well.
TEST_F(PlanCode, FunctionsOfConstantsGiveTheBitsOfTheKernels) {
  struct Case {
    const char* function;
    double from;  ///< eight arguments from here on, 0.1171875 apart
  };
  const Case cases[] = {{"Acos", -0.5},  {"Acosh", 1}, {"Asin", -0.5}, {"Asinh", -2}, {"Atan", -2},
                        {"Atanh", -0.5}, {"Cos", -2},  {"Cosh", -2},   {"Erf", -2},   {"Exp", -2},
                        {"Log", 0.5},    {"Sin", -2},  {"Sinh", -2},   {"Tan", -1},   {"Tanh", -2}};
  for (const Case& c : cases) {
    for (const char* elem : {"f32", "f64"}) {
      std::string nodes, results;
      for (int k = 0; k < 8; ++k) {
        nodes += fmt::format(" %y{} = {}({}[] {})", k, c.function, elem, c.from + 0.1171875 * k);
        results += fmt::format("{} y{} = %y{}", k == 0 ? "" : ",", k, k);
      }
      const std::string text = fmt::format("graph g() {{{} return{} }}", nodes, results);
      SCOPED_TRACE(text);
      const auto graph = std::make_shared<const Graph>(graph_of(text));
      const auto run = [&](Tier tier) {
        return Executable::make(graph, {.passes = PassSet::none(), .tier = tier}).value()->open()->run({});
      };
      const auto got = run(Tier::compiled), want = run(Tier::interpreted);
      ASSERT_TRUE(got && want);
      expect_equal(*graph, *got, *want, kExact);
    }
  }
}

struct RowProductCase {
  std::int64_t k, n;
  const char* behind;    ///< what follows the product, up to %out
  bool constant = true;  ///< B, which is packed then where it has 1,024 elements or more
};

class RowProducts : public PlanCode, public testing::WithParamInterface<RowProductCase> {};

/// Four rounds, each of which needs the one before: what is read in turns is read in both.
TEST_P(RowProducts, GiveTheBitsOfTheirKernel) {
  const RowProductCase& c = GetParam();
  const auto k = std::to_string(c.k), n = std::to_string(c.n);
  const std::string b = "f32[" + k + "," + n + "]", v = "f32[1," + n + "]";
  const std::string text = "weight @w: " + b + "\ngraph g(%x: f32[4,1," + k + "], %b: " + b + ", %v: " + v + ") {" +
                           "%y, %ys = Loop(i64[] 4, _, %v) body(%i, %on, %s) {" +
                           "%z = Gather(%x, %i)\n%t = ReduceMax(%s)\n%a = MatMul(%t, %z)\n%m = MatMul(%a, " +
                           (c.constant ? "@w" : "%b") + ")\n" + c.behind +
                           "yield %on, %out, %out\n}\nreturn y = %y, ys = %ys }";
  const Tensor weight = uneven({c.k, c.n}, 5, 0.3f);
  const auto graph = std::make_shared<const Graph>(graph_of(text, [&](std::string_view) { return weight; }));
  const auto open = [&](Tier tier) { return Executable::make(graph, {.tier = tier}).value()->open(); };
  const auto session = open(Tier::specialised), tier0 = open(Tier::interpreted);
  ASSERT_FALSE(HasFailure());
  const auto inputs = in_order(*graph, {{"x", uneven({4, 1, c.k})}, {"b", weight}, {"v", uneven({1, c.n}, 3)}});
  for (int run = 0; run < 3; ++run) {
    const auto got = session->run(inputs), want = tier0->run(inputs);
    ASSERT_TRUE(got && want);
    expect_equal(*graph, *got, *want, kExact);
  }
  const auto& executable = session->executable();
  bool written = false;  // of the last one
  for (StepIndex i = 0; i < executable.plan().steps.size(); ++i) {
    const auto* const entry = executable.compiled().launch(i).entry.load();
    const bool product = entry != nullptr && entry->emits != nullptr && !entry->emits->all;
    written = product ? executable.machine_code().plan()->runs(i) : written;
  }
  // Larger ones may be left to several threads, as the machine's speed has it.
  EXPECT_TRUE(written || c.k * c.n > 8192) << executable.machine_code().plan()->explain();
}

constexpr const char *kNothing = "%out = Identity(%m)\n", *kBias = "%out = Add(%m, %v)\n",
                     *kRelu = "%p = Add(%m, %v)\n%out = Relu(%p)\n", *kTanh = "%p = Add(%m, %s)\n%out = Tanh(%p)\n",
                     *kLeaky = "%out = LeakyRelu(%m) {alpha = 0.25}\n",
                     *kTwo = "%p = Sigmoid(%m)\n%out = Mul(%p, %s)\n";

INSTANTIATE_TEST_SUITE_P(Shapes, RowProducts,
                         testing::Values(RowProductCase{1, 1, kNothing}, RowProductCase{3, 5, kTanh},
                                         RowProductCase{8, 16, kBias, false}, RowProductCase{9, 17, kRelu, false},
                                         RowProductCase{7, 31, kTwo, false}, RowProductCase{40, 32, kRelu},
                                         RowProductCase{33, 47, kLeaky}, RowProductCase{64, 20, kTanh},
                                         RowProductCase{50, 64, kBias}, RowProductCase{31, 100, kTwo},
                                         RowProductCase{128, 128, kTanh}, RowProductCase{97, 130, kRelu},
                                         RowProductCase{200, 9, kNothing}, RowProductCase{96, 96, kBias}),
                         [](const auto& test) { return fmt::format("{}x{}", test.param.k, test.param.n); });

TEST_F(PlanCode, AProgramMayEndWhileItIsMade) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (int milliseconds = 1; milliseconds < 60; milliseconds += 12) {
    const auto end = [&] {
      const auto now = std::chrono::system_clock::now().time_since_epoch().count();
      const std::string text =
          std::regex_replace(std::string(kCountingLoop), std::regex("3.7"), fmt::format("3.7{}", now));
      const auto session = made(text, Tier::adaptive)->open();
      const Graph& graph = session->executable().graph();
      const auto inputs = in_order(graph, "%n = i64[] 100000, %x = f32[3] [1, 2, 3]");
      const auto first = session->run(inputs);
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      std::exit(first ? 0 : 1);
    };
    EXPECT_EXIT(end(), testing::ExitedWithCode(0), "");
  }
}

TEST_F(PlanCode, IsNotUsedWhileSomebodyWatches) {
  const auto session = made(kCountingLoop, Tier::specialised)->open();
  const Graph& graph = session->executable().graph();
  ASSERT_TRUE(session->run(in_order(graph, "%n = i64[] 100, %x = f32[1] [1]")));
  const std::uint64_t entered = session->counters().entered;
  ASSERT_GT(entered, 0U);
  exec::Observer nobody;
  session->set_observer(&nobody);
  ASSERT_TRUE(session->run(in_order(graph, "%n = i64[] 100, %x = f32[1] [1]")));
  EXPECT_EQ(session->counters().entered, entered);
}

}  // namespace
}  // namespace frazil::test
