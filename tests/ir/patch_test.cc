#include "ir/edit/patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/graph/verify.h"
#include "ir/text/text.h"
#include "ops/control/control.h"
#include "ops/core/registry.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/elementwise/nn.h"
#include "ops/nn/norm.h"
#include "ops/view/view.h"

namespace frazil {
namespace {

using testing::HasSubstr;

/// A graph with its values and nodes by name.
struct Subject {
  explicit Subject(std::string_view text) : graph(read(text)) {}
  static Graph read(std::string_view text) {
    link_operators();
    auto g = parse(text);
    if (!g) ADD_FAILURE() << g.error().text() << "\n" << text;
    return g ? std::move(*g) : Graph{};
  }
  Value value(std::string_view name) const {
    for (std::uint32_t v = 0; v < graph.value_count(); ++v) {
      if (graph.value_name({v}) == name) return {v};
    }
    ADD_FAILURE() << "no value " << name;
    return {};
  }
  NodeId node(std::string_view name) const { return graph.producer(value(name)).value(); }

  Graph graph;
};

struct Edit {
  const char* name;
  const char* before;
  void (*apply)(const Subject& s, Patch& p);
  const char* after;  ///< the resulting text, or the end of the error message if it does not start with "graph"
};

const char* const kChain = R"(graph g(%x: f32[N]) {
  %a: f32[N] = Relu(%x) "first"
  %b: f32[N] = Neg(%a) "second"
  return y = %b
}
)";

const char* const kBranch = R"(graph g(%c: bool[], %x: f32[2]) {
  %o: f32[2] = Abs(%x)
  %r: f32[2] = If(%c) then_branch() {
    %t: f32[2] = Neg(%o)
    %u: f32[2] = Exp(%t)
    yield %u
  } else_branch() {
    yield %o
  }
  return r = %r
}
)";

