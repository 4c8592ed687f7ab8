#include "plan/section.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "ir/patch.h"
#include "ir/text.h"
#include "ops/elementwise_nn.h"
#include "plan/make_plan.h"

// Runs of nodes are planned once: where an equal run occurs again, its steps are taken from the plan that has them.
namespace frazil::test {
namespace {

Graph graph_of(std::string_view text) {
  auto graph = parse(text);
  if (!graph) ADD_FAILURE() << graph.error().message << "\n" << text;
  return *std::move(graph);
}

Plan plan_of(const Graph& graph, SectionCache& cache) {
  std::vector<PassRun> ran;
  auto plan = make_plan(graph, {.passes = {}, .verify = 1, .sections = &cache}, ran);
  if (!plan) ADD_FAILURE() << plan.error().message;
  return *std::move(plan);
}

NodeId node_named(const Graph& graph, std::string_view name) {
  for (std::uint32_t n = 0; n < graph.node_count(); ++n) {
    if (graph.node(NodeId{n}).name == name) return NodeId{n};
  }
  ADD_FAILURE() << "no node '" << name << "'";
  return {};
}

struct Count {
  std::size_t made = 0, found = 0;
  bool operator==(const Count&) const = default;
};
Count count(const Plan& plan) {
  const auto found = static_cast<std::size_t>(std::ranges::count(plan.sections, true, &PlannedSection::found));
  return {plan.sections.size() - found, found};
}

constexpr std::array kGraphs = {
    R"(graph chain(%x: f32[N,4]) {
      %a = Add(%x, f32[4] [1, 2, 3, 4])
      %b = MatMul(%a, f32[4,3] [[1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3]])
      %c = Softmax(%b) {axis = 1}
      %d = Transpose(%c) {perm = [1, 0]}
      return d = %d
    })",
    R"(graph views(%x: f32[N,4,M], %y: f32[N,4,M]) {
      %a = Transpose(%x) {perm = [0, 2, 1]}
      %s = Slice(%a, i64[1] 0, i64[1] 2, i64[1] 2)
      %c = Concat(%x, %y) {axis = 1}
      %p = Pad(%c, i64[6] [0, 1, 0, 0, 0, 2], f32[] 3)
      %r = Reshape(%p, i64[2] [0, -1])
      %k = Shape(%r)
      %e = Exp(%s)
      return r = %r, k = %k, e = %e
    })",
    R"(graph loop(%n: i64[], %x: f32[4]) {
      %last, %all = Loop(%n, _, %x) body(%i, %on, %v) {
        %a = Mul(%v, f32[] 2)
        %b = ReduceSum(%a) {keepdims = 1}
        %c = Sub(%v, %b)
        yield %on, %c, %a
      }
      return last = %last, all = %all
    })",
    R"(graph data(%x: f32[N]) {
      %z = NonZero(%x)
      %t = Transpose(%z)
      %f = Cast(%t) {to = 1}
      %y = Tanh(%f)
      return y = %y, n = %z
    })",
    R"(graph sequences(%x: f32[N,2]) {
      %s = SequenceConstruct(%x, %x)
      %y = ConcatFromSequence(%s) {axis = 0}
      %z = Relu(%y)
      return z = %z
    })",
};

TEST(Sections, APlanOfFoundSectionsIsTheSame) {
  for (const char* text : kGraphs) {
    SCOPED_TRACE(text);
    const Graph graph = graph_of(text);
    SectionCache cache;
    const Plan made = plan_of(graph, cache), found = plan_of(graph, cache);
    EXPECT_EQ(found.str(), made.str());
    EXPECT_GT(count(made).made, 0u);
    EXPECT_EQ(count(found), (Count{0, made.sections.size()}));
  }
}

