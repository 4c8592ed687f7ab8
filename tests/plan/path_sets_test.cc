#include "plan/analyse/path_sets.h"

#include <gtest/gtest.h>

namespace frazil {
namespace {

std::vector<int> set_in(const PathSets& sets, int bits) {
  std::vector<int> all;
  for (int b = 0; b < bits; ++b) {
    if (sets.has(static_cast<std::size_t>(b))) all.push_back(b);
  }
  return all;
}
using Bits = std::vector<int>;

TEST(PathSets, WherePathsMeetIsSetWhatBothSet) {
  PathSets sets({true, false, false, false, false, false});
  sets.set(1);
  const auto fork = sets.here();
  sets.set(2);
  sets.set(3);
  const auto left = sets.here();
  sets.go(fork);
  EXPECT_EQ(set_in(sets, 6), (Bits{0, 1}));
  sets.set(3);
  sets.set(4);
  sets.go(sets.meet(left, sets.here()));
  EXPECT_EQ(set_in(sets, 6), (Bits{0, 1, 3}));
  sets.set(5);
  sets.go(left);
  EXPECT_EQ(set_in(sets, 6), (Bits{0, 1, 2, 3}));
}

TEST(PathSets, APathThatAddsNothingKeepsWhatWasThere) {
  PathSets sets({false, false});
  const auto start = sets.here();
  sets.set(0);
  const auto inside = sets.here();
  EXPECT_EQ(sets.meet(inside, start), start);
  sets.go(sets.meet(inside, start));
  EXPECT_EQ(set_in(sets, 2), Bits{});
}

TEST(PathSets, AStateIsCoveredWhereAllOfItIsSet) {
  PathSets sets({false, false, false});
  const auto start = sets.here();
  sets.set(0);
  sets.set(1);
  const auto head = sets.here();
  sets.set(2);
  EXPECT_TRUE(sets.covers(head)) << "further along the path";
  sets.go(start);
  sets.set(0);
  EXPECT_FALSE(sets.covers(head)) << "on another path, without bit 1";
  sets.set(1);
  EXPECT_TRUE(sets.covers(head));
}

}  // namespace
}  // namespace frazil
