// Steps that run at the same time: what the plan allows, and the bits, faults and limits of one step after the other.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/native/compile_thread.h"
#include "suite/schedulers.h"
#include "suite/workers.h"

namespace frazil::test {
namespace {

using exec::Tier;
using ::testing::HasSubstr;

class Together : public ::testing::Test {
 protected:
  /// Two runs on each of two ways, beside one thread; how many steps ran at the same time as the one before.
  static std::uint64_t run(std::string_view text, std::vector<Datum> inputs) {
    const Graph graph = graph_of(text);
    const Tier0 tier(graph);
    tier.session->set_scheduler(nullptr);
    const auto want = run_beside_reference(*tier.session, graph, inputs, sum_of(256, 50));
    EXPECT_TRUE(want);
    EXPECT_EQ(tier.session->counters().concurrent, 0u);
    std::uint64_t together = 0;
    for (const std::shared_ptr<Scheduler>& way :
         {std::shared_ptr<Scheduler>(std::make_shared<Backwards>()), scheduler(3)}) {
      const auto session = tier.executable->open();
      session->set_scheduler(way);
      for (int k = 0; k < 2; ++k) EXPECT_TRUE(same_bits(session->run(inputs).value(), *want)) << "run " << k;
      together = session->counters().concurrent;
    }
    return together / 2;
  }

 private:
  const EagerSharing eager_;
};

constexpr std::string_view kBranches = R"(graph g(%x: f32[30,64], %u: f32[64,64], %v: f32[64,40], %w: f32[64,64]) {
  %a = MatMul(%x, %u) "first"
  %b = MatMul(%x, %v) "second"
  %c = MatMul(%x, %w) "third"
  %d = MatMul(%a, %w) "after"
  return b = %b, c = %c, d = %d
})";

std::vector<Datum> branch_inputs() { return random_inputs(graph_of(kBranches)); }

TEST_F(Together, ProductsOfOneInput) { EXPECT_EQ(run(kBranches, branch_inputs()), 2u); }

TEST_F(Together, NotWhatReadsWhatTheOtherWrites) {
  constexpr std::string_view kChain = R"(graph g(%x: f32[30,64], %u: f32[64,64]) {
    %a = MatMul(%x, %u)
    %b = MatMul(%a, %u)
    return b = %b
  })";
  EXPECT_EQ(run(kChain, random_inputs(graph_of(kChain))), 0u);
}

TEST_F(Together, InEveryIterationOfALoop) {
  constexpr std::string_view kLoop = R"(graph g(%n: i64[], %x: f32[30,64], %u: f32[64,64], %w: f32[64,64]) {
    %y, %z = Loop(%n, _, %x, %x) body(%i, %on, %g, %h) {
      %a = MatMul(%g, %u)
      %b = MatMul(%h, %w)
      %e = Mul(%a, f32[] 0.2)
      %f = Mul(%b, f32[] 0.2)
      %c = Sin(%e)
      %d = Cos(%f)
      yield %on, %c, %d
    }
    return y = %y, z = %z
  })";
  const Graph graph = graph_of(kLoop);
  std::vector<Datum> inputs{Tensor::scalar<std::int64_t>(5)};
  for (std::size_t i = 1; i < 4; ++i) inputs.emplace_back(random_of(graph.type(graph.main().params[i]), i));
  EXPECT_GE(run(kLoop, std::move(inputs)), 5u);
}

TEST_F(Together, AFaultIsTheSameAsOneAfterTheOther) {
  const Graph graph = graph_of(R"(graph g(%x: f32[900,64], %i: i64[300], %j: i64[300]) {
    %a = Gather(%x, %i) "first"
    %b = Gather(%x, %j) "second"
    return a = %a, b = %b
  })");
  const Tier0 tier(graph);
  const auto indices = [](std::int64_t last) {
    Tensor t = Tensor::make(Elem::i64, {300}).value();
    std::ranges::fill(t.as_mutable<std::int64_t>(), 0);
    t.as_mutable<std::int64_t>()[299] = last;
    return t;
  };
  const Datum x = random_tensor(Elem::f32, {900, 64}, 3);
  const auto session = tier.executable->open();
  session->set_scheduler(scheduler(2));
  const auto message = [&](std::int64_t i, std::int64_t j) {
    const auto got = session->run(std::vector<Datum>{x, indices(i), indices(j)});
    return got ? std::string() : got.error().text();
  };
  EXPECT_THAT(message(1, 5000), HasSubstr("'second'"));
  EXPECT_THAT(message(5000, 5000), HasSubstr("'first'"));
  EXPECT_EQ(message(1, 2), "");
}

