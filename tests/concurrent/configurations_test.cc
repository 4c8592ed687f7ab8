#include "concurrent/configurations.h"

#include <gtest/gtest.h>

// fuzz_configurations.cc runs more of the same programs, for any length of time.
namespace frazil::test {
namespace {

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

}  // namespace
}  // namespace frazil::test
