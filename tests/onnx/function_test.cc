// Model-local functions: the result of a call, and the calls that are refused.
#include "import_testing.h"
#include "onnx/export/export.h"
#include "ref/ref.h"

namespace frazil::test {
namespace {

NodeSpec local_call(const std::string& name, const Names& in, const Names& out,
                    const std::vector<Message>& attrs = {}) {
  return {name, in, out, attrs, "", "local"};
}

/// A function of a and b, with the result r.
FunctionSpec binary_function(const std::string& name, const std::vector<NodeSpec>& nodes,
                             const Names& attributes = {}) {
  return {.name = name, .inputs = {"a", "b"}, .outputs = {"r"}, .attributes = attributes, .nodes = nodes};
}

/// A model that calls on x: f32[2], y: f32[2] and c: bool[], with the output z.
GraphSpec graph_calling(const std::vector<NodeSpec>& nodes) {
  return {.nodes = nodes,
          .inputs = {f32("x", {"2"}), f32("y", {"2"}), value("c", tensor_type(Elem::boolean, {}))},
          .outputs = {value("z")}};
}

Tensor run(const Graph& g, bool c = true) {
  const auto model = onnx::export_model(g);
  EXPECT_TRUE(model && structural_hash(imported(import(*model))) == structural_hash(g));
  const std::vector<Datum> in{Tensor::of<float>({2}, {1, 2}), Tensor::of<float>({2}, {10, 20}), Tensor::scalar(c)};
  const auto out = run_reference(g, in);
  EXPECT_TRUE(out.has_value()) << out.error().text();
  return out ? (*out)[0].tensor() : Tensor();
}
void expect_run(const Graph& g, const std::vector<float>& want, bool c = true) {
  const Tensor got = run(g, c);
  EXPECT_TRUE(identical(got, Tensor::of<float>({2}, std::span<const float>(want)))) << summary(got);
}

Message branch_of(const std::vector<NodeSpec>& nodes, const std::string& result = "r") {
  return graph({.nodes = nodes, .inputs = {}, .outputs = {value(result)}});
}
NodeSpec if_with_branches(const std::string& result, const Message& then_branch, const Message& else_branch,
                          const std::string& condition = "c") {
  return {"If", {condition}, {result}, {then_branch, else_branch}, "choose_" + result};
}

// ---- graphs passed to functions ----

/// select(a, b; yes, no): b with the graph selected by a, at two levels.
const FunctionSpec kPick{
    .name = "pick",
    .inputs = {"a", "on"},
    .outputs = {"r"},
    .attributes = {"yes", "no"},
    .nodes = {if_with_branches("q", ref_attr("then_branch", 5, "yes"), ref_attr("else_branch", 5, "no"), "on"),
              {"Add", {"q", "a"}, {"r"}}}};

TEST(ImportFunctionGraph, SeesNamesOfTheCaller) {
  // "x" and "q" refer to the caller's values, though the function has such names.
  const GraphSpec spec = graph_calling({{"Neg", {"y"}, {"q"}},
                                        local_call("pick", {"x", "c"}, {"z"},
                                                   {graph_attr("yes", branch_of({{"Add", {"x", "q"}, {"r"}}})),
                                                    graph_attr("no", branch_of({{"Mul", {"x", "q"}, {"r"}}}))})});
  const Graph g = imported(import(spec, {.functions = {kPick}}));
  EXPECT_EQ(op_names(g), "Neg If Add");
  expect_run(g, {-8, -16});
  expect_run(g, {-9, -38}, false);
}

TEST(ImportFunctionGraph, PassesThroughSeveralCalls) {
  const FunctionSpec outer{
      .name = "outer",
      .inputs = {"p", "on"},
      .outputs = {"r"},
      .attributes = {"yes"},
      .nodes = {local_call("pick", {"p", "on"}, {"r"},
                           {ref_attr("yes", 5, "yes"), graph_attr("no", branch_of({{"Neg", {"p"}, {"r"}}}))})}};
  const GraphSpec spec = graph_calling(
      {local_call("outer", {"x", "c"}, {"z"}, {graph_attr("yes", branch_of({{"Add", {"x", "y"}, {"r"}}}))})});
  const Graph g = imported(import(spec, {.functions = {outer, kPick}}));
  expect_run(g, {12, 24});
  expect_run(g, {0, 0}, false);
}

TEST(ImportFunctionGraph, UsesOpsetsAndAttributesOfTheCaller) {
  // Softmax-1 of the function's caller takes every axis from 1 on; the callee is of opset 21.
  const FunctionSpec old{
      .name = "old",
      .inputs = {"p", "on"},
      .outputs = {"r"},
      .attributes = {"axis"},
      .nodes = {local_call("pick", {"p", "on"}, {"r"},
                           {graph_attr("yes", branch_of({{"Softmax", {"p"}, {"r"}, {ref_attr("axis", 2, "axis")}}})),
                            graph_attr("no", branch_of({{"Neg", {"p"}, {"r"}}}))})},
      .opsets = {{"", 9}, {"local", 1}}};
  GraphSpec spec = graph_calling({local_call("old", {"x", "c"}, {"z"}, {attr("axis", 0)})});
  spec.inputs[0] = f32("x", {"2", "3"});
  const Graph g = imported(import(spec, {.functions = {old, kPick}}));
  const BlockId yes = node_at(g, 0).blocks[0];
  EXPECT_EQ(op_names(g, yes), "Flatten Softmax Shape Reshape");
}

TEST(ImportFunctionGraph, DefaultsSeeTheFunctionsOwnNames) {
  FunctionSpec pick = kPick;
  pick.attributes = {"yes"};
  pick.defaults = {graph_attr("no", branch_of({{"Neg", {"a"}, {"r"}}}))};
  const GraphSpec spec =
      graph_calling({local_call("pick", {"y", "c"}, {"z"}, {graph_attr("yes", branch_of({{"Neg", {"x"}, {"r"}}}))})});
  const Graph g = imported(import(spec, {.functions = {pick}}));
  expect_run(g, {9, 18});
  expect_run(g, {0, 0}, false);
}

TEST(ImportFunctionGraph, GivenTwiceAndNested) {
  const Message inner = branch_of({local_call(
      "pick", {"x", "c"}, {"r"},
      {graph_attr("yes", branch_of({{"Neg", {"y"}, {"r"}}})), graph_attr("no", branch_of({{"Neg", {"x"}, {"r"}}}))})});
  const GraphSpec spec =
      graph_calling({local_call("pick", {"x", "c"}, {"u"}, {graph_attr("yes", inner), graph_attr("no", inner)}),
                     local_call("pick", {"u", "c"}, {"z"}, {graph_attr("yes", inner), graph_attr("no", inner)})});
  expect_run(imported(import(spec, {.functions = {kPick}})), {-17, -34});
}

TEST(ImportFunctionGraph, Faults) {
  const GraphSpec unknown = graph_calling({local_call(
      "pick", {"x", "c"}, {"z"},
      {graph_attr("yes", branch_of({{"Neg", {"a"}, {"r"}}})), graph_attr("no", branch_of({{"Neg", {"x"}, {"r"}}}))})});
  expect_fault(import(unknown, {.functions = {kPick}}), Code::bad_model, {"input 'a' is not defined"});
  const GraphSpec number = graph_calling({local_call("pick", {"x", "c"}, {"z"}, {attr("yes", 1), attr("no", 1)})});
  expect_fault(import(number, {.functions = {kPick}}), Code::bad_model, {"'then_branch'", "expected graph, got int"});
  const GraphSpec missing = graph_calling({local_call("pick", {"x", "c"}, {"z"})});
  expect_fault(import(missing, {.functions = {kPick}}), Code::bad_model, {"'then_branch' is missing"});
}

// ---- blocks in functions ----

TEST(ImportFunctionBlocks, CaptureAcrossLevels) {
  const Message innermost = branch_of({{"Add", {"sum", "b"}, {"t"}}, {"Mul", {"t", "a"}, {"r"}}});
  const Message middle = branch_of(
      {if_with_branches("r", graph_attr("then_branch", innermost), graph_attr("else_branch", innermost), "on")});
  FunctionSpec f = binary_function(
      "f", {{"Add", {"a", "b"}, {"sum"}},
            if_with_branches("r", graph_attr("then_branch", middle), graph_attr("else_branch", middle), "on")});
  f.inputs.push_back("on");
  const Graph g = imported(import(graph_calling({local_call("f", {"x", "y", "c"}, {"z"})}), {.functions = {f}}));
  expect_run(g, {21, 84});
}

TEST(ImportFunctionBlocks, AttributeReferencesInside) {
  const Message body =
      branch_of({{"Gemm", {"m", "m"}, {"n"}, {ref_attr("alpha", 1, "scale")}}, {"Reshape", {"n", "one"}, {"r"}}});
  FunctionSpec f =
      binary_function("f",
                      {{"Constant", {}, {"one"}, {attr("value_ints", std::vector<std::int64_t>{1})}},
                       {"Constant", {}, {"shape"}, {attr("value_ints", std::vector<std::int64_t>{1, 1})}},
                       {"ReduceSum", {"a"}, {"s"}, {attr("keepdims", 0)}},
                       {"Reshape", {"s", "shape"}, {"m"}},
                       if_with_branches("r", graph_attr("then_branch", body), graph_attr("else_branch", body), "b")},
                      {"scale"});
  GraphSpec spec = graph_calling({local_call("f", {"x", "c"}, {"z"}, {attr("scale", 3.0f)})});
  const Graph g = imported(import(spec, {.functions = {f}}));
  EXPECT_EQ(run(g).number_at(0), 27.0);
  spec.nodes[0].attrs.clear();  // then Gemm's default applies
  EXPECT_EQ(run(imported(import(spec, {.functions = {f}}))).number_at(0), 9.0);
}

// ---- opsets, domains, overloads ----

TEST(ImportFunctionOpsets, OwnOnesCount) {
  FunctionSpec f = binary_function(
      "f", {{"ReduceSum", {"a"}, {"r"}, {attr("axes", std::vector<std::int64_t>{0}), attr("keepdims", 0)}}});
  f.opsets = {{"", 11}};
  const Graph g = imported(import(graph_calling({local_call("f", {"x", "y"}, {"z"})}), {.functions = {f}}));
  EXPECT_EQ(output_type(g), "f32[]");
  f.opsets = {{"", 21}};
  expect_fault(import(graph_calling({local_call("f", {"x", "y"}, {"z"})}), {.functions = {f}}), Code::bad_model,
               {"unknown attribute 'axes'"});
  f.opsets = {{"", 99}};
  expect_fault(import(graph_calling({local_call("f", {"x", "y"}, {"z"})}), {.functions = {f}}), Code::unsupported,
               {"opset 99"});
}

TEST(ImportFunctionOpsets, DomainsAndOverloads) {
  FunctionSpec add = binary_function("f", {{"Add", {"a", "b"}, {"r"}}}),
               mul = binary_function("f", {{"Mul", {"a", "b"}, {"r"}}});
  FunctionSpec sub = binary_function("f", {{"Sub", {"a", "b"}, {"r"}}});
  mul.overload = "mul";
  sub.domain = "other";
  const auto with = [&](const std::string& domain, const std::string& overload) {
    GraphSpec spec = graph_calling({{"f", {"x", "y"}, {"z"}, {}, "n", domain, overload}});
    return import(spec, {.functions = {add, mul, sub}, .opsets = {{"other", 3}}});
  };
  EXPECT_EQ(op_names(imported(with("local", ""))), "Add");
  EXPECT_EQ(op_names(imported(with("local", "mul"))), "Mul");
  EXPECT_EQ(op_names(imported(with("other", ""))), "Sub");
  expect_fault(with("other", "mul"), Code::bad_model, {"node 'n' (f)", "overload 'mul'"});
}

TEST(ImportFunctionOpsets, HidesAnOperator) {
  FunctionSpec neg = binary_function("Neg", {{"Exp", {"a"}, {"r"}}});
  neg.inputs = {"a"};
  for (const std::string domain : {"", "ai.onnx"}) {
    neg.domain = domain;
    EXPECT_EQ(op_names(imported(import(graph_calling({{"Neg", {"x"}, {"z"}}}), {.functions = {neg}}))), "Exp");
  }
  neg.overload = "other";
  EXPECT_EQ(op_names(imported(import(graph_calling({{"Neg", {"x"}, {"z"}}}), {.functions = {neg}}))), "Neg");
}

// ---- inputs and outputs ----

TEST(ImportFunctionPorts, AbsentInputsAreAbsentInside) {
  const FunctionSpec f{.name = "f",
                       .inputs = {"a", "low", "high"},
                       .outputs = {"r", "s"},
                       .attributes = {},
                       .nodes = {{"Clip", {"a", "low", "high"}, {"r"}}, {"Neg", {"a"}, {"s"}}}};
  GraphSpec spec = graph_calling({{"Constant", {}, {"five"}, {attr("value_float", 1.5f)}},
                                  local_call("f", {"x", "", "five"}, {"z"}),
                                  local_call("f", {"x"}, {"", "w"})});
  const Graph g = imported(import(spec, {.functions = {f}}));
  EXPECT_FALSE(node_at(g, 0).in[1]);
  expect_run(g, {1, 1.5});
  spec.nodes[1].inputs = {"", "five"};
  expect_fault(import(spec, {.functions = {f}}), Code::bad_model, {"(Clip)"});
}

TEST(ImportFunctionPorts, ResultsMayBeInputsOrRepeat) {
  const FunctionSpec f{
      .name = "f", .inputs = {"a"}, .outputs = {"a", "r", "r"}, .attributes = {}, .nodes = {{"Neg", {"a"}, {"r"}}}};
  const Graph g = imported(import(
      graph_calling({local_call("f", {"x"}, {"p", "q", "s"}), {"Add", {"p", "q"}, {"t"}}, {"Add", {"t", "s"}, {"z"}}}),
      {.functions = {f}}));
  expect_run(g, {-1, -2});
}

// ---- recursion, and functions that nobody calls ----

TEST(ImportFunctionCycles, AreNamed) {
  const auto through = [](const std::vector<FunctionSpec>& functions) {
    return import(graph_calling({local_call("f", {"x", "y"}, {"z"})}), {.functions = functions});
  };
  const auto to = [](const std::string& name) { return std::vector<NodeSpec>{local_call(name, {"a", "b"}, {"r"})}; };
  expect_fault(through({binary_function("f", to("f"))}), Code::bad_model, {"function 'f' calls itself"});
  expect_fault(through({binary_function("f", to("g")), binary_function("g", to("f"))}), Code::bad_model,
               {"function 'f' calls itself through 'g'"});
  expect_fault(through({binary_function("f", to("g")), binary_function("g", to("h")), binary_function("h", to("g"))}),
               Code::bad_model, {"function 'g' calls itself through 'h'"});
  expect_fault(through({binary_function("f", to("g")), binary_function("g", to("h")), binary_function("h", to("f"))}),
               Code::bad_model, {"function 'f' calls itself through 'g', 'h'"});
  const Message again = branch_of({local_call("f", {"a", "b"}, {"r"})});
  expect_fault(through({binary_function("f", {{"Constant", {}, {"on"}, {attr("value", Tensor::scalar(true))}},
                                              if_with_branches("r", graph_attr("then_branch", again),
                                                               graph_attr("else_branch", again), "on")})}),
               Code::bad_model, {"function 'f' calls itself"});
}

TEST(ImportFunctionCycles, ThroughAGraphThatIsGiven) {
  const FunctionSpec run_it{
      .name = "run",
      .inputs = {"on"},
      .outputs = {"r"},
      .attributes = {"what"},
      .nodes = {if_with_branches("r", ref_attr("then_branch", 5, "what"), ref_attr("else_branch", 5, "what"), "on")}};
  FunctionSpec f = binary_function(
      "f",
      {local_call("run", {"on"}, {"r"}, {graph_attr("what", branch_of({local_call("f", {"a", "b", "on"}, {"r"})}))})});
  f.inputs.push_back("on");
  expect_fault(import(graph_calling({local_call("f", {"x", "y", "c"}, {"z"})}), {.functions = {run_it, f}}),
               Code::bad_model, {"function 'f' calls itself"});
}

TEST(ImportFunctionCycles, UnusedFunctionsMayBeWrong) {
  const FunctionSpec wrong[] = {
      binary_function("g", {local_call("g", {"a", "b"}, {"r"})}),
      binary_function("g", {{"NoSuchOperator", {"nowhere"}, {"r"}}}),
      binary_function("g", {}),
  };
  for (const FunctionSpec& g : wrong) {
    EXPECT_TRUE(import(graph_calling({{"Add", {"x", "y"}, {"z"}}}), {.functions = {g}}).has_value());
  }
}

}  // namespace
}  // namespace frazil::test
