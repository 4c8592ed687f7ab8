// Names, initializers, constants, regions, functions and limits.
#include "import_testing.h"

namespace frazil::test {
namespace {

using testing::ElementsAre;

const GraphSpec kSum{.nodes = {{"Add", {"x", "y"}, {"z"}, {}, "sum"}},
                     .inputs = {f32("x", {"N", "3"}), f32("y", {"", "3"})},
                     .outputs = {value("z")}};

TEST(Import, InputsNodesAndOutputs) {
  const Graph g = imported(import(kSum));
  EXPECT_EQ(g.name, "g");
  EXPECT_THAT(g.input_names(), ElementsAre("x", "y"));
  EXPECT_THAT(g.output_names(), ElementsAre("z"));
  ASSERT_EQ(op_names(g), "Add");
  EXPECT_EQ(node_at(g, 0).name, "sum");
  EXPECT_EQ(g.value_name(node_at(g, 0).out[0]), "z");
  EXPECT_EQ(type_of(g, g.main().params[0]), "f32[N,3]");
  EXPECT_EQ(type_of(g, g.main().params[1]), "f32[y.0,3]");
}

TEST(Import, InputTypes) {
  const Message item = tensor_type(Elem::f32, {"", "2"});
  const Graph g = imported(import({.nodes = {},
                                   .inputs = {value("u", unranked_type(Elem::i64)), value("s", sequence_type(item)),
                                              value("b", tensor_type(Elem::boolean, {"?", "N"}))},
                                   .outputs = {value("u")}}));
  EXPECT_EQ(type_of(g, g.main().params[0]), "i64[...]");
  EXPECT_EQ(type_of(g, g.main().params[1]), "seq<f32[...]>");
  EXPECT_EQ(type_of(g, g.main().params[2]), "bool[b.0,N]");
  EXPECT_EQ(g.main().results[0], g.main().params[0]);
}

TEST(Import, NodesWithoutNamesTakeTheirOutputs) {
  GraphSpec spec = kSum;
  spec.nodes[0].name.clear();
  EXPECT_EQ(node_at(imported(import(spec)), 0).name, "z");
}

TEST(Import, InitializersAreConstants) {
  GraphSpec spec{.nodes = {{"Add", {"x", "w"}, {"z"}}},
                 .inputs = {f32("x", {"2"})},
                 .outputs = {value("z")},
                 .initializers = {initializer("w", Tensor::of<float>({2}, {1, 2}))}};
  const Graph g = imported(import(spec));
  ASSERT_NE(g.constant(node_at(g, 0).in[1]), nullptr);
  EXPECT_EQ(g.value_name(node_at(g, 0).in[1]), "w");
  spec.initializers.push_back(spec.initializers[0]);
  expect_fault(import(spec), Code::bad_model, {"'w' is defined already"});
}

TEST(Import, InitializersThatAreInputs) {
  const GraphSpec spec{.nodes = {{"Add", {"x", "w"}, {"z"}}},
                       .inputs = {f32("x", {"2"}), f32("w", {"2"})},
                       .outputs = {value("z")},
                       .initializers = {initializer("w", Tensor::of<float>({2}, {1, 2}))}};
  const Graph old = imported(import(spec, {.ir = 3}));
  EXPECT_THAT(old.input_names(), ElementsAre("x"));
  const Graph now = imported(import(spec));
  EXPECT_THAT(now.input_names(), ElementsAre("x", "w"));
  ASSERT_NE(now.input_default(1), nullptr);
  EXPECT_EQ(now.input_default(0), nullptr);
  const Graph fixed = imported(import(model(graph(spec)), {.fix_defaults = true}));
  EXPECT_THAT(fixed.input_names(), ElementsAre("x"));
  GraphSpec wrong = spec;
  wrong.inputs[1] = f32("w", {"3"});
  expect_fault(import(wrong), Code::bad_model, {"input 'w'", "f32[2]", "f32[3]"});
}

TEST(Import, WeightsStayInPlace) {
  const std::vector<float> numbers(4096, 1.5f);
  const Message bytes =
      model(graph({.nodes = {{"Add", {"x", "w"}, {"z"}}},
                   .inputs = {f32("x", {"4096"})},
                   .outputs = {value("z")},
                   .initializers = {initializer("w", Tensor::of<float>({4096}, std::span(numbers)))}}));
  auto held = std::make_shared<const Message>(bytes);
  link_operators();
  const Graph g = imported(import_onnx_bytes(std::as_bytes(std::span(*held)), held));
  const Tensor& w = g.constant(node_at(g, 0).in[1])->tensor;
  const auto* data = reinterpret_cast<const char*>(w.data());
  if (data < held->data() || data >= held->data() + held->size()) GTEST_SKIP() << "this build copies unaligned data";
  std::weak_ptr<const Message> watch = held;
  held.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(w.number_at(4095), 1.5);
}

TEST(Import, SparseInitializers) {
  const Message sparse = number(number(text(text({}, 1, initializer("w", Tensor::of<float>({2}, {5, 7}))), 2,
                                            initializer("", Tensor::of<std::int64_t>({2, 2}, {0, 1, 1, 2}))),
                                       3, 2),
                                3, 3);
  const GraphSpec spec{.nodes = {{"Add", {"x", "w"}, {"z"}}},
                       .inputs = {f32("x", {"2", "3"})},
                       .outputs = {value("z")},
                       .sparse = {sparse}};
  const Graph g = imported(import(spec));
  const Tensor& dense = g.constant(node_at(g, 0).in[1])->tensor;
  EXPECT_TRUE(identical(dense, Tensor::of<float>({2, 3}, {0, 5, 0, 0, 0, 7})));
  expect_fault(import(model(graph(spec)), {.limits = {.memory_bytes = 130}}), Code::limit, {"sparse tensor 'w'"});
}

TEST(Import, ConstantsAndIdentitiesAreNoNodes) {
  const Graph g = imported(import({.nodes = {{"Constant", {}, {"c"}, {attr("value_floats", std::vector<float>{1, 2})}},
                                             {"Identity", {"x"}, {"x2"}},
                                             {"Mul", {"x2", "c"}, {"m"}},
                                             {"Identity", {"m"}, {"z"}},
                                             {"Identity", {"x"}, {"same"}}},
                                   .inputs = {f32("x", {"2"})},
                                   .outputs = {value("z"), value("same"), value("c")}}));
  EXPECT_EQ(op_names(g), "Mul");
  EXPECT_THAT(g.output_names(), ElementsAre("z", "same", "c"));
  EXPECT_EQ(g.main().results[1], g.main().params[0]);
  EXPECT_NE(g.constant(g.main().results[2]), nullptr);
}

TEST(Import, ConstantAttributes) {
  const auto constant = [](const Message& a) {
    return import({.nodes = {{"Constant", {}, {"c"}, {a}}}, .inputs = {}, .outputs = {value("c")}});
  };
  EXPECT_EQ(output_type(imported(constant(attr("value", Tensor::of<std::int32_t>({1}, {3}))))), "i32[1]");
  EXPECT_EQ(output_type(imported(constant(attr("value_int", 3)))), "i64[]");
  EXPECT_EQ(output_type(imported(constant(attr("value_ints", std::vector<std::int64_t>{})))), "i64[0]");
  EXPECT_EQ(output_type(imported(constant(attr("value_float", 3.0f)))), "f32[]");
  EXPECT_EQ(output_type(imported(constant(attr("value_string", "a")))), "string[]");
  expect_fault(constant(attr("value_int", 3.0f)), Code::bad_model,
               {"node 'c' (Constant)", "'value_int'", "int", "float"});
  expect_fault(constant(attr("valu", 3)), Code::bad_model, {"unknown attribute 'valu'"});
}

TEST(Import, NamesAreDefinedOnce) {
  GraphSpec twice = kSum;
  twice.nodes.push_back({"Sub", {"x", "y"}, {"z"}, {}, "again"});
  expect_fault(import(twice), Code::bad_model, {"node 'again' (Sub)", "'z' is defined already"});
  GraphSpec unknown = kSum;
  unknown.nodes[0].inputs[1] = "nowhere";
  expect_fault(import(unknown), Code::bad_model, {"node 'sum' (Add)", "input 'nowhere' is not defined"});
  GraphSpec output = kSum;
  output.outputs.push_back(value("q"));
  expect_fault(import(output), Code::bad_model, {"graph: output 'q' is not defined"});
}

TEST(Import, AttributesAreChecked) {
  const auto flatten = [](const Message& a) {
    return import(
        {.nodes = {{"Softmax", {"x"}, {"z"}, {a}, "soft"}}, .inputs = {f32("x", {"2"})}, .outputs = {value("z")}});
  };
  EXPECT_TRUE(flatten(attr("axis", 0)).has_value());
  expect_fault(flatten(attr("axis", 1.0f)), Code::bad_model,
               {"node 'soft' (Softmax): attribute 'axis': expected int, got float"});
  expect_fault(flatten(attr("axes", 0)), Code::bad_model,
               {"node 'soft' (Softmax)", "unknown attribute 'axes'", "'axis'"});
  expect_fault(flatten(ref_attr("axis", 2, "a")), Code::bad_model, {"'axis'", "outside of a function"});
  expect_fault(
      import({.nodes = {{"Cast", {"x"}, {"z"}, {}, "c"}}, .inputs = {f32("x", {"2"})}, .outputs = {value("z")}}),
      Code::bad_model, {"node 'c' (Cast): attribute 'to' is missing"});
}

TEST(Import, UnknownOperators) {
  GraphSpec spec = kSum;
  spec.nodes[0].op = "Addd";
  expect_fault(import(spec), Code::unsupported,
               {"node 'sum' (Addd)", "'Addd'", "ai.onnx", "opset 21", "'Add'", "custom"});
  spec.nodes[0].domain = "com.acme";
  expect_fault(import(spec), Code::bad_model, {"imports no opset of domain 'com.acme'"});
  expect_fault(import(kSum, {.opset = 99}), Code::unsupported, {"node 'sum' (Add)", "opset 99", "newer than"});
  EXPECT_TRUE(import(model(graph(kSum), {.opset = 99}), {.newer_opsets = true}).has_value());
  spec = kSum;
  spec.nodes[0].domain = "ai.onnx";
  EXPECT_TRUE(import(spec).has_value());
}

TEST(Import, NotAModel) {
  expect_fault(import(Message()), Code::bad_model, {"not an ONNX model"});
  expect_fault(import(Message("#!/bin/sh\necho")), Code::bad_model, {});
  expect_fault(import(number({}, 1, 8)), Code::bad_model, {"no graph"});
}

// ---- regions ----

GraphSpec branches(const GraphSpec& then_branch, const GraphSpec& else_branch) {
  return {.nodes = {{"If",
                     {"c"},
                     {"z"},
                     {graph_attr("else_branch", graph(else_branch)), graph_attr("then_branch", graph(then_branch))},
                     "choose"}},
          .inputs = {value("c", tensor_type(Elem::boolean, {})), f32("x", {"N"})},
          .outputs = {value("z")}};
}
const GraphSpec kNegate{.nodes = {{"Neg", {"x"}, {"r"}}}, .inputs = {}, .outputs = {value("r")}};
const GraphSpec kDouble{.nodes = {{"Constant", {}, {"x"}, {attr("value_float", 2.0f)}}, {"Exp", {"x"}, {"r"}}},
                        .inputs = {},
                        .outputs = {value("r")}};

TEST(ImportRegion, BranchesCaptureAndHideOuterNames) {
  const Graph g = imported(import(branches(
      kNegate, {.nodes = {{"Exp", {"x"}, {"y"}}, {"Log", {"y"}, {"r"}}}, .inputs = {}, .outputs = {value("r")}})));
  ASSERT_EQ(op_names(g), "If");
  const Node& choose = node_at(g, 0);
  ASSERT_EQ(choose.blocks.size(), 2u);
  EXPECT_EQ(op_names(g, choose.blocks[0]), "Neg");
  EXPECT_EQ(op_names(g, choose.blocks[1]), "Exp Log");
  EXPECT_EQ(node_at(g, 0, choose.blocks[0]).in[0], g.main().params[1]);
  EXPECT_EQ(output_type(g), "f32[N]");
  const Graph hidden = imported(import(branches(kDouble, kDouble)));
  EXPECT_EQ(output_type(hidden), "f32[]");
}

TEST(ImportRegion, Faults) {
  GraphSpec bad = kNegate;
  bad.nodes[0].inputs[0] = "u";
  expect_fault(import(branches(bad, kNegate)), Code::bad_model, {"node 'r' (Neg)", "'u' is not defined"});
  bad = kNegate;
  bad.outputs = {value("u")};
  expect_fault(import(branches(kNegate, bad)), Code::bad_model,
               {"node 'choose' (If), attribute 'else_branch': output 'u' is not defined"});
  GraphSpec missing = branches(kNegate, kNegate);
  missing.nodes[0].attrs.pop_back();
  expect_fault(import(missing), Code::bad_model, {"node 'choose' (If): attribute 'then_branch' is missing"});
  GraphSpec inputs = kNegate;
  inputs.inputs = {f32("p", {})};
  expect_fault(import(branches(inputs, kNegate)), Code::bad_model, {"node 'choose' (If)"});
  GraphSpec no_condition = branches(kNegate, kNegate);
  no_condition.nodes[0].inputs.clear();
  expect_fault(import(no_condition), Code::bad_model, {"node 'choose' (If)"});
}

GraphSpec loop(const std::vector<NodeSpec>& body) {
  const GraphSpec inner{.nodes = body,
                        .inputs = {value("i"), value("keep"), value("s")},
                        .outputs = {value("on"), value("s2"), value("scan")},
                        .initializers = {initializer("one", Tensor::of<float>({1}, {1}))}};
  return {.nodes = {{"Loop", {"m", "", "x"}, {"last", "all"}, {graph_attr("body", graph(inner))}, "repeat"}},
          .inputs = {value("m", tensor_type(Elem::i64, {})), f32("x", {"4"})},
          .outputs = {value("last"), value("all")}};
}

TEST(ImportRegion, Loops) {
  const Graph g = imported(
      import(loop({{"Identity", {"keep"}, {"on"}}, {"Add", {"s", "one"}, {"s2"}}, {"Neg", {"s2"}, {"scan"}}})));
  const Node& repeat = node_at(g, 0);
  EXPECT_EQ(repeat.op->name, "Loop");
  EXPECT_EQ(op_names(g, repeat.blocks[0]), "Add Neg");
  EXPECT_EQ(g.value_name(g.block(repeat.blocks[0]).params[2]), "s");
  EXPECT_EQ(g.block(repeat.blocks[0]).results[0], g.block(repeat.blocks[0]).params[1]);
  EXPECT_EQ(output_type(g, 0), "f32[4]");
  EXPECT_EQ(g.type(g.main().results[1]).rank(), 2u);
}

/// If inside If, `depth` deep, written from the outside in.
Message nested_ifs(int depth) {
  const Message leaf = graph(kNegate);
  std::vector<Message> heads, tails;
  std::size_t size = leaf.size();
  const auto wrap = [&](const Message& before, int tag, const Message& after) {
    Message head = with(before, [&](auto& w) { w.add_bytes(static_cast<unsigned>(tag), nullptr, 0); });
    head.pop_back();  // the length 0
    protozero::write_varint(std::back_inserter(head), size);
    size += head.size() + after.size();
    heads.push_back(head);
    tails.push_back(after);
  };
  const Message other = graph_attr("else_branch", leaf);
  for (int i = 0; i < depth; ++i) {
    wrap(attribute("then_branch", 5), 6, {});
    wrap(text(text(text(text({}, 1, "c"), 2, "r"), 4, "If"), 5, other), 5, {});
    wrap({}, 1, text({}, 12, value("r")));
  }
  Message m;
  for (auto h = heads.rbegin(); h != heads.rend(); ++h) m += *h;
  m += leaf;
  for (const auto& t : tails) m += t;
  m = text(text(m, 11, value("c", tensor_type(Elem::boolean, {}))), 11, f32("x", {"2"}));
  return m;
}

TEST(ImportRegion, TenThousandDeep) {
  const Graph g = imported(import(model(nested_ifs(10'000))));
  EXPECT_EQ(g.block_count(), 20'001u);
  EXPECT_EQ(output_type(g), "f32[2]");
  expect_fault(import(model(nested_ifs(100)), {.limits = {.nesting = 50}}), Code::limit, {"nest deeper than 50"});
}

// ---- functions ----

const FunctionSpec kScaled{
    .name = "scaled",
    .inputs = {"a", "bias"},
    .outputs = {"r"},
    .attributes = {"axis"},
    .nodes = {{"Softmax", {"a"}, {"s"}, {ref_attr("axis", 2, "axis")}, "soft"}, {"Add", {"s", "bias"}, {"r"}}}};

GraphSpec graph_with_call(const std::vector<Message>& attrs, const std::string& function_name = "scaled") {
  return {.nodes = {{function_name, {"x", "y"}, {"z"}, attrs, "call", "local"}},
          .inputs = {f32("x", {"2", "3"}), f32("y", {"3"})},
          .outputs = {value("z")}};
}

TEST(ImportFunction, BodiesAreInlined) {
  const Graph g = imported(import(graph_with_call({attr("axis", 0)}), {.functions = {kScaled}}));
  ASSERT_EQ(op_names(g), "Softmax Add");
  EXPECT_EQ(node_at(g, 0).name, "call/soft");
  expect_attr(node_at(g, 0), "axis", std::int64_t{0});
  EXPECT_EQ(g.value_name(node_at(g, 0).out[0]), "call/s");
  EXPECT_EQ(g.value_name(g.main().results[0]), "z");
  const Graph plain = imported(import(graph_with_call({}), {.functions = {kScaled}}));
  expect_attr(node_at(plain, 0), "axis", std::int64_t{-1});
}

TEST(ImportFunction, DefaultsOverloadsAndNestedCalls) {
  FunctionSpec with_default = kScaled;
  with_default.attributes.clear();
  with_default.defaults = {attr("axis", 0)};
  FunctionSpec outer{.name = "outer",
                     .inputs = {"p", "q"},
                     .outputs = {"r"},
                     .attributes = {},
                     .nodes = {{"scaled", {"p", "q"}, {"t"}, {}, "inner", "local"}, {"Neg", {"t"}, {"r"}}}};
  const Graph g = imported(import(graph_with_call({}, "outer"), {.functions = {outer, with_default}}));
  EXPECT_EQ(op_names(g), "Softmax Add Neg");
  expect_attr(node_at(g, 0), "axis", std::int64_t{0});
  EXPECT_EQ(node_at(g, 0).name, "call/inner/soft");
  FunctionSpec second = kScaled;
  second.overload = "b";
  second.nodes = {{"Mul", {"a", "bias"}, {"r"}}};
  GraphSpec overloaded = graph_with_call({});
  overloaded.nodes[0].overload = "b";
  EXPECT_EQ(op_names(imported(import(overloaded, {.functions = {kScaled, second}}))), "Mul");
}

TEST(ImportFunction, Faults) {
  FunctionSpec self = kScaled;
  self.nodes = {{"scaled", {"a", "bias"}, {"r"}, {}, "again", "local"}};
  expect_fault(import(graph_with_call({}), {.functions = {self}}), Code::bad_model,
               {"call/again", "'scaled' calls itself"});
  expect_fault(import(graph_with_call({attr("nope", 1)}), {.functions = {kScaled}}), Code::bad_model,
               {"no attribute 'nope'"});
  GraphSpec many = graph_with_call({});
  many.nodes[0].inputs.push_back("x");
  expect_fault(import(many, {.functions = {kScaled}}), Code::bad_model, {"node 'call' (scaled)", "has 2 inputs"});
  expect_fault(import(graph_with_call({}), {.functions = {kScaled, kScaled}}), Code::bad_model,
               {"'scaled'", "defined twice"});
  FunctionSpec captures = kScaled;
  captures.nodes[1].inputs[1] = "y";
  expect_fault(import(graph_with_call({}), {.functions = {captures}}), Code::bad_model, {"'y' is not defined"});
}

TEST(ImportFunction, ExplodingCallsMeetTheLimit) {
  std::vector<FunctionSpec> functions;
  for (int i = 0; i < 40; ++i) {
    const std::string next = "f" + std::to_string(i + 1);
    functions.push_back({.name = "f" + std::to_string(i),
                         .inputs = {"a"},
                         .outputs = {"r"},
                         .attributes = {},
                         .nodes = {{next, {"a"}, {"t"}, {}, "", "local"}, {next, {"t"}, {"r"}, {}, "", "local"}}});
  }
  functions.push_back(
      {.name = "f40", .inputs = {"a"}, .outputs = {"r"}, .attributes = {}, .nodes = {{"Neg", {"a"}, {"r"}}}});
  const Message bytes = model(
      graph({.nodes = {{"f0", {"x"}, {"z"}, {}, "", "local"}}, .inputs = {f32("x", {})}, .outputs = {value("z")}}),
      {.functions = functions});
  expect_fault(import(bytes, {.limits = {.nodes = 10'000}}), Code::limit, {"more than 10000 nodes"});
}

// ---- damage ----

Message rich_model() {
  GraphSpec spec = branches(kNegate, kDouble);
  spec.nodes.push_back({"scaled", {"x", "x"}, {"q"}, {attr("axis", 0)}, "call", "local"});
  spec.nodes.push_back({"Reshape", {"q", "shape"}, {"w"}, {attr("allowzero", 0)}});
  spec.outputs.push_back(value("w"));
  spec.initializers = {initializer("shape", Tensor::of<std::int64_t>({2}, {-1, 1}))};
  return model(graph(spec), {.functions = {kScaled}});
}

TEST(ImportDamage, CutAnywhere) {
  const Message whole = rich_model();
  imported(import(whole));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const auto result = import(whole.substr(0, n));
    ASSERT_FALSE(result.has_value()) << n;
    ASSERT_NE(result.error().code, Code::internal) << result.error().text();
  }
}

TEST(ImportDamage, AnyByteChanged) {
  const Message whole = rich_model();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const int flip : {0x01, 0x08, 0x40, 0x80, 0xff}) {
      Message changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      const auto result = import(changed);
      if (!result) {
        ASSERT_NE(result.error().code, Code::internal) << result.error().text();
      }
    }
  }
}

TEST(ImportDamage, LongNames) {
  GraphSpec spec = kSum;
  spec.nodes[0].name = std::string(5000, 'n');
  expect_fault(import(spec), Code::limit, {"a name has 5000 bytes"});
  spec.nodes[0].name = "two\nlines";
  spec.nodes[0].inputs[1] = "u\nv";
  expect_fault(import(spec), Code::bad_model, {R"(node 'two\nlines' (Add))", R"('u\nv')"});
}

}  // namespace
}  // namespace frazil::test