const Edit kEdits[] = {
    {"NoChange", kChain, [](const Subject&, Patch&) {}, kChain},
    {"ReplaceAndRemove", kChain,
     [](const Subject& s, Patch& p) {
       const Expr with[] = {ops::Sigmoid(p.tap(s.value("x")))};
       p.replace_node(s.node("a"), with);
     },
     R"(graph g(%x: f32[N]) {
  %a: f32[N] = Sigmoid(%x) "first"
  %b: f32[N] = Neg(%a) "second"
  return y = %b
}
)"},
    {"WrapAValueThatIsTapped", kChain,
     [](const Subject& s, Patch& p) { p.replace(s.value("a"), ops::Mul(p.tap(s.value("a")), p.build().scalar(2.0f))); },
     R"(graph g(%x: f32[N]) {
  %a: f32[N] = Relu(%x) "first"
  %1: f32[N] = Mul(%a, f32[] 2) "first"
  %b: f32[N] = Neg(%1) "second"
  return y = %b
}
)"},
    {"ReplaceAnInput", kChain,
     [](const Subject& s, Patch& p) { p.replace(s.value("x"), ops::Abs(p.tap(s.value("x")))); },
     R"(graph g(%x: f32[N]) {
  %1: f32[N] = Abs(%x)
  %a: f32[N] = Relu(%1) "first"
  %b: f32[N] = Neg(%a) "second"
  return y = %b
}
)"},
    {"ReplaceByAnOlderValue", kChain,
     [](const Subject& s, Patch& p) {
       const Expr with[] = {p.tap(s.value("x"))};
       p.replace_node(s.node("a"), with);
     },
     R"(graph g(%x: f32[N]) {
  %b: f32[N] = Neg(%x) "second"
  return y = %b
}
)"},
    {"ReplaceByAConstant", kChain,
     [](const Subject& s, Patch& p) { p.replace(s.value("b"), p.build().constant(Tensor::of<float>({2}, {1, 2}))); },
     R"(graph g(%x: f32[N]) {
  %a: f32[N] = Relu(%x) "first"
  %b: f32[N] = Neg(%a) "second"
  return y = f32[2] [1, 2]
}
)"},
    {"NewNodesStandWhereTheyAreNeeded", kBranch,
     [](const Subject& s, Patch& p) { p.replace(s.value("t"), ops::Sqrt(ops::Relu(p.tap(s.value("x"))))); },
     R"(graph g(%c: bool[], %x: f32[2]) {
  %o: f32[2] = Abs(%x)
  %r: f32[2] = If(%c) then_branch() {
    %1: f32[2] = Neg(%o)
    %2: f32[2] = Relu(%x)
    %t: f32[2] = Sqrt(%2)
    %u: f32[2] = Exp(%t)
    yield %u
  } else_branch() {
    yield %o
  }
  return r = %r
}
)"},
    {"UsesInNestedBlocksFollow", kBranch,
     [](const Subject& s, Patch& p) { p.replace(s.value("o"), ops::Ceil(p.tap(s.value("o")))); },
     R"(graph g(%c: bool[], %x: f32[2]) {
  %o: f32[2] = Abs(%x)
  %1: f32[2] = Ceil(%o)
  %r: f32[2] = If(%c) then_branch() {
    %t: f32[2] = Neg(%1)
    %u: f32[2] = Exp(%t)
    yield %u
  } else_branch() {
    yield %1
  }
  return r = %r
}
)"},
    {"SharedNodesStandOutside", kBranch,
     [](const Subject& s, Patch& p) {
       const Expr shared = ops::Floor(p.tap(s.value("x")));
       p.replace(s.value("t"), ops::Neg(shared));
       p.replace(s.value("r"), ops::Add(p.tap(s.value("r")), shared));
     },
     R"(graph g(%c: bool[], %x: f32[2]) {
  %o: f32[2] = Abs(%x)
  %1: f32[2] = Floor(%x)
  %r: f32[2] = If(%c) then_branch() {
    %2: f32[2] = Neg(%o)
    %t: f32[2] = Neg(%1)
    %u: f32[2] = Exp(%t)
    yield %u
  } else_branch() {
    yield %o
  }
  %3: f32[2] = Add(%r, %1)
  return r = %3
}
)"},
    {"NewRegionsMoveWithTheirBlocks", kBranch,
     [](const Subject& s, Patch& p) {
       Builder& b = p.build();
       const Expr u = p.tap(s.value("u"));
       const NodeId node = b.open(ops::If, {s.value("c")}, nullptr, {0, 0}, "new").value();
       Builder inner(b.graph(), b.graph().node(node).blocks[0]);
       b.yield(node, 0, {ops::Neg({Expr{&inner, u.value}}).value});
       b.yield(node, 1, {u.value});
       ASSERT_TRUE(b.close(node, {true}));
       p.replace(u.value, {&b, b.graph().node(node).out[0]});
     },
     R"(graph g(%c: bool[], %x: f32[2]) {
  %o: f32[2] = Abs(%x)
  %r: f32[2] = If(%c) then_branch() {
    %t: f32[2] = Neg(%o)
    %u: f32[2] = Exp(%t)
    %1: f32[2] = If(%c) then_branch() {
      %2: f32[2] = Neg(%u)
      yield %2
    } else_branch() {
      yield %u
    } "new"
    yield %1
  } else_branch() {
    yield %o
  }
  return r = %r
}
)"},
    {"InputsAndOutputs", kChain,
     [](const Subject& s, Patch& p) {
       Builder& b = p.build();
       const Expr k = b.input("k", Type::tensor(Elem::f32));
       b.output("debug", ops::Mul(p.tap(s.value("a")), k));
       p.remove_graph_output("y");
       p.remove(s.node("b"));
     },
     R"(graph g(%x: f32[N], %k: f32[]) {
  %a: f32[N] = Relu(%x) "first"
  %1: f32[N] = Mul(%a, %k)
  return debug = %1
}
)"},
    {"AttributesAndNames",
     "graph g(%x: f32[2,3]) { %y = Transpose(%x) {perm = [1, 0]} %z = Softmax(%y) return z = %z }",
     [](const Subject& s, Patch& p) {
       p.set_attribute(s.node("y"), "perm", Ints{0, 1});
       p.set_attribute(s.node("z"), "axis", std::int64_t{0});
       p.rename(s.node("z"), "new name");
     },
     R"(graph g(%x: f32[2,3]) {
  %y: f32[2,3] = Transpose(%x) {perm = [0, 1]}
  %z: f32[2,3] = Softmax(%y) {axis = 0} "new name"
  return z = %z
}
)"},
    {"UnusedOutputs", "graph g(%x: f32[4]) { %v, %i = TopK(%x, i64[1] [2]) return v = %v }",
     [](const Subject& s, Patch& p) { p.drop_output(s.node("i"), 1); },
     R"(graph g(%x: f32[4]) {
  %v: f32[2], _ = TopK(%x, i64[1] [2])
  return v = %v
}
)"},
    {"AnotherElementType", kChain,
     [](const Subject& s, Patch& p) { p.replace(s.value("a"), ops::Cast({p.tap(s.value("a"))}, {.to = Elem::i64})); },
     "patch 'edit': %a: i64[N] cannot replace f32[N]: another element type"},
    {"AnotherRank", kChain,
     [](const Subject& s, Patch& p) { p.replace(s.value("a"), p.build().constant(Tensor::scalar(1.0f))); },
     "patch 'edit': %a: f32[] cannot replace f32[N]: another rank"},
    {"AnotherExtent", kBranch,
     [](const Subject& s, Patch& p) { p.replace(s.value("t"), p.build().constant(Tensor::of<float>({1}, {1}))); },
     "patch 'edit': %t: f32[1] cannot replace f32[2]: another extent of axis 0"},
    {"ReplacedTwice", kChain,
     [](const Subject& s, Patch& p) {
       p.replace(s.value("a"), p.tap(s.value("x")));
       p.replace(s.value("a"), p.tap(s.value("x")));
     },
     "%a is replaced twice"},
    {"StillUsed", kChain, [](const Subject& s, Patch& p) { p.remove(s.node("a")); },
     "output 0 of node 'first' (Relu) is still used"},
    {"NoOutputLeft", "graph g(%x: f32[4]) { %y = Relu(%x) return x = %x }",
     [](const Subject& s, Patch& p) { p.drop_output(s.node("y"), 0); }, "(Relu) would have no output left"},
    {"UsedBeforeItIsMade", kChain, [](const Subject& s, Patch& p) { p.replace(s.value("x"), p.tap(s.value("b"))); },
     "node 'first' (Relu): input 0 is not defined there, it comes from node 'second' (Neg)"},
    {"ValuesOfAnInnerBlock", kBranch,
     [](const Subject& s, Patch& p) { p.replace(s.value("r"), ops::Neg(p.tap(s.value("u")))); },
     "is not defined there, it comes from node #"},
    {"FailedNode", kBranch,
     [](const Subject& s, Patch& p) {
       p.replace(s.value("r"), ops::Add(p.tap(s.value("r")), p.build().constant(Tensor::of<float>({3}, {1, 2, 3}))));
     },
     "shapes [2] and [3] do not broadcast"},
    {"BadAttribute", kChain, [](const Subject& s, Patch& p) { p.set_attribute(s.node("a"), "axis", std::int64_t{0}); },
     "node 'first' (Relu) has no attribute 'axis'"},
    {"UnknownValue", kChain, [](const Subject&, Patch& p) { p.tap({77}); }, "value 77 is not one of the graph"},
    {"UnknownNode", kChain, [](const Subject&, Patch& p) { p.remove({77}); }, "node 77 is not one of the graph"},
    {"AnotherPatch", kChain,
     [](const Subject& s, Patch& p) {
       Patch other(s.graph, "other");
       p.replace(s.value("a"), other.tap(s.value("x")));
     },
     "%a: its replacement does not belong to this patch"},
};