TEST_F(Together, ALimitOnTheirMemoryIsKeptAndLeavesNothingBehind) {
  const Graph graph = graph_of(kBranches);
  const Tier0 tier(graph);
  const auto want = tier.session->run(branch_inputs());
  ASSERT_TRUE(want);
  const auto session = tier.executable->open();
  session->set_scheduler(scheduler(2));
  Limits limits;
  std::size_t least = 1 << 10;  // that a run on one thread keeps to
  const auto alone = tier.executable->open();
  alone->set_scheduler(nullptr);
  for (bool fits = false; !fits; least += 1 << 10) {
    limits.arena_bytes = least;
    alone->set_limits(limits);
    fits = alone->run(branch_inputs()).has_value();
  }
  limits.arena_bytes = least;
  session->set_limits(limits);
  const auto got = session->run(branch_inputs());
  if (got) {
    EXPECT_TRUE(same_bits(*got, *want));
  } else {
    EXPECT_EQ(got.error().code, Code::limit);  // a step that is shared needs more, too
  }
  session->set_limits({});
  EXPECT_TRUE(same_bits(session->run(branch_inputs()).value(), *want));
}

// ---- what the plan allows ----

TEST(TogetherInPlan, IsPrintedWithTheFirstOfTheSteps) {
  const Tier0 tier(graph_of(kBranches));
  EXPECT_THAT(tier.executable->plan().str(), HasSubstr(" together 3"));
  EXPECT_THAT(tier.executable->plan().str(), HasSubstr(" together 2"));
}

TEST(TogetherInPlan, LeavesOutWhatTheSessionRunsItself) {
  const Tier0 tier(graph_of(R"(graph g(%x: f32[30,64], %u: f32[64,64]) {
    %a = MatMul(%x, %u)
    %t, %i = TopK(%x, i64[1] 3)
    %b = MatMul(%x, %u)
    return a = %a, t = %t, b = %b
  })"));
  EXPECT_THAT(tier.executable->plan().str(), Not(HasSubstr("together")));
}

// ---- generated code ----

/// A loop whose iterations have a large product and independent small work beside it. Values stay apart: each update is
/// a sine of more than its argument.
struct WideLoopCase {
  const char* name;
  const char* small;  ///< makes %t of %b
  const char* wide;   ///< makes %c of %a and %m = %a @ @m
};

constexpr const char *kSine = "%q = Mul(%m, f32[] 1.7)\n%r = Sin(%q)\n%h = Mul(%a, f32[] 0.5)\n%c = Add(%r, %h)\n",
                     *kTwoProducts =
                         "%q = Tanh(%m)\n%r = Mul(%q, f32[] 1.3)\n%k = MatMul(%a, @k)\n"
                         "%h = Mul(%k, f32[] 0.1)\n%c = Add(%r, %h)\n";

