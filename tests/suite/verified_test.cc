#include <gtest/gtest.h>

#include "exec/run/executable.h"
#include "ir/text/text.h"

namespace frazil {
namespace {

// Passes leave types that inference would give again: the graph is checked after each of them.
TEST(VerifiedPasses, ARegionIsTypedAgainIfItsBodyIsSimpler) {
  auto graph = parse(R"(graph g(%n: i64[K,K,K,N]) {
    %last: bf16[1], %count: i32[?0], %all: f32[?1,1,1,0,0] = Loop(%n, _, bf16[1] [0]) body(%i: i64[], %c: bool[], %v: bf16[1]) {
      %same: bool[] = Transpose(%c)
      yield %same, bf16[1] [0], i32[] 0, f32[1,1,0,0] []
    }
    return last = %last
  })");
  ASSERT_TRUE(graph) << graph.error().text();
  const auto made = exec::Executable::make(std::make_shared<const Graph>(std::move(*graph)), {.verify = 3});
  EXPECT_TRUE(made) << made.error().text();
}

}  // namespace
}  // namespace frazil
