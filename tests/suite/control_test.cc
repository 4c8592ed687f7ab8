#include "ops/control/control.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/elementwise/math.h"
#include "suite/ref_testing.h"
#include "suite/tiers.h"

// Control flow that text cases do not cover: depth, length, and the number of plans. The rest is in control_flow.frz.
namespace frazil::test {
namespace {

/// Nests an If in each level's then branch; the else branch returns the level's number, the innermost then branch
/// `depth`.
Graph nested_ifs(std::size_t depth) {
  link_operators();
  Graph graph;
  Builder top(graph);
  const Expr condition = top.input("c", Type::tensor(Elem::boolean, {}));
  const Expr x = top.input("x", Type::tensor(Elem::f32, {2}));
  std::vector<NodeId> nodes;
  std::vector<Builder> builders;
  builders.reserve(depth + 1);
  builders.push_back(std::move(top));
  for (std::size_t k = 0; k < depth; ++k) {
    nodes.push_back(builders.back().open(ops::If, {condition.value}, nullptr, {0, 0}, "").value());
    builders.emplace_back(graph, graph.node(nodes.back()).blocks[0]);
  }
  Value inner = ops::Add(Expr{&builders.back(), x.value}, Expr{&builders.back(), x.value}).value;
  for (std::size_t k = depth; k-- > 0;) {
    builders[k + 1].yield(nodes[k], 0, {inner});
    builders[k].yield(nodes[k], 0, {inner});
    Builder other(graph, graph.node(nodes[k]).blocks[1]);
    const Value value = ops::Neg(Expr{&other, x.value}).value;
    other.yield(nodes[k], 1, {value});
    const Status closed = builders[k].close(nodes[k], {true});
    EXPECT_TRUE(closed) << closed.error().text();
    inner = graph.node(nodes[k]).out[0];
  }
  builders[0].output("y", Expr{builders.data(), inner});
  EXPECT_TRUE(builders[0].status());
  return graph;
}

TEST(Control, IfsNestedTenThousandDeep) {
  const Graph graph = nested_ifs(10'000);
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  const Tensor x = Tensor::of<float>({2}, {1, 2});
  for (const auto& [condition, want] :
       {std::pair{true, Tensor::of<float>({2}, {2, 4})}, std::pair{false, Tensor::of<float>({2}, {-1, -2})}}) {
    const auto got = run_beside_reference(*tier.session, graph, {Tensor::scalar(condition), x});
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_FALSE(difference(got->at(0), want));
  }
}

TEST(Control, AValueThatGrowsAThousandTimes) {
  const Graph graph = graph_of(R"(graph g(%n: i64[], %x: f32[1,2]) {
    %all, %sums = Loop(%n, _, %x) body(%i, %on, %v) {
      %f = Cast(%i) {to = f32}
      %row = Add(%x, %f)
      %next = Concat(%v, %row) {axis = 0}
      %sum = ReduceSum(%next, i64[1] 0) {keepdims = 0}
      yield %on, %next, %sum
    }
    return all = %all, sums = %sums
  })");
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  const Tensor x = Tensor::of<float>({1, 2}, {1, 2});
  for (const std::int64_t n : {1000, 3, 0, 1, 200}) {
    SCOPED_TRACE(n);
    const auto got = run_beside_reference(*tier.session, graph, {Tensor::scalar(n), x});
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_EQ(got->at(0).tensor().sizes(), (Sizes{n + 1, 2}));
    EXPECT_EQ(got->at(1).tensor().sizes(), (Sizes{n, 2}));
  }
  EXPECT_EQ(tier.session->counters().plans, 1u);
}

constexpr const char* kRanks = R"(graph g(%x: f32[N,2]) {
    %s = Shape(%x)
    %n = Gather(%s, i64[] 0)
    %small = Less(%n, i64[] 4)
    %r = If(%small) then_branch() {
      %flat = Reshape(%x, i64[1] [-1])
      yield %flat
    } else_branch() {
      yield %x
    }
    %y = Add(%r, %r)
    return y = %y
  })";

TEST(Control, BranchesOfDifferentRanks) {
  const Graph graph = graph_of(kRanks);
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  for (const std::int64_t n : {1, 5, 2, 3, 4, 9, 0, 7}) {
    SCOPED_TRACE(n);
    Tensor x = Tensor::make(Elem::f32, {n, 2}).value();
    for (std::size_t i = 0; i < x.as<float>().size(); ++i) x.as_mutable<float>()[i] = static_cast<float>(i);
    const auto got = run_beside_reference(*tier.session, graph, {x});
    ASSERT_TRUE(got) << got.error().text();
    const Tensor& y = got->at(0).tensor();
    EXPECT_EQ(y.sizes(), n < 4 ? Sizes{2 * n} : (Sizes{n, 2}));
    for (std::size_t i = 0; i < y.as<float>().size(); ++i) EXPECT_EQ(y.as<float>()[i], static_cast<float>(2 * i));
  }
}

