#include "debug/compare.h"

#include <gmock/gmock.h>

#include "debug/reduce.h"
#include "debug/ways.h"
#include "ir/edit/patch.h"
#include "ops/elementwise/math.h"
#include "ops/elementwise/nn.h"

// Two ways to run a graph are compared value by value; what fails is cut out of a graph.
namespace frazil::test {
namespace {

using debug::Comparison;
using debug::Recording;
using ::testing::HasSubstr;

constexpr std::uint64_t kMaximum = 1 << 20;

Recording recorded(std::string_view text, std::string_view bindings, bool reference = false) {
  auto recording = debug::record(parsed(text), ways(reference), inputs(bindings), kMaximum);
  if (!recording) throw std::runtime_error(recording.error().text());
  return *std::move(recording);
}

constexpr std::string_view kGraph =
    "graph g(%x: f32[2]) { %a = Add(%x, f32[] 1) \"add\" %b = Mul(%a, f32[] 2) \"mul\" %c = Neg(%b) \"neg\" "
    "return y = %c }";

TEST(Compare, TiersAgree) {
  const Comparison c =
      debug::compare(recorded(kGraph, "x = f32[2] [1, 2]"), recorded(kGraph, "x = f32[2] [1, 2]", true), {});
  EXPECT_FALSE(c.first);
  EXPECT_GE(c.compared, 3u);
  EXPECT_EQ(c.only_a + c.only_b, 0u);
}

TEST(Compare, TheFirstValueThatDiffersIsNamed) {
  const std::string other =
      "graph g(%x: f32[2]) { %a = Add(%x, f32[] 1) \"add\" %b = Mul(%a, f32[] 3) \"mul\" %c = Neg(%b) \"neg\" "
      "return y = %c }";
  const Comparison c = debug::compare(recorded(kGraph, "x = f32[2] [1, 2]"), recorded(other, "x = f32[2] [1, 2]"), {});
  ASSERT_TRUE(c.first);
  EXPECT_EQ(c.first->name, "b");
  EXPECT_EQ(c.first->node, "node 'mul' (Mul)");
  EXPECT_THAT(c.first->what, HasSubstr("got 4, expected 6"));
  EXPECT_EQ(c.apart, 3u);  // b, c, and the output y
}

TEST(Compare, IterationsAreNamed) {
  const auto loop = [](const char* step) {
    return fmt::format(
        "graph g(%n: i64[], %x: f32[]) {{ %r = Loop(%n, _, %x) body(%i: i64[], %go: bool[], %h: f32[]) {{ "
        "%f = Cast(%i) {{to = f32}} %d = {} \"d\" yield %go, %d }} \"loop\" return y = %r }}",
        step);
  };
  const Comparison c = debug::compare(recorded(loop("Add(%h, %f)"), "n = i64[] 3, x = f32[] 1"),
                                      recorded(loop("Add(%h, f32[] 0)"), "n = i64[] 3, x = f32[] 1"), {});
  ASSERT_TRUE(c.first);
  EXPECT_EQ(c.first->name, "d");
  EXPECT_EQ(c.first->iterations, std::vector<std::int64_t>{1});
}

TEST(Compare, ARecordingHasALimit) {
  const auto recording = debug::record(parsed(kGraph), ways(), inputs("x = f32[2] [1, 2]"), 10);
  ASSERT_TRUE(recording);
  ASSERT_FALSE(recording->status);
  EXPECT_EQ(recording->status.error().code, Code::limit);
}

/// Runs graphs with each Neg replaced by a Relu: a tier with a wrong kernel.
debug::Backend wrong_negation() {
  debug::Backend wrong = ways();
  wrong.make = [](std::shared_ptr<const Graph> graph) -> Result<std::shared_ptr<exec::Executable>> {
    Patch patch(*graph, "a wrong kernel");
    for (std::uint32_t n = 0; n < graph->node_count(); ++n) {
      const Node& node = graph->node(NodeId{n});
      if (node.op->name != "Neg") continue;
      patch.replace(node.out[0], ops::Relu(patch.tap(node.in[0])));
    }
    FRAZIL_TRY(Graph edited, std::move(patch).commit());
    return exec::Executable::make(std::make_shared<const Graph>(std::move(edited)));
  };
  return wrong;
}

TEST(Reduce, TheNodeWithTheWrongKernelIsLeft) {
  const auto graph = parsed(
      "graph g(%x: f32[N], %w: f32[]) { %a = Add(%x, %w) \"add\" %b = Mul(%a, f32[] 2) \"mul\" %c = Neg(%b) \"neg\" "
      "%d = Exp(%c) \"exp\" return y = %d }");
  const auto given = inputs("x = f32[3] [1, 2, 3], w = f32[] 1");
  const auto reduced = debug::reduce(graph, {wrong_negation(), ways(true), {}, kMaximum}, given);
  ASSERT_TRUE(reduced) << reduced.error().text();
  EXPECT_THAT(print(reduced->graph), HasSubstr("Neg(%b)"));
  EXPECT_EQ(reduced->graph.node_count(), 1u);
  ASSERT_EQ(reduced->inputs.size(), 1u);
  EXPECT_EQ(text_of(reduced->inputs[0]), "f32[3] [4, 6, 8]");
  EXPECT_THAT(reduced->why, HasSubstr("value 'c'"));
}

TEST(Reduce, AlsoInsideABody) {
  const auto graph = parsed(
      "graph g(%n: i64[], %x: f32[2]) { %r = Loop(%n, _, %x) body(%i: i64[], %go: bool[], %h: f32[2]) { "
      "%d = Add(%h, %x) \"add\" %e = Neg(%d) \"neg\" yield %go, %e } \"loop\" return y = %r }");
  const auto given = inputs("n = i64[] 3, x = f32[2] [1, 2]");
  const auto reduced = debug::reduce(graph, {wrong_negation(), ways(true), {}, kMaximum}, given);
  ASSERT_TRUE(reduced) << reduced.error().text();
  EXPECT_EQ(reduced->graph.node_count(), 1u);
  EXPECT_EQ(text_of(reduced->inputs[0]), "f32[2] [2, 4]");
}

TEST(Reduce, ANodeWithABodyStaysWhole) {
  const auto graph = parsed(
      "graph g(%c: bool[], %x: f32[2]) { %a = Abs(%x) \"abs\" %r = If(%c) then_branch() { %n = Neg(%a) \"neg\" "
      "%m = Neg(%n) \"again\" yield %m } else_branch() { yield %a } \"if\" %y = Exp(%r) \"exp\" return y = %y }");
  debug::Backend wrong = ways();
  wrong.make = [](std::shared_ptr<const Graph> g) -> Result<std::shared_ptr<exec::Executable>> {
    Patch patch(*g, "a wrong If");
    for (std::uint32_t n = 0; n < g->node_count(); ++n) {
      const Node& node = g->node(NodeId{n});
      if (node.op->name == "If") patch.replace(node.out[0], ops::Sqrt(patch.tap(node.out[0])));
    }
    FRAZIL_TRY(Graph edited, std::move(patch).commit());
    return exec::Executable::make(std::make_shared<const Graph>(std::move(edited)));
  };
  const auto reduced =
      debug::reduce(graph, {wrong, ways(true), {}, kMaximum}, inputs("c = bool[] true, x = f32[2] [4, 9]"));
  ASSERT_TRUE(reduced) << reduced.error().text();
  EXPECT_THAT(print(reduced->graph), HasSubstr("If(%c)"));
  EXPECT_EQ(reduced->graph.input_names(), (std::vector<std::string>{"c", "a"}));
}

TEST(Reduce, AModelThatDoesNotFail) {
  const auto reduced = debug::reduce(parsed(kGraph), {ways(), ways(true), {}, kMaximum}, inputs("x = f32[2] [1, 2]"));
  ASSERT_FALSE(reduced);
  EXPECT_EQ(reduced.error().code, Code::bad_input);
}

}  // namespace
}  // namespace frazil::test
