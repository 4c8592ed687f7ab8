#include <gtest/gtest.h>

#include "code/weights/weight_store.h"
#include "suite/tiers.h"

// Products with one of many matrices that a constant holds: by batch, or by a slice that a run chooses.
namespace frazil::test {
namespace {

Tensor weights(std::string_view) { return uneven({5, 48, 40}); }

constexpr const char* kSlices = R"(
weight @w: f32[5,48,40]
graph experts(%x: f32[N,48], %picked: i64[M]) {
  %count = Size(%picked)
  %y = Loop(%count, _) body(%i, %on) {
    %which = Gather(%picked, %i) {axis = 0}
    %w = Gather(@w, %which) {axis = 0}
    %part = MatMul(%x, %w)
    yield %on, %part
  }
  return y = %y
})";

TEST(Stacks, ASliceIsPackedOnce) {
  const Graph graph = graph_of(kSlices, weights);
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  const auto before = code::WeightStore::global().packed_count();
  for (const int rows : {16, 1, 3, 16}) {
    std::vector<Datum> inputs = in_order(graph, "%picked = i64[4] [4, 0, 2, 4]");
    inputs[0] = uneven({rows, 48}, rows);
    run_beside_reference(*tier.session, graph, inputs, sum_of(48));
  }
  EXPECT_EQ(code::WeightStore::global().packed_count(), before + 1);
}

TEST(Stacks, Batches) {
  const Graph graph =
      graph_of("weight @w: f32[5,48,40]\ngraph g(%x: f32[N,48]) { %y = MatMul(%x, @w) return y = %y }", weights);
  run_tiers(graph, {uneven({7, 48}, 3)}, sum_of(48));
}

/// A part that begins between two matrices.
TEST(Stacks, PartsThatAreNoMatrixOfTheStack) {
  const Graph graph = graph_of(R"(
weight @w: f32[5,48,40]
graph g(%x: f32[N,48], %first: i64[1]) {
  %flat = Reshape(@w, i64[1] [-1])
  %past = Add(%first, i64[1] [1920])
  %part = Slice(%flat, %first, %past)
  %w = Reshape(%part, i64[2] [48, 40])
  %y = MatMul(%x, %w)
  return y = %y
})",
                               weights);
  for (const char* first : {"%first = i64[1] [1920]", "%first = i64[1] [1921]", "%first = i64[1] [0]"}) {
    std::vector<Datum> inputs = in_order(graph, first);
    inputs[0] = uneven({9, 48}, 5);
    run_tiers(graph, inputs, sum_of(48));
  }
}

}  // namespace
}  // namespace frazil::test
