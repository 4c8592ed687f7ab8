#include "concurrent/mix.h"

#include <gtest/gtest.h>

#include "exec/native/backend.h"
#include "exec/native/compile_thread.h"

// Run it under the thread sanitizer; soak.cc runs the same mix for any length of time.
namespace frazil::test {
namespace {

constexpr std::uint64_t kTurns = 400;  ///< per thread

class MixOf : public ::testing::TestWithParam<unsigned> {};

TEST_P(MixOf, SessionsLoadsLimitsAndCancellations) {
  Mix mix(mix::workloads(), GetParam());
  mix.run([](std::uint64_t turn) { return turn < kTurns; });
  for (const std::string& error : mix.errors()) ADD_FAILURE() << error;
  const auto turns = [&](Mix::Count c) { return mix.count(c); };
  fmt::print("{} runs: {} right, {} cancelled, {} at a limit, {} observed; {} loads, {} sessions\n", turns(Mix::runs),
             turns(Mix::right), turns(Mix::cancelled), turns(Mix::limited), turns(Mix::observed), turns(Mix::loads),
             turns(Mix::opens));
  EXPECT_EQ(turns(Mix::runs), turns(Mix::right) + turns(Mix::cancelled) + turns(Mix::limited));
  EXPECT_GT(turns(Mix::right), turns(Mix::runs) / 4);
  for (const auto c : {Mix::cancelled, Mix::limited, Mix::observed, Mix::loads, Mix::opens})
    EXPECT_GT(turns(c), 0u) << c;
}

INSTANTIATE_TEST_SUITE_P(Seeds, MixOf, ::testing::Values(1u, 2u, 3u));

/// Sessions that start at the same time make the specialisations and packed weights of their executable.
TEST(Concurrent, EverythingIsMadeAtOnce) {
  for (const Workload& workload : mix::workloads()) {
    if (workload.answers.empty()) continue;
    const auto executable =
        Executable::make(std::make_shared<const Graph>(workload.load().value()), {.tier = exec::Tier::adaptive})
            .value();
    std::atomic<int> waiting{Mix::kSessions};
    std::vector<std::string> wrong(Mix::kSessions);
    {
      std::vector<std::jthread> threads;
      for (std::size_t t = 0; t < wrong.size(); ++t) {
        threads.emplace_back([&, t] {
          const auto session = executable->open();
          for (--waiting; waiting > 0;) std::this_thread::yield();
          for (std::size_t k = 0; k < workload.requests.size(); ++k) {
            const std::size_t at = (k + t) % workload.requests.size();
            const auto got = session->run(workload.requests[at]);
            if (!got) wrong[t] = got.error().text();
            for (std::size_t o = 0; got && o < got->size(); ++o) {
              const auto what = difference((*got)[o], workload.answers[at][o], {.rtol = 1e-4, .atol = 1e-5});
              if (what) wrong[t] = *what;
            }
          }
        });
      }
    }
    for (const std::string& what : wrong) EXPECT_EQ(what, "") << workload.name;
  }
}

/// Sessions on eight threads go from tier to tier while code comes, in the middle of loops too. No two rounds of the
/// loop give the same values, so that one too many or too few shows.
TEST(Concurrent, TiersChangeUnderRuns) {
  constexpr std::string_view kLoop = R"(graph g(%n: i64[], %x: f32[N]) {
    %y = Loop(%n, _, %x) body(%i, %on, %v) {
      %a = Mul(%v, f32[] 3.7)
      %b = Add(%a, f32[] 1)
      %c = Sin(%b)
      yield %on, %c
    }
    return y = %y
  })";
  const auto request = [](std::int64_t extent) -> Request {
    return {Tensor::scalar<std::int64_t>(5000), ramp({extent}, 0.3f)};
  };
  link_operators();
  for (int round = 0; round < 3; ++round) {
    const auto graph = std::make_shared<const Graph>(parse(kLoop).value());
    std::vector<std::vector<Datum>> answers;
    const auto tier0 = Executable::make(graph).value()->open();
    for (std::int64_t extent = 1; extent <= 5; ++extent) answers.push_back(tier0->run(request(extent)).value());
    const auto executable = Executable::make(graph, {.tier = exec::Tier::adaptive}).value();
    std::atomic<int> wrong = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        const auto session = executable->open();
        for (int run = 0; run < 60; ++run) {
          const auto which = static_cast<std::size_t>((t + run) % 5);
          const auto got = session->run(request(static_cast<std::int64_t>(which) + 1));
          if (!got || difference((*got)[0], answers[which][0], kExact)) ++wrong;
        }
      });
    }
    threads.clear();
    EXPECT_EQ(wrong, 0);
    if (!exec::native_module()) continue;
    exec::CompileThread::instance().wait_until_idle();
    const auto session = executable->open();
    expect_equal(*graph, session->run(request(1)).value(), answers[0], kExact);
    EXPECT_GT(session->counters().entered, 0U) << "the code has come";
  }
}

/// A session keeps alive what it needs of a model that has been dropped.
TEST(Concurrent, SessionsOutliveTheirModels) {
  for (const Workload& workload : mix::workloads()) {
    if (workload.answers.empty()) continue;
    auto executable =
        Executable::make(std::make_shared<const Graph>(workload.load().value()), {.tier = exec::Tier::adaptive})
            .value();
    const std::weak_ptr<Executable> watch = executable;
    auto session = executable->open();
    executable.reset();
    for (std::size_t k = 0; k < workload.requests.size(); ++k) {
      const auto got = session->run(workload.requests[k]);
      ASSERT_TRUE(got) << workload.name << ": " << got.error().text();
      for (std::size_t o = 0; o < got->size(); ++o) {
        EXPECT_FALSE(difference((*got)[o], workload.answers[k][o], {.rtol = 1e-4, .atol = 1e-5})) << workload.name;
      }
    }
    session.reset();
    exec::CompileThread::instance().wait_until_idle();  // which may make code for it
    EXPECT_TRUE(watch.expired()) << workload.name;
  }
}

}  // namespace
}  // namespace frazil::test