const WideLoopCase kWideLoops[] = {
    {"a_product", "%t = MatMul(%b, @v)\n", kSine},
    {"a_body", "%t0 = Tanh(%b)\n%t = Mul(%t0, f32[] 2)\n", kSine},
    {"a_softmax", "%t0 = Mul(%b, f32[] 3)\n%t = Softmax(%t0)\n", kSine},
    {"a_body_and_a_softmax",
     "%t0 = Tanh(%b)\n%t1 = Mul(%b, f32[] 3)\n%t2 = Softmax(%t1)\n%t3 = Mul(%t0, f32[] 2)\n%t = Add(%t3, %t2)\n",
     kTwoProducts},
    {"a_product_and_a_softmax",
     "%t0 = MatMul(%b, @v)\n%t1 = Mul(%b, f32[] 3)\n%t2 = Softmax(%t1)\n%t = Add(%t0, %t2)\n", kTwoProducts},
    {"all_of_them",
     "%t0 = MatMul(%b, @v)\n%t1 = Mul(%b, f32[] 3)\n%t2 = Softmax(%t1)\n%t3 = Tanh(%b)\n"
     "%t4 = Add(%t0, %t2)\n%t = Add(%t3, %t4)\n",
     kSine},
};

/// Products with it keep the size of their operand.
Tensor weight(std::string_view name) {
  const std::int64_t n = name == "m" || name == "k" ? 384 : 64;
  Tensor w = random_tensor(Elem::f32, {n, n}, static_cast<unsigned char>(name[0]));
  for (float& x : w.as_mutable<float>()) x /= std::sqrt(static_cast<float>(n));
  return w;
}

class TogetherInCode : public ::testing::TestWithParam<WideLoopCase> {
 protected:
  static std::shared_ptr<const Graph> graph(const WideLoopCase& c) {
    const std::string text = std::string("weight @m: f32[384,384]\nweight @k: f32[384,384]\nweight @v: f32[64,64]\n") +
                             "graph g(%n: i64[], %x: f32[R,384], %s: f32[R,64]) {\n" +
                             "%y, %z = Loop(%n, _, %x, %s) body(%i, %on, %a, %b) {\n%m = MatMul(%a, @m)\n" + c.small +
                             c.wide +
                             "%p = Mul(%t, f32[] 2.3)\n%o = Sin(%p)\n%w = Mul(%b, f32[] 0.3)\n%d = Add(%o, %w)\n" +
                             "yield %on, %c, %d\n}\nreturn y = %y, z = %z }";
    return std::make_shared<const Graph>(graph_of(text, weight));
  }
  static std::vector<Datum> inputs(std::int64_t rounds, std::int64_t rows) {
    return {Tensor::scalar<std::int64_t>(rounds), random_tensor(Elem::f32, {rows, 384}, 1),
            random_tensor(Elem::f32, {rows, 64}, 2)};
  }

 private:
  const EagerSharing eager_;
};

TEST_P(TogetherInCode, NoStepIsLeftOutOrRunsTwice) {
  if (const auto module = exec::native_module(); !module) GTEST_SKIP() << module.error().text();
  const auto g = graph(GetParam());
  const auto one = Executable::make(g).value()->open();
  one->set_scheduler(nullptr);
  const auto first = run_beside_reference(*one, *g, inputs(3, 40), sum_of(384, 10));
  const auto other = one->run(inputs(4, 33));
  ASSERT_TRUE(first && other);
  for (const Tier tier : {Tier::interpreted, Tier::compiled, Tier::specialised, Tier::adaptive}) {
    const auto executable = Executable::make(g, {.tier = tier}).value();
    for (const unsigned threads : {1U, 2U, 3U}) {
      SCOPED_TRACE(fmt::format("tier {}, {} threads", static_cast<int>(tier), threads));
      const auto session = executable->open();
      session->set_scheduler(threads == 1 ? nullptr : scheduler(threads));
      for (int run = 0; run < 3; ++run) {
        EXPECT_TRUE(same_bits(session->run(inputs(3, 40)).value(), *first)) << "run " << run;
        EXPECT_TRUE(same_bits(session->run(inputs(4, 33)).value(), *other)) << "run " << run << " of other extents";
        if (tier == Tier::adaptive) exec::CompileThread::instance().wait_until_idle();
      }
      if (threads > 1) EXPECT_GT(session->counters().concurrent, 0U);
      if (tier == Tier::specialised) EXPECT_GT(session->counters().entered, 0U);
      EXPECT_EQ(session->counters().iterations, 3U * (3 + 4));
    }
  }
}