class PatchEdit : public testing::TestWithParam<Edit> {};

TEST_P(PatchEdit, Commits) {
  const Edit& e = GetParam();
  const Subject subject(e.before);
  const std::string before = print(subject.graph);
  Patch patch(subject.graph, "edit");
  e.apply(subject, patch);
  SCOPED_TRACE(patch.str());
  const auto after = std::move(patch).commit();
  EXPECT_EQ(print(subject.graph), before);
  if (!std::string_view(e.after).starts_with("graph")) {
    ASSERT_FALSE(after) << print(*after);
    EXPECT_THAT(after.error().text(), testing::StartsWith("patch 'edit': "));
    EXPECT_THAT(after.error().text(), HasSubstr(e.after));
    return;
  }
  ASSERT_TRUE(after) << after.error().text();
  EXPECT_EQ(print(*after), e.after);
  const Status verified = verify(*after, 3);
  EXPECT_TRUE(verified) << verified.error().text();
}

INSTANTIATE_TEST_SUITE_P(All, PatchEdit, testing::ValuesIn(kEdits), [](const auto& p) { return p.param.name; });

TEST(Patch, StableIdsSurvive) {
  const Subject s(kChain);
  Patch patch(s.graph, "wrap");
  patch.replace(s.value("a"), ops::Abs(patch.tap(s.value("a"))));
  EXPECT_EQ(patch.str(), "patch 'wrap': 1 new node (Abs); %a replaced");
  const Graph after = std::move(patch).commit().value();
  const auto& nodes = after.main().nodes;
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(after.node(nodes[0]).stable, s.graph.node(s.node("a")).stable);
  EXPECT_EQ(after.node(nodes[2]).stable, s.graph.node(s.node("b")).stable);
}

TEST(Patch, ManyInARow) {
  Graph graph = Subject(kChain).graph;
  for (int i = 0; i < 50; ++i) {
    Patch patch(graph, "again");
    const Value last = graph.main().results[0];
    patch.replace(last, ops::Abs(patch.tap(last)));
    auto next = std::move(patch).commit();
    ASSERT_TRUE(next) << next.error().text();
    graph = std::move(*next);
  }
  EXPECT_EQ(graph.node_count(), 52u);
  EXPECT_TRUE(verify(graph, 3));
}

/// Rows of removed nodes and constants stay for a while only: a graph that is edited again and again does not grow.
TEST(Patch, ManyThatReplaceTheSameNode) {
  Subject s(kChain);
  std::size_t most = 0;
  for (int i = 0; i < 3000; ++i) {
    Patch p(s.graph, "again");
    const NodeId old = s.graph.producer(s.graph.main().results[0]).value();
    const Expr scaled = ops::Mul(p.tap(s.graph.node(old).in[0]), p.build().scalar(static_cast<float>(i)));
    const Expr with[] = {scaled};
    p.replace_node(old, with);
    auto made = std::move(p).commit();
    ASSERT_TRUE(made) << made.error().text();
    s.graph = *std::move(made);
    most = std::max(most, s.graph.value_count());
  }
  EXPECT_LT(most, 1000U);
  EXPECT_THAT(print(s.graph), HasSubstr("Mul(%a, f32[] 2999)"));
}

}  // namespace
}  // namespace frazil