constexpr const char* kTwoLayers = R"(graph layers(%x: f32[N,4]) {
  %a = MatMul(%x, f32[4,4] [[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]])
  %b = Softmax(%a) {axis = 1}
  %c = Tanh(%b) "first"
  %d = MatMul(%c, f32[4,4] [[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]])
  %e = Softmax(%d) {axis = 1}
  %f = Tanh(%e) "second"
  %g = MatMul(%f, f32[4,2] [[1, 2], [1, 2], [1, 2], [1, 2]])
  return g = %g
})";

TEST(Sections, ASectionLivesAsLongAsAPlan) {
  const Graph graph = graph_of(kTwoLayers);
  SectionCache cache;
  { const Plan plan = plan_of(graph, cache); }
  EXPECT_EQ(count(plan_of(graph, cache)).found, 0u);
}

TEST(Sections, AnEditOfAPointwiseNodePlansItsOwnSection) {
  const Graph graph = graph_of(kTwoLayers);
  SectionCache cache;
  const Plan before = plan_of(graph, cache);
  const NodeId node = node_named(graph, "second");
  Patch patch(graph, "tanh to sigmoid");
  patch.replace(graph.node(node).out[0], ops::Sigmoid(patch.tap(graph.node(node).in[0])));
  const auto edited = std::move(patch).commit();
  ASSERT_TRUE(edited) << edited.error().message;
  const Plan after = plan_of(*edited, cache);
  EXPECT_EQ(count(after), (Count{1, before.sections.size() - 1}));
  SectionCache empty;
  EXPECT_EQ(after.str(), plan_of(*edited, empty).str());
  const auto is_gone = [&](const auto& kernel) { return std::ranges::find(after.fused, kernel) == after.fused.end(); };
  EXPECT_EQ(std::ranges::count_if(before.fused, is_gone), 1) << "kernels of other sections are the same objects";
}

/// Pairs of graphs of which the second must not take its steps from the first.
struct Pair {
  const char* what;
  const char *first, *second;
};
constexpr Pair kDifferent[] = {
    {"an attribute", "graph g(%x: f32[N,4]) { %y = Softmax(%x) {axis = 0} %z = Neg(%y) return z = %z }",
     "graph g(%x: f32[N,4]) { %y = Softmax(%x) {axis = 1} %z = Neg(%y) return z = %z }"},
    {"a number that the kernel holds", "graph g(%x: f32[N]) { %y = Mul(%x, f32[] 2) %z = Exp(%y) return z = %z }",
     "graph g(%x: f32[N]) { %y = Mul(%x, f32[] 3) %z = Exp(%y) return z = %z }"},
    {"one operand twice", "graph g(%x: f32[N], %w: f32[N]) { %y = Transpose(%x) %z = Add(%y, %w) return z = %z }",
     "graph g(%x: f32[N], %w: f32[N]) { %y = Transpose(%x) %z = Add(%y, %x) return z = %z }"},
    {"what the graph returns", "graph g(%x: f32[N]) { %y = Exp(%x) %z = Neg(%y) return z = %z }",
     "graph g(%x: f32[N]) { %y = Exp(%x) %z = Neg(%y) return z = %z, y = %y }"},
    {"equal extents", "graph g(%x: f32[N,M]) { %y = Softmax(%x) {axis = 0} return y = %y }",
     "graph g(%x: f32[N,N]) { %y = Softmax(%x) {axis = 0} return y = %y }"},
    {"the element type", "graph g(%x: f32[N]) { %y = Abs(%x) return y = %y }",
     "graph g(%x: f64[N]) { %y = Abs(%x) return y = %y }"},
};

TEST(Sections, WhatDiffersIsPlannedByItself) {
  for (const Pair& pair : kDifferent) {
    SCOPED_TRACE(pair.what);
    const Graph first = graph_of(pair.first), second = graph_of(pair.second);
    SectionCache both, empty;
    const Plan kept = plan_of(first, both);
    const Plan plan = plan_of(second, both);
    EXPECT_EQ(count(plan).found, 0u);
    EXPECT_EQ(plan.str(), plan_of(second, empty).str());
  }
}

}  // namespace
}  // namespace frazil::test