/// Steps that run at the same time take as many of the limit as alone, and generated code as the interpreter.
TEST_P(TogetherInCode, LimitsOnStepsAreExact) {
  if (const auto module = exec::native_module(); !module) GTEST_SKIP() << module.error().text();
  const auto g = graph(GetParam());
  std::vector<std::unique_ptr<Session>> sessions;
  for (const Tier tier : {Tier::interpreted, Tier::specialised}) {
    for (const auto& threads : {std::shared_ptr<Scheduler>(), scheduler(3)}) {
      sessions.push_back(Executable::make(g, {.tier = tier}).value()->open());
      sessions.back()->set_scheduler(threads);
      ASSERT_TRUE(sessions.back()->run(inputs(2, 33)));
    }
  }
  bool enough = false;
  for (std::uint64_t steps = 1; !enough; ++steps) {
    for (const auto& session : sessions) session->set_limits({.steps = steps, .time = {}});
    const auto want = sessions[0]->run(inputs(2, 33));
    for (const auto& session : sessions) {
      const auto got = session->run(inputs(2, 33));
      EXPECT_EQ(got.has_value(), want.has_value()) << steps << " steps";
    }
    enough = want.has_value();
  }
}

INSTANTIATE_TEST_SUITE_P(Beside, TogetherInCode, ::testing::ValuesIn(kWideLoops),
                         [](const auto& test) { return std::string(test.param.name); });

// ---- behind a guard ----

/// The plan of the first branch leaves out the product %p, so that the plan of the second makes it when a request comes
/// over. The product behind it is copied or not needed, and the steps behind the guard run all the same.
const char* const kGuarded[] = {
    R"(weight @v: f32[64,64]
       weight @u: f32[64,64]
       graph g(%n: i64[], %m: f32[T,2], %x: f32[40,64]) {
         %last, %all = Loop(%n, _, %x) body(%i, %on, %a) {
           %p = MatMul(%a, @u)
           %q = MatMul(%a, @v)
           %row = Gather(%m, %i)
           %z = NonZero(%row)
           %s = Shape(%z)
           %k = Gather(%s, i64[] 1)
           %c = Less(%k, i64[] 2)
           %r = If(%c) then_branch() {
             %flat = Reshape(%q, i64[1] [-1])
             yield %flat
           } else_branch() {
             %b = Mul(%p, %q)
             yield %b
           } "pick"
           %rows = Reshape(%r, i64[2] [-1, 64])
           %t = Mul(%rows, f32[] 2.3)
           %h = Sin(%t)
           yield %on, %h, %h
         }
         return last = %last, all = %all
       })",
};

TEST(TogetherBehindAGuard, StepsRunAsOneAfterTheOther) {
  const EagerSharing eager;
  const Tensor sides = Tensor::of<float>({6, 2}, {1, 0, 1, 1, 1, 2, 0, 1, 1, 0, 3, 1});
  const std::vector<Datum> inputs{Tensor::scalar<std::int64_t>(6), sides, random_tensor(Elem::f32, {40, 64}, 1)};
  for (const char* text : kGuarded) {
    SCOPED_TRACE(text);
    const auto graph = std::make_shared<const Graph>(graph_of(text, weight));
    const auto one = Executable::make(graph).value()->open();
    one->set_scheduler(nullptr);
    const auto want = run_beside_reference(*one, *graph, inputs, sum_of(64, 100));
    ASSERT_TRUE(want);
    for (const Tier tier : {Tier::interpreted, Tier::specialised}) {
      if (tier == Tier::specialised && !exec::native_module()) continue;
      const auto session = Executable::make(graph, {.tier = tier}).value()->open();
      session->set_scheduler(scheduler(3));
      for (int run = 0; run < 3; ++run) EXPECT_TRUE(same_bits(session->run(inputs).value(), *want)) << "run " << run;
      EXPECT_GE(session->counters().resumed, 3U * 2);
      EXPECT_EQ(session->counters().restarted, 0U);
    }
  }
}

}  // namespace
}  // namespace frazil::test
