#include "concurrent/edits.h"

#include <gtest/gtest.h>

// `fuzz_configurations edits` makes more of the same edits, for any length of time.
namespace frazil::test {
namespace {

TEST(Edits, EqualTheGraphFromNothing) {
  RandomEdits edits;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto wrong = edits.check(seed, 8);
    ASSERT_FALSE(wrong) << *wrong;
  }
  const auto& done = edits.done();
  EXPECT_GT(done.edits, 300U);
  EXPECT_GT(done.inside, 50U);
  EXPECT_GT(done.weights, 20U);
  EXPECT_GT(done.removed, 20U);
  EXPECT_GT(done.cut, 50U);
  EXPECT_LT(done.refused, done.edits / 4);
  EXPECT_LT(done.failed, done.runs / 4);
}

}  // namespace
}  // namespace frazil::test
