// Scratch memory that a limit refuses: the run fails, and the next one finds what it needs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/schedulers.h"
#include "suite/workers.h"

namespace frazil::test {
namespace {

struct ScratchCase {
  const char* name;
  const char* text;
};

/// A product of two inputs, which packs one of them in each run, and behind it a step with more scratch memory.
const ScratchCase kScratchCases[] = {
    {"top_k", R"(graph g(%x: f32[30,70], %w: f32[70,90], %z: f32[40000]) {
       %a = MatMul(%x, %w)
       %t, %i = TopK(%z, i64[1] 5)
       return a = %a, t = %t, i = %i
     })"},
    {"non_max_suppression", R"(graph g(%x: f32[30,70], %w: f32[70,90], %z: f32[1,3000,4], %s: f32[1,1,3000]) {
       %a = MatMul(%x, %w)
       %n = NonMaxSuppression(%z, %s, i64[1] 7, f32[1] 0.5, f32[1] 0)
       return a = %a, n = %n
     })"},
    {"a_larger_product", R"(graph g(%x: f32[30,70], %w: f32[70,90], %y: f32[30,900], %z: f32[900,500]) {
       %a = MatMul(%x, %w)
       %b = MatMul(%y, %z)
       return a = %a, b = %b
     })"},
};

class Scratch : public ::testing::TestWithParam<ScratchCase> {};

/// Under each limit from none to enough, a session runs, runs without the limit, and runs under it again.
void run_under_limits(const std::shared_ptr<Executable>& executable, const std::shared_ptr<Scheduler>& threads,
                      const std::vector<Datum>& inputs, std::uint64_t Limits::* limit) {
  const auto open = [&] {
    auto session = executable->open();
    session->set_scheduler(threads);
    return session;
  };
  const auto want = open()->run(inputs);
  ASSERT_TRUE(want) << want.error().text();
  int refused = 0, allowed = 0;
  for (std::size_t bytes = 1 << 10; allowed < 2; bytes += bytes / 8) {
    const auto session = open();
    Limits few;
    few.*limit = bytes;
    session->set_limits(few);
    const auto got = session->run(inputs);
    ++(got ? allowed : refused);
    if (got) EXPECT_TRUE(same_bits(*got, *want));
    if (!got) EXPECT_EQ(name_of(got.error().code), name_of(Code::limit)) << got.error().text();
    session->set_limits({});
    EXPECT_TRUE(same_bits(session->run(inputs).value(), *want)) << "after a limit of " << bytes << " bytes";
    session->set_limits(few);
    if (const auto again = session->run(inputs)) EXPECT_TRUE(same_bits(*again, *want));
  }
  EXPECT_GT(refused, 1);
}

TEST_P(Scratch, IsThereAgainAfterALimit) {
  const Graph graph = graph_of(GetParam().text);
  const auto inputs = random_inputs(graph);
  for (const exec::Tier tier : {exec::Tier::interpreted, exec::Tier::specialised}) {
    if (tier == exec::Tier::specialised && !exec::native_module()) continue;
    const auto executable = Executable::make(std::make_shared<const Graph>(graph), {.tier = tier}).value();
    for (const auto& threads : {std::shared_ptr<Scheduler>(), scheduler(2)}) {
      run_under_limits(executable, threads, inputs, &Limits::arena_bytes);
      run_under_limits(executable, threads, inputs, &Limits::memory_bytes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Steps, Scratch, ::testing::ValuesIn(kScratchCases),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace frazil::test
