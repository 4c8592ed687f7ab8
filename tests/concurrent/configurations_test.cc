#include "concurrent/configurations.h"

#include <gtest/gtest.h>

// fuzz_configurations.cc runs more of the same programs, for any length of time.
namespace frazil::test {
namespace {

constexpr fuzz::ProgramSizes kManyGuards{.wide = 6, .narrow = 3, .ranked = 40, .guards = 5};

TEST(Configurations, GiveTheBitsOfOneThreadOnTierZero) {
  const EagerSharing eager;
  Configurations configurations;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto wrong = configurations.check(seed);
    EXPECT_FALSE(wrong) << *wrong;
  }
  const auto& done = configurations.done();
  EXPECT_GT(done.together, 0U);
  EXPECT_GT(done.stopped, 0U);
  EXPECT_GT(done.resumed + done.restarted, 0U) << "guards that miss";
  if (!exec::native_module()) return;
  EXPECT_GT(done.entered, 0U);
}

/// Runs many programs: a plan must be able to continue after each kind of step.
TEST(Configurations, GuardsThatMissOnTierZero) {
  Configurations configurations({exec::Tier::interpreted}, 1, kManyGuards);
  for (std::uint64_t seed = 100; seed < 220; ++seed) {
    const auto wrong = configurations.check(seed);
    ASSERT_FALSE(wrong) << *wrong;
  }
  EXPECT_GT(configurations.done().resumed, 100U);
  EXPECT_LT(configurations.done().restarted, configurations.done().resumed / 10);
}

/// Also in the middle of going on in another plan, of which some registers then belong to the request that ended.
TEST(Configurations, RequestsAfterOneThatWasStopped) {
  Configurations configurations({exec::Tier::interpreted}, 1, kManyGuards);
  for (std::uint64_t seed = 370; seed < 400; ++seed) {
    const auto wrong = configurations.check_stops(seed);
    EXPECT_FALSE(wrong) << *wrong;
  }
  EXPECT_GT(configurations.done().resumed, 100U);
  EXPECT_GT(configurations.done().stopped, 100U);
}

}  // namespace
}  // namespace frazil::test
