#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/message_of.h"

namespace {

using frazil::Array;
using frazil::Body;
using frazil::Code;
using frazil::Dtype;
using frazil::Error;
using frazil::GraphBuilder;
using frazil::Model;
using frazil::Term;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(GraphBuilder, MakesAModel) {
  GraphBuilder graph("affine");
  Term x = graph.input("x", Dtype::f32, {"N", 2});
  Term w = graph.constant(Array::of<float>({2}, {10, 100}));
  graph.output("y", graph.op("Add", {graph.op("Mul", {x, w}), graph.scalar(1.0f)}));
  const Model model = graph.build();
  EXPECT_EQ(model.name(), "affine");
  EXPECT_THAT(model.operators(), ElementsAre("Add", "Mul"));

  auto session = model.open();
  const auto out = session.run({{"x", Array::of<float>({2, 2}, {1, 2, 3, 4})}});
  EXPECT_THAT(out["y"].sizes(), ElementsAre(2, 2));
  EXPECT_THAT(out["y"].values<float>(), ElementsAre(11, 201, 31, 401));
}

TEST(GraphBuilder, TakesAttributes) {
  GraphBuilder graph;
  Term x = graph.input("x", Dtype::i64, {2, 3});
  Term t = graph.op("Transpose", {x}, {{"perm", {1, 0}}});
  graph.output("y", graph.op("Concat", {t, t}, {{"axis", 1}}));
  auto session = graph.build().open();
  const auto out = session.run({{"x", Array::of<std::int64_t>({2, 3}, {1, 2, 3, 4, 5, 6})}});
  EXPECT_THAT(out[0].sizes(), ElementsAre(3, 4));
  EXPECT_THAT(out[0].values<std::int64_t>(), ElementsAre(1, 4, 1, 4, 2, 5, 2, 5, 3, 6, 3, 6));
}

TEST(GraphBuilder, TellsTypes) {
  GraphBuilder graph;
  Term x = graph.input("x", Dtype::f32, {"N", 3});
  EXPECT_EQ(graph.type(x), "f32[N,3]");
  EXPECT_EQ(graph.type(graph.op("Concat", {x, x}, {{"axis", 0}})), "f32[2*N,3]");
}

Model absolute_or_double() {
  GraphBuilder graph;
  Term x = graph.input("x", Dtype::f32, {"N"});
  Term flag = graph.input("flag", Dtype::boolean, {});
  const auto y = graph.if_else(
      flag, [&](Body& body) { return std::vector{body.op("Abs", {x})}; },
      [&](Body& body) { return std::vector{body.op("Add", {x, x})}; }, "choice");
  graph.output("y", y[0]);
  return graph.build();
}

TEST(GraphBuilder, IfTakesOneSide) {
  auto session = absolute_or_double().open();
  const auto x = Array::of<float>({2}, {-1, 2});
  EXPECT_THAT(session.run({{"x", x}, {"flag", Array::scalar(true)}})["y"].values<float>(), ElementsAre(1, 2));
  EXPECT_THAT(session.run({{"x", x}, {"flag", Array::scalar(false)}})["y"].values<float>(), ElementsAre(-2, 4));
}

Model powers() {
  GraphBuilder graph;
  Term n = graph.input("n", Dtype::i64, {});
  Term two = graph.scalar(2.0f);
  const auto y = graph.loop(
      n, {}, {graph.scalar(1.0f)},
      [&](Body& body, std::span<const Term> p) {
        Term next = body.op("Mul", {p[2], two});
        return std::vector{body.op("Identity", {p[1]}), next, next};
      },
      1, "doubling");
  graph.output("last", y[0]);
  graph.output("all", y[1]);
  return graph.build();
}

TEST(GraphBuilder, LoopCarriesAndCollects) {
  auto session = powers().open();
  const auto out = session.run({{"n", Array::scalar<std::int64_t>(4)}});
  EXPECT_EQ(out["last"].item<float>(), 16);
  EXPECT_THAT(out["all"].values<float>(), ElementsAre(2, 4, 8, 16));
  const auto none = session.run({{"n", Array::scalar<std::int64_t>(0)}});
  EXPECT_EQ(none["last"].item<float>(), 1);
  EXPECT_THAT(none["all"].sizes(), ElementsAre(0));
}

TEST(GraphBuilder, GraphsReadBackFromText) {
  const Model model = powers();
  const Model again = Model::from_text(model.text(), model.weights());
  EXPECT_EQ(again.text(), model.text());
}

TEST(GraphBuilder, FaultsNameTheNodeAndLeaveNoTrace) {
  GraphBuilder graph;
  Term x = graph.input("x", Dtype::f32, {"N", 3});
  Term y = graph.input("y", Dtype::f32, {"N", 4});
  const std::string text = message_of([&] { graph.op("Add", {x, y}, {}, "sum"); }, Code::bad_model);
  EXPECT_THAT(text, HasSubstr("'sum' (Add)"));
  EXPECT_THAT(message_of([&] { graph.op("Ad", {x, x}); }, Code::unsupported), HasSubstr("'Add'"));
  EXPECT_THAT(message_of([&] { graph.op("Softmax", {x}, {{"axes", 1}}); }, Code::bad_model), HasSubstr("'axis'"));
  EXPECT_THAT(message_of([&] { graph.op("Softmax", {x}, {{"axis", "one"}}); }, Code::bad_model),
              HasSubstr("'axis': expected int"));
  EXPECT_THAT(message_of([&] { graph.input("x", Dtype::f32, {}); }, Code::bad_model), HasSubstr("'x'"));
  graph.output("z", graph.op("Add", {x, x}));
  EXPECT_THAT(graph.build().operators(), ElementsAre("Add"));
}

TEST(GraphBuilder, TermsStayInTheirBody) {
  GraphBuilder graph, other;
  Term x = graph.input("x", Dtype::f32, {2});
  EXPECT_THAT(message_of([&] { other.op("Abs", {x}); }, Code::bad_input), HasSubstr("another graph"));
  Term flag = graph.input("flag", Dtype::boolean, {});
  Term leaked;
  const auto side = [&](Body& body) { return std::vector{leaked = body.op("Abs", {x})}; };
  graph.if_else(flag, side, side);
  EXPECT_THAT(message_of([&] { graph.op("Abs", {leaked}); }, Code::bad_input), HasSubstr("outside of its body"));
}

TEST(GraphBuilder, AFailedBodyIsTakenBack) {
  GraphBuilder graph;
  Term x = graph.input("x", Dtype::f32, {2});
  Term flag = graph.input("flag", Dtype::boolean, {});
  const auto good = [&](Body& body) { return std::vector{body.op("Abs", {x})}; };
  const auto bad = [&](Body& body) { return std::vector{body.op("Abs", {flag})}; };
  EXPECT_THROW(graph.if_else(flag, good, bad), Error);
  graph.output("y", graph.if_else(flag, good, good)[0]);
  EXPECT_THAT(graph.build().operators(), ElementsAre("Abs", "If"));
}

TEST(GraphBuilder, RegionsAreChecked) {
  GraphBuilder graph;
  Term x = graph.input("x", Dtype::f32, {2});
  const auto side = [&](Body&) { return std::vector{x}; };
  EXPECT_THAT(message_of([&] { graph.if_else({}, side, side); }, Code::bad_model), HasSubstr("'cond'"));
  EXPECT_THAT(message_of([&] { graph.if_else(x, side, side); }, Code::bad_model), HasSubstr("f32[2]"));
  EXPECT_THAT(message_of([&] { graph.op("If", {x}); }, Code::bad_input), HasSubstr("bodies"));
}

TEST(Patch, InsertsBehindAValue) {
  GraphBuilder graph;
  Term x = graph.input("x", Dtype::f32, {"N"});
  graph.output("y", graph.op("Add", {graph.op("Neg", {x}, {}, "negated"), graph.scalar(1.0f)}));
  const Model model = graph.build();

  frazil::Patch patch(model, "clamp");
  Term old = patch.tap("negated");
  patch.replace("negated", patch.op("Max", {old, patch.scalar(0.0f)}));
  patch.add_output("before", old);
  const Model edited = patch.commit();

  auto session = edited.open();
  const auto out = session.run({{"x", Array::of<float>({2}, {-3, 5})}});
  EXPECT_THAT(out["y"].values<float>(), ElementsAre(4, 1));
  EXPECT_THAT(out["before"].values<float>(), ElementsAre(3, -5));
  auto unchanged = model.open();
  EXPECT_THAT(unchanged.run({{"x", Array::of<float>({1}, {5})}})["y"].values<float>(), ElementsAre(-4));
}

/// y = exp(-x) + side, where the loop's body is a layer as well.
Model layers() {
  GraphBuilder graph;
  Term x = graph.input("x", Dtype::f32, {"N"});
  graph.input("busy", Dtype::boolean, {});
  Term first = graph.op("Exp", {graph.op("Neg", {x}, {}, "turned")}, {}, "first");
  const auto step = [](Body& body, std::span<const Term> p) {
    return std::vector{p[1], body.op("Sub", {p[2], body.scalar(0.5f)}, {}, "less")};
  };
  graph.output("y", graph.loop(graph.scalar<std::int64_t>(3), {}, {first}, step, 0, "steps")[0]);
  return graph.build();
}

float run_layers(const Model& model, bool busy) {
  auto session = model.open();
  return session.run({{"x", Array::of<float>({1}, {-1.5f})}, {"busy", Array::scalar(busy)}})["y"].values<float>()[0];
}

TEST(Patch, WrapsNodesInABranch) {
  const Model model = layers();
  const float whole = run_layers(model, false);
  EXPECT_FLOAT_EQ(whole, std::exp(1.5f) - 1.5f);
  frazil::Patch outer(model, "skip");
  outer.wrap(
      {"first"}, outer.op("Not", {outer.tap("busy")}), [&](Body&) { return std::vector{outer.tap("x")}; }, {},
      "skip_first");
  const Model skipping = outer.commit();
  EXPECT_EQ(run_layers(skipping, false), whole);
  EXPECT_FLOAT_EQ(run_layers(skipping, true), -1.5f - 1.5f);
  const std::string text = skipping.text();
  EXPECT_LT(text.find("then_branch"), text.find("Neg(%x)"));

  frazil::Patch inner(skipping, "in the loop");
  inner.wrap({"steps/less"}, inner.tap("busy"), [&](Body&) { return std::vector{inner.tap("x")}; });
  const Model edited = inner.commit();
  EXPECT_FLOAT_EQ(run_layers(edited, true), -1.5f - 1.5f);
  EXPECT_FLOAT_EQ(run_layers(edited, false), -1.5f);
}

TEST(Patch, WrapsNothingThatOthersNeed) {
  const Model model = layers();
  frazil::Patch patch(model, "skip");
  const auto other = [&](Body&) { return std::vector{patch.tap("x")}; };
  EXPECT_THAT(message_of([&] { patch.wrap({}, patch.tap("busy"), other); }, Code::bad_input), HasSubstr("one value"));
  patch.add_output("before", patch.tap("first"));
  patch.wrap({"first"}, patch.tap("busy"), other);
  EXPECT_THAT(message_of([&] { patch.commit(); }, Code::bad_model),
              HasSubstr("node 'first' (Exp) cannot be wrapped: a result uses it outside of the branch"));
}

TEST(Patch, TakesTheNamesThatAreShown) {
  const Model model = layers();
  for (const char* name : {"steps/less", "steps.body/less", "less:0", "%less", "node 'less' (Sub)", "less"}) {
    frazil::Patch patch(model, "name");
    patch.replace(name, patch.op("Add", {patch.tap(name), patch.scalar(1.0f)}));
    EXPECT_FLOAT_EQ(run_layers(patch.commit(), false), std::exp(1.5f) + 1.5f) << name;
    frazil::Debugger debugger(model);
    debugger.add_breakpoint(name);
    const frazil::Named inputs[] = {{"x", Array::of<float>({1}, {-1.5f})}, {"busy", Array::scalar(false)}};
    EXPECT_EQ(debugger.run(inputs).value, "less") << name;
    EXPECT_FLOAT_EQ(debugger.value(name).values<float>()[0], std::exp(1.5f) - 0.5f);
    auto session = model.open();
    EXPECT_FLOAT_EQ(session.fetch(inputs, {name})[name].values<float>()[0], std::exp(1.5f) - 1.5f) << name;
  }
}

TEST(Patch, TellsWhatIsWrong) {
  const Model model = powers();
  frazil::Patch patch(model, "wrong");
  EXPECT_THAT(message_of([&] { patch.tap("nothing"); }, Code::bad_input), HasSubstr("no value or node 'nothing'"));
  EXPECT_THAT(message_of([&] { patch.remove("nothing"); }, Code::bad_input), HasSubstr("no node 'nothing'"));
  EXPECT_THAT(message_of([&] { patch.replace("n", patch.scalar(1.0f)); }, Code::bad_model), HasSubstr("element type"));
  frazil::Patch good(model, "good");
  good.commit();
  EXPECT_THAT(message_of([&] { good.commit(); }, Code::bad_input), HasSubstr("has been committed"));
}

}  // namespace