TEST(Control, BranchesOfDifferentRanksNeedTwoPlansAtMost) {
  const Tier0 tier(graph_of(kRanks));
  ASSERT_TRUE(tier);
  for (const std::int64_t n : {1, 5, 1, 5, 2}) {
    EXPECT_TRUE(tier.session->run(std::vector<Datum>{Tensor::make(Elem::f32, {n, 2}).value()}));
  }
  EXPECT_EQ(tier.session->counters().plans, 2u);
}

TEST(Control, OneSessionTakesEveryPath) {
  const Graph graph = graph_of(R"(graph g(%n: i64[], %c: bool[], %x: f32[N]) {
    %y = If(%c) then_branch() {
      %l = Loop(%n, _, %x) body(%i, %on, %v) {
        %w = Concat(%v, %x) {axis = 0}
        yield %on, %w
      }
      yield %l
    } else_branch() {
      %z = NonZero(%x)
      %f = Cast(%z) {to = f32}
      %s = Squeeze(%f, i64[1] 0)
      yield %s
    }
    %t = Mul(%y, f32[] 2)
    return t = %t
  })");
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  for (std::int64_t k = 0; k < 60; ++k) {
    SCOPED_TRACE(k);
    Tensor x = Tensor::make(Elem::f32, {k % 7}).value();
    for (std::size_t i = 0; i < x.as<float>().size(); ++i) x.as_mutable<float>()[i] = static_cast<float>(i * k % 3);
    const auto got = run_beside_reference(*tier.session, graph,
                                          {Tensor::scalar<std::int64_t>(k % 5), Tensor::scalar(k % 3 == 0), x});
    EXPECT_TRUE(got) << got.error().text();
  }
  EXPECT_EQ(tier.session->counters().plans, 1u);
}

/// Inner loops whose extents follow the outer iteration.
TEST(Control, ThreeLoopsDeep) {
  const Graph graph = graph_of(R"(graph g(%n: i64[], %x: f32[M]) {
    %y, %sums = Loop(%n, _, %x) body(%i, %on, %v) {
      %w = Loop(%i, _, %v) body(%j, %in, %u) {
        %a, %b = Loop(%j, _, %u, %x) body(%k, %far, %p, %q) {
          %r = Add(%p, f32[] 1)
          yield %far, %r, %q
        }
        %c = Concat(%a, %b) {axis = 0}
        yield %in, %c
      }
      %s = ReduceSum(%w) {keepdims = 0}
      yield %on, %w, %s
    }
    return y = %y, sums = %sums
  })");
  for (const char* inputs : {"%n = i64[] 0, %x = f32[2] [1, 2]", "%n = i64[] 1, %x = f32[2] [1, 2]",
                             "%n = i64[] 5, %x = f32[2] [1, 2]", "%n = i64[] 4, %x = f32[0] []"}) {
    SCOPED_TRACE(inputs);
    const auto got = run_tiers(graph, inputs);
    EXPECT_TRUE(got) << got.error().text();
  }
}

TEST(Control, ScanLengthsMustAgree) {
  const Graph graph = graph_of(R"(graph g(%x: f32[N], %y: f32[M]) {
    %all = Scan(%x, %y) {num_scan_inputs = 2} body(%v, %w) {
      %t = Add(%v, %w)
      yield %t
    }
    return all = %all
  })");
  EXPECT_TRUE(run_tiers(graph, "%x = f32[2] [1, 2], %y = f32[2] [3, 4]"));
  const auto got = run_tiers(graph, "%x = f32[2] [1, 2], %y = f32[3] [3, 4, 5]");
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().text(), ::testing::HasSubstr("Scan"));
}

TEST(Control, SequencesCarriedThroughALoop) {
  const Graph graph = graph_of(R"(graph g(%n: i64[], %x: f32[N]) {
    %one = SequenceConstruct(%x)
    %s, %lengths = Loop(%n, _, %one) body(%i, %on, %q) {
      %last = SequenceAt(%q, i64[] -1)
      %more = Concat(%last, %x) {axis = 0}
      %r = SequenceInsert(%q, %more)
      %len = SequenceLength(%r)
      yield %on, %r, %len
    }
    %first = SequenceAt(%s, i64[] 0)
    return s = %s, lengths = %lengths, first = %first
  })");
  for (const char* inputs :
       {"%n = i64[] 0, %x = f32[2] [1, 2]", "%n = i64[] 3, %x = f32[2] [1, 2]", "%n = i64[] 2, %x = f32[0] []"}) {
    SCOPED_TRACE(inputs);
    const auto got = run_tiers(graph, inputs);
    EXPECT_TRUE(got) << got.error().text();
  }
}

}  // namespace
}  // namespace frazil::test
