// Names of values and nodes inside of inlined calls of model-local functions.
#include "import_testing.h"
#include "ir/edit/patch.h"
#include "ir/graph/names.h"
#include "ir/op/op.h"
#include "ops/elementwise/math.h"

namespace frazil::test {
namespace {

const FunctionSpec kOfTwoNodes{
    .name = "scaled",
    .inputs = {"data", "weight"},
    .outputs = {"result", "product"},
    .nodes = {{"Mul", {"data", "weight"}, {"product"}, {}, "scale"}, {"Relu", {"product"}, {"result"}, {}, "clip"}}};

Graph two_calls() {
  const auto call = [](const char* in, const char* out, const char* name) {
    return NodeSpec{"scaled", {in, "w"}, {out}, {}, name, "local"};
  };
  return imported(import({.nodes = {call("x", "h", "first"), call("h", "z", "second")},
                          .inputs = {f32("x", {"2"}), f32("w", {"2"})},
                          .outputs = {value("z")}},
                         {.functions = {kOfTwoNodes}}));
}

TEST(CallNames, AreThoseOfTheCallAndOfTheFunction) {
  const Graph graph = two_calls();
  const frazil::Names names(graph);
  for (std::uint32_t n = 0; n < graph.node_count(); ++n) {
    EXPECT_EQ(names.node(names.of(NodeId{n})).value(), NodeId{n});
    EXPECT_EQ(names.value(names.of(NodeId{n})).value(), graph.node(NodeId{n}).out[0]);
  }
  EXPECT_EQ(names.value("first").value(), names.value("h").value());
  EXPECT_EQ(names.value("second").value(), graph.main().results[0]);
  EXPECT_EQ(names.value("second/scale").value(), names.value("second/product").value());
  EXPECT_EQ(names.node("first/clip").value(), *graph.producer(names.value("h").value()));
  EXPECT_FALSE(names.value("scale"));
}

TEST(CallNames, APatchReplacesWhatACallGives) {
  const Graph graph = two_calls();
  const frazil::Names names(graph);
  Patch patch(graph, "negate");
  const Value first = names.value("first").value();
  patch.replace(first, ops::Neg(patch.tap(first)));
  const Graph edited = std::move(patch).commit().value();
  const frazil::Names after(edited);
  const Node& scale = edited.node(after.node("second/scale").value());
  EXPECT_EQ(edited.node(*edited.producer(scale.in[0])).op->name, "Neg");
}

}  // namespace
}  // namespace frazil::test
