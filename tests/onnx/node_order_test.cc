// Files whose nodes do not stand behind those that they read: sorted ones keep their order, others are sorted, and a
// cycle is an error.
#include <algorithm>
#include <random>

#include "import_testing.h"
#include "ir/text/text.h"
#include "ref/ref.h"

namespace frazil::test {
namespace {

using testing::HasSubstr;

const std::vector<Message> kVectorAndCondition = {f32("x", {"2"}), value("c", tensor_type(Elem::boolean, {}))};

GraphSpec graph_over_both(std::vector<NodeSpec> nodes, const Names& outputs) {
  GraphSpec spec{.nodes = std::move(nodes), .inputs = kVectorAndCondition, .outputs = {}};
  for (const std::string& name : outputs) spec.outputs.push_back(value(name));
  return spec;
}
Message subgraph(std::vector<NodeSpec> nodes, const std::string& output, const std::vector<Message>& inputs = {}) {
  return graph({.nodes = std::move(nodes), .inputs = inputs, .outputs = {value(output)}});
}
NodeSpec named_if(const Message& then_branch, const Message& else_branch, const std::string& name,
                  const std::string& gives) {
  return {"If", {"c"}, {gives}, {graph_attr("then_branch", then_branch), graph_attr("else_branch", else_branch)}, name};
}

std::string node_names(const Graph& g, BlockId subgraph = Graph::kMain) {
  std::string names;
  for (const NodeId id : g.block(subgraph).nodes) names += (names.empty() ? "" : " ") + std::string(g.node(id).name);
  return names;
}
/// The names of the nodes in the order in which these are imported.
std::string order_of(std::vector<NodeSpec> nodes, const Names& outputs) {
  return node_names(imported(import(graph_over_both(std::move(nodes), outputs))));
}
NodeSpec neg(const std::string& in, const std::string& out, const std::string& name) {
  return {"Neg", {in}, {out}, {}, name};
}

TEST(NodeOrder, SortedFilesKeepTheirs) {
  EXPECT_EQ(order_of({neg("x", "a", "1"),
                      neg("x", "b", "2"),
                      neg("a", "u", "3"),
                      neg("x", "v", "4"),
                      {"Add", {"b", "u"}, {"z"}, {}, "5"}},
                     {"z", "v"}),
            "1 2 3 4 5");
}

TEST(NodeOrder, NodesMoveOnlyInFrontOfTheFirstThatNeedsThem) {
  EXPECT_EQ(order_of({neg("x", "a", "1"),
                      {"Add", {"w", "v"}, {"z"}, {}, "2"},
                      neg("x", "b", "3"),
                      neg("u", "v", "4"),
                      neg("b", "d", "5"),
                      neg("x", "w", "6"),
                      neg("x", "u", "7")},
                     {"z", "a", "d"}),
            "1 6 7 4 2 3 5");
}

TEST(NodeOrder, WhatABranchReadsFromOutsideIsReadByItsNode) {
  const Message good = subgraph({neg("x", "r", "g")}, "r");
  EXPECT_EQ(
      order_of({named_if(good, subgraph({neg("w", "r", "inner")}, "r"), "if", "z"), neg("x", "w", "late")}, {"z"}),
      "late if");
  EXPECT_EQ(order_of({named_if(good, subgraph({}, "w"), "if", "z"), neg("x", "w", "late")}, {"z"}), "late if")
      << "as a result";
  const Message deep = subgraph({named_if(good, subgraph({neg("w", "r", "inner")}, "r"), "second", "s")}, "s");
  EXPECT_EQ(order_of({named_if(deep, good, "first", "z"), neg("v", "w", "late"), neg("x", "v", "last")}, {"z"}),
            "last late first");
}

TEST(NodeOrder, SubgraphsAreSortedThemselves) {
  const Message side = subgraph({neg("b", "r", "2"), neg("w", "b", "1")}, "r");
  const Message inner = subgraph({named_if(side, side, "b", "s"), neg("t", "w", "a")}, "s");
  const Graph g = imported(import(graph_over_both({named_if(inner, inner, "if", "z"), neg("x", "t", "late")}, {"z"})));
  EXPECT_EQ(node_names(g), "late if");
  for (const BlockId branch : node_at(g, 1).blocks) {
    EXPECT_EQ(node_names(g, branch), "a b");
    for (const BlockId inside : node_at(g, 1, branch).blocks) EXPECT_EQ(node_names(g, inside), "1 2");
  }
}

TEST(NodeOrder, LoopBodies) {
  const Message body = graph({.nodes = {{"Add", {"v", "s"}, {"w"}, {}, "2"}, {"Mul", {"v", "outer"}, {"s"}, {}, "1"}},
                              .inputs = {value("k"), value("on"), value("v")},
                              .outputs = {value("on"), value("w")}});
  const Graph g = imported(
      import({.nodes = {{"Loop", {"n", "", "x"}, {"z"}, {graph_attr("body", body)}, "loop"}, neg("x", "outer", "late")},
              .inputs = {f32("x", {"2"}), value("n", tensor_type(Elem::i64, {}))},
              .outputs = {value("z")}}));
  EXPECT_EQ(node_names(g), "late loop");
  EXPECT_EQ(node_names(g, node_at(g, 1).blocks[0]), "1 2");
}

TEST(NodeOrder, FunctionBodiesAndTheirDefaults) {
  FunctionSpec twice{
      .name = "f",
      .inputs = {"p"},
      .outputs = {"q"},
      .attributes = {},
      .nodes = {{"If", {"on"}, {"q"}, {ref_attr("then_branch", 5, "g"), ref_attr("else_branch", 5, "g")}},
                neg("p", "t", "late"),
                {"Constant", {}, {"on"}, {attr("value", Tensor::scalar(true))}}},
      .defaults = {graph_attr("g", subgraph({neg("u", "r", "2"), neg("t", "u", "1")}, "r"))}};
  const GraphSpec spec{.nodes = {{"f", {"w"}, {"z"}, {}, "call", "local"}, neg("x", "w", "late")},
                       .inputs = kVectorAndCondition,
                       .outputs = {value("z")}};
  const Graph g = imported(import(spec, {.functions = {twice}}));
  EXPECT_EQ(op_names(g), "Neg Neg If");
  EXPECT_EQ(node_at(g, 1).name, "call/late");
  EXPECT_EQ(node_at(g, 0, node_at(g, 2).blocks[0]).name, "call/1");
}

TEST(NodeOrder, InnerNamesHideOuterOnesFromTheirPlaceOn) {
  const Message hides = subgraph({neg("w", "a", "1"), neg("a", "w", "2"), neg("w", "r", "3")}, "r");
  Graph g = imported(import(graph_over_both({neg("x", "w", "outer"), named_if(hides, hides, "if", "z")}, {"z", "w"})));
  const BlockId sorted = node_at(g, 1).blocks[0];
  EXPECT_EQ(node_names(g, sorted), "1 2 3");
  EXPECT_EQ(node_at(g, 0, sorted).in[0], node_at(g, 0).out[0]);

  const Message own = subgraph({neg("w", "r", "2"), neg("x", "w", "1")}, "r");
  g = imported(import(graph_over_both({named_if(own, own, "if", "z"), neg("x", "w", "outer")}, {"z", "w"})));
  EXPECT_EQ(node_names(g), "if outer");
  EXPECT_EQ(node_names(g, node_at(g, 0).blocks[0]), "1 2");
}

TEST(NodeOrder, InputsOfASubgraphAreItsOwn) {
  const Message row = subgraph({neg("v", "w", "inner")}, "w", {value("v")});
  const NodeSpec scan{"Scan", {"x"}, {"z"}, {graph_attr("body", row), attr("num_scan_inputs", 1)}, "scan"};
  EXPECT_EQ(order_of({scan, neg("z", "v", "after")}, {"v"}), "scan after");
}

TEST(NodeOrder, NamesAreStillDefinedOnce) {
  const auto twice =
      import(graph_over_both({neg("a", "z", "reads"), neg("x", "a", "one"), neg("x", "a", "two")}, {"z"}));
  expect_fault(twice, Code::bad_model, {"node 'two' (Neg)", "'a' is defined already"});
  const auto input =
      import(graph_over_both({neg("a", "z", "reads"), neg("x", "a", "one"), neg("a", "x", "two")}, {"z"}));
  expect_fault(input, Code::bad_model, {"node 'two' (Neg)", "'x' is defined already"});
}

TEST(NodeOrder, CyclesAreNamed) {
  expect_fault(import(graph_over_both({neg("b", "a", "1"), neg("d", "b", "2"), neg("a", "d", "3")}, {"a"})),
               Code::bad_model,
               {"the nodes form a cycle: node '1' (Neg) reads 'b' of node '2' (Neg), node '2' (Neg) reads 'd' of node "
                "'3' (Neg), node '3' (Neg) reads 'a' of node '1' (Neg)"});
  const Message side = subgraph({neg("w", "r", "inner")}, "r");
  expect_fault(import(graph_over_both({named_if(side, side, "if", "z"), neg("z", "w", "after")}, {"z"})),
               Code::bad_model,
               {"node 'inner' (Neg) reads 'w' of node 'after' (Neg), node 'after' (Neg) reads 'z' of node 'if' (If)"});
  expect_fault(import(graph_over_both({named_if(subgraph({}, "z"), side, "if", "z"), neg("x", "w", "after")}, {"z"})),
               Code::bad_model, {"node 'if' (If) reads 'z' of node 'if' (If)"});
  const Message ring = subgraph({neg("b", "r", "1"), neg("r", "b", "2")}, "r");
  expect_fault(import(graph_over_both({named_if(ring, side, "if", "z"), neg("x", "w", "late")}, {"z"})),
               Code::bad_model, {"node 'if' (If), attribute 'then_branch': the nodes form a cycle: node '1' (Neg)"});
}

constexpr std::size_t kMany = 100'000;

std::vector<NodeSpec> chain() {
  std::vector<NodeSpec> nodes;
  for (std::size_t i = 0; i < kMany; ++i) {
    nodes.push_back(neg(i == 0 ? "x" : fmt::format("v{}", i - 1), fmt::format("v{}", i), fmt::format("{}", i)));
  }
  return nodes;
}

TEST(NodeOrder, OfManyReversedNodes) {
  std::vector<NodeSpec> nodes = chain();
  std::ranges::reverse(nodes);
  const Graph g = imported(import(graph_over_both(nodes, {"v99999"})));
  ASSERT_EQ(g.main().nodes.size(), kMany);
  for (std::size_t i = 1; i < kMany; ++i) ASSERT_EQ(node_at(g, i).in[0], node_at(g, i - 1).out[0]) << i;
}

TEST(NodeOrder, OfManyNodesInACycle) {
  std::vector<NodeSpec> nodes = chain();
  nodes[0].inputs = {"v99999"};
  expect_fault(import(graph_over_both(nodes, {"v0"})), Code::bad_model,
               {"node '0' (Neg) reads 'v99999'", "and 99996 more"});
}

TEST(NodeOrder, OfManyNestedBranches) {
  constexpr int kDeep = 2'000;
  Message inner = subgraph({neg("w", "r", "innermost")}, "r");
  const Message other = subgraph({}, "x");
  for (int k = 0; k < kDeep; ++k) inner = subgraph({named_if(inner, other, fmt::format("if{}", k), "r")}, "r");
  const Graph g = imported(import(graph_over_both({named_if(inner, other, "top", "z"), neg("x", "w", "late")}, {"z"})));
  EXPECT_EQ(node_names(g), "late top");
}

/// A random graph of additions, each of two values before it; the last node comes last.
std::vector<NodeSpec> additions(std::mt19937& random, int count) {
  const auto earlier = [&](int i) {
    const int k = std::uniform_int_distribution(-1, i - 1)(random);
    return k < 0 ? std::string("x") : fmt::format("v{}", k);
  };
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < count; ++i) nodes.push_back({"Add", {earlier(i), earlier(i)}, {fmt::format("v{}", i)}});
  return nodes;
}

TEST(NodeOrder, AnyOrderMeansTheSame) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    constexpr int kCount = 40;
    std::vector<NodeSpec> nodes = additions(random, kCount);
    const auto result = [&] {
      const GraphSpec spec{.nodes = nodes,
                           .inputs = {value("x", tensor_type(Elem::i64, {}))},
                           .outputs = {value(fmt::format("v{}", kCount - 1))}};
      const std::vector<Datum> inputs{Tensor::scalar<std::int64_t>(1)};
      return run_reference(imported(import(spec)), inputs).value().at(0).tensor().integer_at(0);
    };
    const std::int64_t wanted = result();
    std::ranges::shuffle(nodes, random);
    EXPECT_EQ(result(), wanted) << "round " << round;
  }
}

}  // namespace
}  // namespace frazil::test
