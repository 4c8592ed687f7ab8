#include "ir/graph/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/edit/graph_writer.h"
#include "ir/text/text.h"
#include "ops/control/control.h"
#include "ops/core/registry.h"
#include "ops/elementwise/nn.h"

namespace frazil {
namespace {

using testing::HasSubstr;

Type vector_type(Builder& b) { return Type::tensor(Elem::f32, {b.dim("N")}); }

struct Mistake {
  const char* name;
  void (*make)(Graph& graph);
  const char* message;
};

/// Graphs that only a bug can produce, built without the checks of Builder.
const Mistake kFaults[] = {
    {"TwoInputsOfOneName",
     [](Graph& g) {
       Builder b(g);
       b.input("x", vector_type(b));
       b.input("x", vector_type(b));
     },
     "two inputs are called 'x'"},
    {"TwoOutputsOfOneName",
     [](Graph& g) {
       Builder b(g);
       const Expr x = b.input("x", vector_type(b));
       b.output("y", x);
       b.output("y", x);
     },
     "two outputs are called 'y'"},
    {"ResultOfAnInnerBlock",
     [](Graph& g) {
       Builder b(g);
       const Expr c = b.input("c", Type::tensor(Elem::boolean));
       const Expr x = b.input("x", vector_type(b));
       const NodeId node = b.open(ops::If, {c.value}, nullptr, {0, 0}, "branch").value();
       Builder inner(g, g.node(node).blocks[0]);
       const Expr y = inner.add(ops::Relu, std::vector{x}, nullptr, 1, "leaky")[0];
       b.yield(node, 0, {y.value});
       b.yield(node, 1, {x.value});
       ASSERT_TRUE(b.close(node, {true}));
       b.output("y", {&b, y.value});
     },
     "the graph: block result 0 is not defined there, it comes from node 'leaky' (Relu)"},
};

class VerifyFault : public testing::TestWithParam<Mistake> {};

TEST_P(VerifyFault, IsFound) {
  link_operators();
  Graph graph;
  GetParam().make(graph);
  const Status s = verify(graph, 1);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code, Code::internal);
  EXPECT_THAT(s.error().text(), HasSubstr(GetParam().message));
  EXPECT_TRUE(verify(graph, 0));
}

INSTANTIATE_TEST_SUITE_P(All, VerifyFault, testing::ValuesIn(kFaults), [](const auto& p) { return p.param.name; });

TEST(Verify, TypesThatAreNotInferredAreFound) {
  Graph graph;
  Builder b(graph);
  const Expr x = b.input("x", Type::tensor(Elem::f32, {4}));
  const Expr y = ops::Relu(x);
  b.output("y", y);
  GraphWriter(graph).set_type(y.value, Type::tensor(Elem::f32, {5}));
  EXPECT_TRUE(verify(graph, 1));
  const Status s = verify(graph, 2);
  ASSERT_FALSE(s);
  EXPECT_THAT(s.error().text(), HasSubstr("(Relu): result 0 is f32[5], but is inferred as f32[4]"));
}

TEST(Verify, SpacesAndMapsStayWithTheirNodes) {
  link_operators();
  auto graph = parse(R"(graph g(%x: f32[N, 4], %w: f32[4, 3]) {
    %y = MatMul(%x, %w)
    %z = Transpose(%y)
    return z = %z
  })");
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_TRUE(verify(*graph, 1));
  const NodeId product = graph->main().nodes[0], view = graph->main().nodes[1];
  Graph without_space = *graph, without_maps = *graph;
  GraphWriter(without_space).node(product).space.reset();
  GraphWriter(without_maps).node(view).views.reset();
  const Status s = verify(without_space, 1), v = verify(without_maps, 1);
  ASSERT_FALSE(s);
  EXPECT_THAT(s.error().text(), HasSubstr("(MatMul): it has no iteration space"));
  ASSERT_FALSE(v);
  EXPECT_THAT(v.error().text(), HasSubstr("(Transpose): it has maps for 0 of 1 results"));
}

TEST(Verify, CopiesKeepDataDependentSymbols) {
  link_operators();
  const auto graph = parse(R"(graph g(%x: f32[N], %y: f32[M]) {
    %i = NonZero(%x)
    %j = NonZero(%y)
    %k = Concat(%j, %i) {axis = 1}
    return k = %k
  })");
  ASSERT_TRUE(graph) << graph.error().text();
  for (int level = 0; level <= 3; ++level) EXPECT_TRUE(verify(*graph, level)) << level;
}

}  // namespace
}  // namespace frazil
