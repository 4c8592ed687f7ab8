// Models with an invalid graph: the error that the user gets. Each message names the node, the value and the reason.
#include <functional>
#include <limits>

#include "import_testing.h"

namespace frazil::test {
namespace {

struct FaultCase {
  const char* what;
  Message bytes;
  std::vector<std::string> says;
  Code code = Code::bad_model;
};

void expect_faults(const std::vector<FaultCase>& cases) {
  for (const FaultCase& c : cases) {
    SCOPED_TRACE(c.what);
    const auto result = import(c.bytes);
    EXPECT_FALSE(result.has_value());
    if (result) continue;
    const std::string& said = result.error().text();
    EXPECT_EQ(name_of(result.error().code), name_of(c.code)) << said;
    for (const std::string& part : c.says) EXPECT_THAT(said, testing::HasSubstr(part));
    EXPECT_THAT(said, testing::Not(testing::HasSubstr("\n")));
  }
}

const std::vector<Message> kInputsOfAllKinds = {
    f32("x", {"2", "3"}),
    f32("y", {"2", "3"}),
    value("d", tensor_type(Elem::f64, {"2", "3"})),
    value("i", tensor_type(Elem::i64, {"2"})),
    value("n", tensor_type(Elem::i64, {})),
    value("c", tensor_type(Elem::boolean, {})),
    value("t", tensor_type(Elem::string, {"2"})),
    value("q", sequence_type(tensor_type(Elem::f32, {}))),
};

/// These nodes over the inputs above.
GraphSpec graph_over_inputs(std::vector<NodeSpec> nodes, const Names& outputs = {"z"}) {
  GraphSpec spec{.nodes = std::move(nodes), .inputs = kInputsOfAllKinds, .outputs = {}};
  for (const std::string& name : outputs) spec.outputs.push_back(value(name));
  return spec;
}
Message with_nodes(std::vector<NodeSpec> nodes, const Names& outputs = {"z"}, const ModelSpec& spec = {}) {
  return model(graph(graph_over_inputs(std::move(nodes), outputs)), spec);
}
/// One node "bad".
Message node_of(const std::string& op, const Names& inputs, std::vector<Message> attrs = {},
                const Names& outputs = {"z"}) {
  return with_nodes({{op, inputs, outputs, std::move(attrs), "bad"}}, {outputs[0]});
}
Message changed(const std::function<void(GraphSpec&)>& change) {
  GraphSpec spec = graph_over_inputs({{"Add", {"x", "y"}, {"z"}, {}, "sum"}});
  change(spec);
  return model(graph(spec));
}

/// A block's graph without inputs that gives `r`.
Message block_of(std::vector<NodeSpec> nodes, const std::vector<Message>& inputs = {}, const Names& outputs = {"r"}) {
  GraphSpec spec{.nodes = std::move(nodes), .inputs = inputs, .outputs = {}};
  for (const std::string& name : outputs) spec.outputs.push_back(value(name));
  return graph(spec);
}
Message good_block() { return block_of({{"Neg", {"x"}, {"r"}}}); }
NodeSpec if_node(const Message& then_branch, const Message& else_branch, const std::string& name = "choose",
                 const std::string& gives = "z") {
  return {"If", {"c"}, {gives}, {graph_attr("then_branch", then_branch), graph_attr("else_branch", else_branch)}, name};
}

TEST(GraphFaults, Cycles) {
  expect_faults({
      {"a node of itself",
       with_nodes({{"Add", {"x", "z"}, {"z"}, {}, "again"}}),
       {"node 'again' (Add)", "'z'", "cycle"}},
      {"two nodes",
       with_nodes({{"Add", {"x", "b"}, {"a"}, {}, "first"}, {"Neg", {"a"}, {"b"}, {}, "second"}}, {"a"}),
       {"node 'first' (Add)", "'b'", "node 'second' (Neg)"}},
      {"three nodes",
       with_nodes({{"Add", {"x", "b"}, {"a"}, {}, "first"},
                   {"Neg", {"a"}, {"m"}, {}, "second"},
                   {"Neg", {"m"}, {"b"}, {}, "third"}},
                  {"a"}),
       {"node 'first' (Add) reads 'b' of node 'third' (Neg)", "node 'second' (Neg) reads 'a'"}},
      {"a node whose branch reads its result",
       with_nodes({if_node(block_of({{"Neg", {"z"}, {"r"}, {}, "inner"}}), good_block())}),
       {"node 'inner' (Neg)", "'z'", "node 'choose' (If)"}},
      {"a branch that reads what is made of it",
       with_nodes(
           {if_node(block_of({{"Neg", {"w"}, {"r"}, {}, "inner"}}), good_block()), {"Exp", {"z"}, {"w"}, {}, "after"}}),
       {"node 'inner' (Neg)", "'w'", "node 'after' (Exp)"}},
      {"a node of itself inside a branch",
       with_nodes({if_node(block_of({{"Neg", {"r"}, {"r"}, {}, "inner"}}), good_block())}),
       {"node 'inner' (Neg)", "'r'", "cycle"}},
  });
}

TEST(GraphFaults, ValuesThatAreNotDefined) {
  expect_faults({
      {"an input of a node", node_of("Add", {"x", "u"}), {"node 'bad' (Add)", "input 'u' is not defined"}},
      {"an output of the graph", with_nodes({{"Neg", {"x"}, {"z"}}}, {"z", "u"}), {"output 'u' is not defined"}},
      {"an input of a node in a branch",
       with_nodes({if_node(good_block(), block_of({{"Add", {"x", "u"}, {"r"}, {}, "inner"}}))}),
       {"node 'choose' (If)", "'else_branch'", "node 'inner' (Add)", "input 'u' is not defined"}},
      {"a result of a branch",
       with_nodes({if_node(good_block(), block_of({{"Neg", {"x"}, {"k"}}}))}),
       {"node 'choose' (If)", "'else_branch'", "output 'r' is not defined"}},
      {"a value of the other branch",
       with_nodes({if_node(block_of({{"Neg", {"x"}, {"k"}}, {"Neg", {"k"}, {"r"}}}),
                           block_of({{"Neg", {"k"}, {"r"}, {}, "inner"}}))}),
       {"node 'inner' (Neg)", "'k' is not defined"}},
      {"a value of a branch outside",
       with_nodes({if_node(block_of({{"Neg", {"x"}, {"k"}}, {"Neg", {"k"}, {"r"}}}), good_block()),
                   {"Neg", {"k"}, {"w"}, {}, "bad"}},
                  {"w"}),
       {"node 'bad' (Neg)", "'k' is not defined"}},
      {"a value of a branch as output",
       with_nodes({if_node(block_of({{"Neg", {"x"}, {"k"}}, {"Neg", {"k"}, {"r"}}}), good_block())}, {"k"}),
       {"output 'k' is not defined"}},
      {"two levels deep",
       with_nodes({if_node(good_block(), block_of({if_node(block_of({{"Neg", {"u"}, {"r"}, {}, "deep"}}), good_block(),
                                                           "inner", "r")}))}),
       {"node 'choose' (If)", "'else_branch'", "node 'inner' (If)", "'then_branch'", "node 'deep' (Neg)",
        "'u' is not defined"}},
  });
}

TEST(GraphFaults, ValuesThatAreDefinedTwice) {
  const Message w = initializer("w", Tensor::scalar(1.0f)), z = initializer("z", Tensor::scalar(1.0f));
  expect_faults({
      {"by two nodes",
       with_nodes({{"Neg", {"x"}, {"z"}, {}, "one"}, {"Exp", {"x"}, {"z"}, {}, "two"}}),
       {"node 'two' (Exp)", "'z' is defined already"}},
      {"by one node", node_of("Unique", {"x"}, {}, {"z", "z"}), {"node 'bad' (Unique)", "'z' is defined already"}},
      {"by a node and an initializer",
       changed([&](GraphSpec& s) { s.initializers = {z}; }),
       {"node 'sum' (Add)", "'z' is defined already"}},
      {"by a node and an input",
       changed([](GraphSpec& s) { s.nodes[0].outputs = {"x"}; }),
       {"node 'sum' (Add)", "'x' is defined already"}},
      {"by a Constant",
       with_nodes({{"Neg", {"x"}, {"z"}}, {"Constant", {}, {"z"}, {attr("value_int", 1)}, "two"}}),
       {"node 'two' (Constant)", "'z' is defined already"}},
      {"by two inputs", changed([](GraphSpec& s) { s.inputs.push_back(s.inputs[0]); }), {"input 'x'", "defined twice"}},
      {"by two initializers", changed([&](GraphSpec& s) { s.initializers = {w, w}; }), {"initializer", "'w'"}},
      {"by an initializer and a sparse one",
       changed([&](GraphSpec& s) {
         s.initializers = {w};
         s.sparse = {number(text(text({}, 1, initializer("w", Tensor::of<float>({1}, {5}))), 2,
                                 initializer("", Tensor::of<std::int64_t>({1}, {0}))),
                            3, 2)};
       }),
       {"initializer", "'w'"}},
      {"by two nodes of a branch",
       with_nodes({if_node(block_of({{"Neg", {"x"}, {"r"}}, {"Exp", {"x"}, {"r"}, {}, "two"}}), good_block())}),
       {"node 'two' (Exp)", "'r' is defined already"}},
      {"by a body's inputs",
       with_nodes({{"Loop",
                    {"n", "c", "x"},
                    {"z"},
                    {graph_attr("body", block_of({}, {value("k"), value("k"), value("v")}, {"k", "v"}))},
                    "bad"}}),
       {"node 'bad' (Loop)", "'body'", "'k' is defined already"}},
      {"attributes",
       node_of("Softmax", {"x"}, {attr("axis", 0), attr("axis", 1)}),
       {"node 'bad' (Softmax)", "attribute 'axis' is given twice"}},
  });
}

TEST(GraphFaults, Attributes) {
  const std::vector<std::int64_t> ones{1, 1};
  expect_faults({
      {"float for int",
       node_of("Softmax", {"x"}, {attr("axis", 1.0f)}),
       {"node 'bad' (Softmax)", "'axis'", "expected int, got float"}},
      {"ints for int",
       node_of("Concat", {"x", "y"}, {attr("axis", ones)}),
       {"node 'bad' (Concat)", "'axis'", "expected int, got ints"}},
      {"int for ints",
       node_of("Transpose", {"x"}, {attr("perm", 1)}),
       {"node 'bad' (Transpose)", "'perm'", "expected ints, got int"}},
      {"int for float",
       node_of("LeakyRelu", {"x"}, {attr("alpha", 1)}),
       {"node 'bad' (LeakyRelu)", "'alpha'", "expected float, got int"}},
      {"string for int",
       node_of("Cast", {"x"}, {attr("to", "f32")}),
       {"node 'bad' (Cast)", "'to'", "expected int, got string"}},
      {"int for string",
       node_of("Pad", {"x", "i"}, {attr("mode", 1)}),
       {"node 'bad' (Pad)", "'mode'", "expected string, got int"}},
      {"tensor for floats",
       node_of("Constant", {}, {attr("value_floats", Tensor::scalar(1.0f))}),
       {"node 'bad' (Constant)", "'value_floats'", "expected floats, got tensor"}},
      {"int for tensor",
       node_of("ConstantOfShape", {"i"}, {attr("value", 1)}),
       {"node 'bad' (ConstantOfShape)", "'value'", "expected tensor, got int"}},
      {"graph for int",
       node_of("Softmax", {"x"}, {graph_attr("axis", good_block())}),
       {"node 'bad' (Softmax)", "'axis'", "expected int, got graph"}},
      {"int for graph",
       node_of("If", {"c"}, {attr("then_branch", 1), graph_attr("else_branch", good_block())}),
       {"node 'bad' (If)", "'then_branch'", "expected graph, got int"}},
      {"type for int",
       node_of("Softmax", {"x"}, {text(attribute("axis", 13), 14, tensor_type(Elem::f32, {}))}),
       {"node 'bad' (Softmax)", "'axis'", "expected int, got type"}},
      {"missing: Cast", node_of("Cast", {"x"}), {"node 'bad' (Cast)", "attribute 'to' is missing"}},
      {"missing: Concat", node_of("Concat", {"x", "y"}), {"node 'bad' (Concat)", "attribute 'axis' is missing"}},
      {"missing: Constant", node_of("Constant", {}), {"node 'bad' (Constant)", "'value'"}},
      {"missing: Split", node_of("LpPool", {"x"}), {"node 'bad' (LpPool)", "attribute 'kernel_shape' is missing"}},
      {"unknown",
       node_of("Relu", {"x"}, {attr("alpha", 1.0f)}),
       {"node 'bad' (Relu)", "unknown attribute 'alpha'", "it has none"}},
      {"unknown, others known",
       node_of("Gemm", {"x", "y"}, {attr("transa", 1)}),
       {"node 'bad' (Gemm)", "unknown attribute 'transa'", "'transA'"}},
      {"unknown: If",
       with_nodes({{"If",
                    {"c"},
                    {"z"},
                    {graph_attr("then_branch", good_block()), graph_attr("else_branch", good_block()), attr("axis", 1)},
                    "bad"}}),
       {"node 'bad' (If)", "unknown attribute 'axis'"}},
      {"unknown: Constant",
       node_of("Constant", {}, {attr("value_int", 1), attr("axis", 1)}),
       {"node 'bad' (Constant)", "'axis'"}},
      {"two values",
       node_of("Constant", {}, {attr("value_int", 1), attr("value_float", 1.0f)}),
       {"node 'bad' (Constant)", "'value_"}},
      {"without a name", node_of("Softmax", {"x"}, {attr("", 1)}), {"node 'bad' (Softmax)", "no name"}},
      {"without a value",
       node_of("Softmax", {"x"}, {text({}, 1, "axis")}),
       {"node 'bad' (Softmax)", "'axis'", "no value"}},
      {"of a type that nobody knows",
       node_of("Softmax", {"x"}, {attribute("axis", 77)}),
       {"node 'bad' (Softmax)", "'axis'", "77"},
       Code::unsupported},
      {"tensors",
       node_of("Softmax", {"x"}, {attribute("axis", 9)}),
       {"node 'bad' (Softmax)", "'axis'", "not supported"},
       Code::unsupported},
      {"a reference outside of functions",
       node_of("Softmax", {"x"}, {ref_attr("axis", 2, "a")}),
       {"node 'bad' (Softmax)", "'axis'", "outside of a function"}},
      {"a tensor with too little data",
       node_of("Constant", {}, {text(attribute("value", 4), 5, text(number(number({}, 1, 4), 2, 1), 9, "1234"))}),
       {"node 'bad' (Constant)", "'value'"}},
      {"a value outside of its range",
       node_of("Softmax", {"x"}, {attr("axis", 5)}),
       {"node 'bad' (Softmax)", "axis 5"}},
      {"a word that is not one of them",
       node_of("Pad", {"x", "i"}, {attr("mode", "mirror")}),
       {"node 'bad' (Pad)", "mirror"}},
      {"Cast to nothing", node_of("Cast", {"x"}, {attr("to", 0)}), {"node 'bad' (Cast)", "0"}},
      {"Cast to an unknown type", node_of("Cast", {"x"}, {attr("to", 99)}), {"node 'bad' (Cast)", "99"}},
  });
}

TEST(GraphFaults, OperatorsAndDomains) {
  const auto of = [](const std::string& op, const std::string& domain, const ModelSpec& spec = {}) {
    return with_nodes({{op, {"x"}, {"z"}, {}, "bad", domain}}, {"z"}, spec);
  };
  expect_faults({
      {"misspelt",
       of("Relo", ""),
       {"node 'bad' (Relo)", "no operator 'Relo'", "ai.onnx", "'Relu'", "custom"},
       Code::unsupported},
      {"wrong case", of("relu", ""), {"node 'bad' (relu)", "'Relu'"}, Code::unsupported},
      {"nothing is close", of("Frobnicate", ""), {"node 'bad' (Frobnicate)", "custom"}, Code::unsupported},
      {"an unknown domain", of("Relu", "com.acme"), {"node 'bad' (Relu)", "imports no opset of domain 'com.acme'"}},
      {"an unknown domain that is imported",
       of("Relu", "com.acme", {.opsets = {{"com.acme", 1}}}),
       {"node 'bad' (Relu)", "com.acme", "opset 1", "custom"},
       Code::unsupported},
      {"of another domain", of("Min2", ""), {"node 'bad' (Min2)", "domain 'frazil' has it"}, Code::unsupported},
      {"without a name", of("", ""), {"node 'bad' ()", "no operator"}},
      {"no opset", text(number({}, 1, 10), 7, graph(graph_over_inputs({{"Neg", {"x"}, {"z"}}}))), {"imports no opset"}},
      {"opset 0", with_nodes({{"Neg", {"x"}, {"z"}}}, {"z"}, {.opset = 0}), {"opset 0"}},
      {"opset -3", with_nodes({{"Neg", {"x"}, {"z"}}}, {"z"}, {.opset = -3}), {"opset -3"}},
      {"opset 1000",
       with_nodes({{"Neg", {"x"}, {"z"}, {}, "bad"}}, {"z"}, {.opset = 1000}),
       {"node 'bad' (Neg)", "opset 1000", "newer than"},
       Code::unsupported},
      {"ai.onnx.ml of opset 1000",
       of("Scaler", "ai.onnx.ml", {.opsets = {{"ai.onnx.ml", 1000}}}),
       {"node 'bad' (Scaler)", "opset 1000", "ai.onnx.ml"},
       Code::unsupported},
      {"ai.onnx.ml not imported",
       of("Scaler", "ai.onnx.ml"),
       {"node 'bad' (Scaler)", "imports no opset of domain 'ai.onnx.ml'"}},
      {"of a domain that has none",
       of("Relu", "ai.onnx.ml", {.opsets = {{"ai.onnx.ml", 3}}}),
       {"node 'bad' (Relu)", "domain 'ai.onnx' has it"},
       Code::unsupported},
  });
}

TEST(GraphFaults, Ports) {
  expect_faults({
      {"too many: Neg", node_of("Neg", {"x", "y"}), {"node 'bad' (Neg)", "at most 1 input", "got 2"}},
      {"too many: Add", node_of("Add", {"x", "y", "x"}), {"node 'bad' (Add)", "at most 2 inputs", "got 3"}},
      {"too many: Constant", node_of("Constant", {"x"}, {attr("value_int", 1)}), {"node 'bad' (Constant)", "input"}},
      {"too many: Identity", node_of("Identity", {"x", "y"}), {"node 'bad' (Identity)", "input"}},
      {"too many: If",
       with_nodes({{"If",
                    {"c", "x"},
                    {"z"},
                    {graph_attr("then_branch", good_block()), graph_attr("else_branch", good_block())},
                    "bad"}}),
       {"node 'bad' (If)", "at most 1 input"}},
      {"too few: Add", node_of("Add", {"x"}), {"node 'bad' (Add)", "input 'B' is missing"}},
      {"too few: Neg", node_of("Neg", {}), {"node 'bad' (Neg)", "input 'X' is missing"}},
      {"too few: Concat", node_of("Concat", {}, {attr("axis", 0)}), {"node 'bad' (Concat)", "input"}},
      {"too few: Identity", node_of("Identity", {}), {"node 'bad' (Identity)", "input"}},
      {"too few: Gather", node_of("Gather", {"x"}), {"node 'bad' (Gather)", "input 'indices' is missing"}},
      {"absent: Add", node_of("Add", {"", "x"}), {"node 'bad' (Add)", "input 'A' is missing"}},
      {"absent: Identity", node_of("Identity", {""}), {"node 'bad' (Identity)", "input"}},
      {"absent: Concat", node_of("Concat", {"x", "", "y"}, {attr("axis", 0)}), {"node 'bad' (Concat)", "input"}},
      {"absent: Where", node_of("Where", {"c", "", "y"}), {"node 'bad' (Where)", "input 'X' is missing"}},
      {"absent: If",
       with_nodes({{"If",
                    {""},
                    {"z"},
                    {graph_attr("then_branch", good_block()), graph_attr("else_branch", good_block())},
                    "bad"}}),
       {"node 'bad' (If)", "'cond'"}},
      {"too many outputs: Neg", node_of("Neg", {"x"}, {}, {"z", "w"}), {"node 'bad' (Neg)", "at most 1 output", "2"}},
      {"too many outputs: TopK",
       node_of("TopK", {"x", "i"}, {}, {"z", "w", "v"}),
       {"node 'bad' (TopK)", "2 outputs", "3"}},
      {"too many outputs: Constant",
       node_of("Constant", {}, {attr("value_int", 1)}, {"z", "w"}),
       {"node 'bad' (Constant)", "output"}},
      {"too many outputs: Identity", node_of("Identity", {"x"}, {}, {"z", "w"}), {"node 'bad' (Identity)", "output"}},
      {"too many outputs: If",
       with_nodes({{"If",
                    {"c"},
                    {"z", "w"},
                    {graph_attr("then_branch", good_block()), graph_attr("else_branch", good_block())},
                    "bad"}}),
       {"node 'bad' (If)", "output"}},
      {"too many outputs: Split",
       node_of("Split", {"x"}, {attr("num_outputs", 2)}, {"z", "w", "v"}),
       {"node 'bad' (Split)", "3"}},
      {"no outputs", with_nodes({{"Neg", {"x"}, {}, {}, "bad"}}, {"x"}), {"node 'bad' (Neg)", "no outputs"}},
  });
}

TEST(GraphFaults, Types) {
  expect_faults({
      {"f32 and f64", node_of("Add", {"x", "d"}), {"node 'bad' (Add)", "'B'", "f32", "f64[2,3]"}},
      {"Neg of strings", node_of("Neg", {"t"}), {"node 'bad' (Neg)", "'X'", "string[2]"}},
      {"MatMul of strings", node_of("MatMul", {"t", "t"}), {"node 'bad' (MatMul)", "'A'", "string[2]"}},
      {"Not of floats", node_of("Not", {"x"}), {"node 'bad' (Not)", "bool", "f32[2,3]"}},
      {"Where on a float",
       node_of("Where", {"x", "x", "y"}),
       {"node 'bad' (Where)", "'condition'", "bool", "f32[2,3]"}},
      {"Gather by floats", node_of("Gather", {"x", "y"}), {"node 'bad' (Gather)", "'indices'", "f32[2,3]"}},
      {"Reshape by floats", node_of("Reshape", {"x", "y"}), {"node 'bad' (Reshape)", "'shape'", "f32[2,3]"}},
      {"Concat of two", node_of("Concat", {"x", "d"}, {attr("axis", 0)}), {"node 'bad' (Concat)", "f64[2,3]"}},
      {"Add of a sequence", node_of("Add", {"x", "q"}), {"node 'bad' (Add)", "'B'", "expected a tensor", "seq<f32[]>"}},
      {"SequenceAt of a tensor", node_of("SequenceAt", {"x", "n"}), {"node 'bad' (SequenceAt)", "f32[2,3]"}},
      {"SequenceInsert of another type", node_of("SequenceInsert", {"q", "d"}), {"node 'bad' (SequenceInsert)", "f64"}},
      {"If on an integer",
       with_nodes({{"If",
                    {"n"},
                    {"z"},
                    {graph_attr("then_branch", good_block()), graph_attr("else_branch", good_block())},
                    "bad"}}),
       {"node 'bad' (If)", "'cond'", "expected bool, got i64[]"}},
      {"If on a vector",
       with_nodes({{"Cast", {"i"}, {"v"}, {attr("to", 9)}},
                   {"If",
                    {"v"},
                    {"z"},
                    {graph_attr("then_branch", good_block()), graph_attr("else_branch", good_block())},
                    "bad"}}),
       {"node 'bad' (If)", "'cond'", "bool[2]"}},
      {"branches of two types",
       with_nodes({if_node(good_block(), block_of({{"Neg", {"d"}, {"r"}}}))}),
       {"node 'choose' (If)", "f32[2,3]", "f64[2,3]"}},
      {"a branch with a sequence",
       with_nodes({if_node(good_block(), block_of({}, {}, {"q"}))}),
       {"node 'choose' (If)", "f32[2,3]", "seq<f32[]>"}},
  });
}

/// TensorProto of f32 with these dims and 4 bytes of data.
Message tensor_of(const std::vector<std::int64_t>& dims, std::string_view name = "w", int type = 1) {
  Message m;
  for (const std::int64_t d : dims) m = number(m, 1, d);
  return text(text(number(m, 2, type), 8, name), 9, std::string_view("\0\0\0\0", 4));
}
Message with_weight(const Message& tensor) {
  return changed([&](GraphSpec& s) {
    s.initializers = {tensor};
    s.nodes[0].inputs[1] = "w";
  });
}
Message with_input(const Message& info) {
  return changed([&](GraphSpec& s) { s.inputs.push_back(info); });
}
Message dims_type(const std::vector<std::int64_t>& dims) {
  Message shape;
  for (const std::int64_t d : dims) shape = text(shape, 1, number({}, 1, d));
  return text({}, 1, text(number({}, 1, 1), 2, shape));
}

TEST(GraphFaults, Shapes) {
  constexpr std::int64_t kHuge = 1'000'000'000'000;
  expect_faults({
      {"an initializer of 10^12 elements", with_weight(tensor_of({kHuge})), {"'w'", "f32[1000000000000]"}},
      {"10^12 elements on two axes", with_weight(tensor_of({1'000'000, 1'000'000})), {"'w'", "f32[1000000,1000000]"}},
      {"more than 64 bits", with_weight(tensor_of({kHuge, kHuge, kHuge})), {"'w'"}},
      {"a negative extent", with_weight(tensor_of({-1})), {"'w'", "-1"}},
      {"the most negative extent",
       with_weight(tensor_of({std::numeric_limits<std::int64_t>::min()})),
       {"'w'", "-9223372036854775808"}},
      {"less data than elements", with_weight(tensor_of({2})), {"'w'", "f32[2]"}},
      {"more data than elements", with_weight(tensor_of({0})), {"'w'", "f32[0]"}},
      {"an element type that nobody knows", with_weight(tensor_of({1}, "w", 99)), {"'w'", "99"}, Code::unsupported},
      {"no element type", with_weight(tensor_of({1}, "w", 0)), {"'w'"}},
      {"an initializer without a name", with_weight(tensor_of({1}, "")), {"initializer", "no name"}},
      {"an input with an extent of 2^63 - 1",
       with_input(value("w", dims_type({std::numeric_limits<std::int64_t>::max()}))),
       {"input 'w'", "9223372036854775807"}},
      {"an input without a type", with_input(value("w")), {"input 'w'", "type is not given"}},
      {"an input without an element type",
       with_input(value("w", text({}, 1, Message()))),
       {"input 'w'", "element type is not given"}},
      {"an input of an element type that nobody knows",
       with_input(value("w", text({}, 1, number({}, 1, 99)))),
       {"input 'w'", "99"},
       Code::unsupported},
      {"shapes that do not broadcast",
       with_nodes({{"Transpose", {"x"}, {"w"}}, {"Add", {"x", "w"}, {"z"}, {}, "bad"}}),
       {"node 'bad' (Add)", "[2,3]", "[3,2]"}},
      {"a product of [2,3] and [2,3]", node_of("MatMul", {"x", "y"}), {"node 'bad' (MatMul)", "3", "2"}},
      {"Concat of two ranks", node_of("Concat", {"i", "n"}, {attr("axis", 0)}), {"node 'bad' (Concat)"}},
      {"a permutation of three axes",
       node_of("Transpose", {"x"}, {attr("perm", std::vector<std::int64_t>{0, 1, 2})}),
       {"node 'bad' (Transpose)", "perm"}},
      {"a reshape to another size",
       with_nodes({{"Constant", {}, {"s"}, {attr("value_ints", std::vector<std::int64_t>{4, 2})}},
                   {"Reshape", {"x", "s"}, {"z"}, {}, "bad"}}),
       {"node 'bad' (Reshape)"}},
      {"a reshape to a negative extent",
       with_nodes({{"Constant", {}, {"s"}, {attr("value_ints", std::vector<std::int64_t>{-2, 3})}},
                   {"Reshape", {"x", "s"}, {"z"}, {}, "bad"}}),
       {"node 'bad' (Reshape)", "-2"}},
      {"a filling of a negative extent",
       with_nodes({{"Constant", {}, {"s"}, {attr("value_ints", std::vector<std::int64_t>{-2, 3})}},
                   {"ConstantOfShape", {"s"}, {"z"}, {}, "bad"}}),
       {"node 'bad' (ConstantOfShape)", "-2"}},
  });
}

TEST(GraphFaults, ExtentsThatSayNothingOrMuchAreTaken) {
  for (const std::int64_t extent : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1'000'000'000'000}}) {
    const Graph g = imported(import(with_input(value("w", dims_type({extent})))));
    EXPECT_EQ(type_of(g, g.main().params.back()), extent < 0 ? "f32[w.0]" : fmt::format("f32[{}]", extent));
  }
}

NodeSpec loop_of(const Message& body, const Names& inputs, const Names& outputs) {
  return {"Loop", inputs, outputs, {graph_attr("body", body)}, "bad"};
}
NodeSpec scan_of(const Message& body, const Names& inputs, std::int64_t scanned, const Names& outputs = {"z"}) {
  return {"Scan", inputs, outputs, {graph_attr("body", body), attr("num_scan_inputs", scanned)}, "bad"};
}

TEST(GraphFaults, Subgraphs) {
  const std::vector<Message> three = {value("k"), value("on"), value("v")};
  const Message body = block_of({{"Neg", {"v"}, {"w"}}}, three, {"on", "w"});
  const Message row = block_of({{"Neg", {"v"}, {"w"}}}, {value("v")}, {"w"});
  expect_faults({
      {"If without a branch",
       with_nodes({{"If", {"c"}, {"z"}, {graph_attr("then_branch", good_block())}, "bad"}}),
       {"node 'bad' (If)", "attribute 'else_branch' is missing"}},
      {"If without branches",
       with_nodes({{"If", {"c"}, {"z"}, {}, "bad"}}),
       {"node 'bad' (If)", "attribute 'then_branch' is missing"}},
      {"Loop without a body",
       with_nodes({{"Loop", {"n", "c", "x"}, {"z"}, {}, "bad"}}),
       {"node 'bad' (Loop)", "attribute 'body' is missing"}},
      {"Scan without a body",
       with_nodes({{"Scan", {"x"}, {"z"}, {attr("num_scan_inputs", 1)}, "bad"}}),
       {"node 'bad' (Scan)", "attribute 'body' is missing"}},
      {"Scan without a count",
       with_nodes({{"Scan", {"x"}, {"z"}, {graph_attr("body", row)}, "bad"}}),
       {"node 'bad' (Scan)", "attribute 'num_scan_inputs' is missing"}},
      {"Scan over more than it has", with_nodes({scan_of(row, {"x"}, 2)}), {"node 'bad' (Scan)", "num_scan_inputs"}},
      {"Scan over none", with_nodes({scan_of(row, {"x"}, 0)}), {"node 'bad' (Scan)", "num_scan_inputs"}},
      {"Scan over a scalar", with_nodes({scan_of(row, {"n"}, 1)}), {"node 'bad' (Scan)"}},
      {"a branch with inputs",
       with_nodes({if_node(block_of({{"Neg", {"p"}, {"r"}}}, {f32("p", {"2"})}), good_block())}),
       {"node 'choose' (If)", "body takes 1 inputs, expected 0"}},
      {"a branch with two results",
       with_nodes({if_node(block_of({}, {}, {"x", "y"}), good_block())}),
       {"node 'choose' (If)", "2", "1"}},
      {"a branch with no result",
       with_nodes({if_node(block_of({}, {}, {}), good_block())}),
       {"node 'choose' (If)", "0"}},
      {"a body with too few inputs",
       with_nodes({loop_of(block_of({}, {value("k"), value("on")}, {"on", "x"}), {"n", "c", "x"}, {"z"})}),
       {"node 'bad' (Loop)", "body takes 2 inputs, expected 3"}},
      {"a body with too many inputs",
       with_nodes({loop_of(body, {"n", "c"}, {"z"})}),
       {"node 'bad' (Loop)", "body takes 3 inputs, expected 2"}},
      {"a body that gives too little",
       with_nodes({loop_of(block_of({}, three, {"on"}), {"n", "c", "x"}, {"z"})}),
       {"node 'bad' (Loop)"}},
      {"a body that gives nothing",
       with_nodes({loop_of(block_of({}, three, {}), {"n", "c", "x"}, {"z"})}),
       {"node 'bad' (Loop)"}},
      {"more outputs than the body gives",
       with_nodes({loop_of(body, {"n", "c", "x"}, {"z", "all"})}),
       {"node 'bad' (Loop)"}},
      {"a condition that is none",
       with_nodes({loop_of(block_of({}, three, {"k", "v"}), {"n", "c", "x"}, {"z"})}),
       {"node 'bad' (Loop)", "i64[]"}},
      {"a carried value that changes its type",
       with_nodes({loop_of(block_of({}, three, {"on", "d"}), {"n", "c", "x"}, {"z"})}),
       {"node 'bad' (Loop)", "f32[2,3]", "f64[2,3]"}},
      {"a body that cannot be typed",
       with_nodes(
           {loop_of(block_of({{"Add", {"v", "t"}, {"w"}, {}, "inner"}}, three, {"on", "w"}), {"n", "c", "x"}, {"z"})}),
       {"node 'bad' (Loop), attribute 'body': node 'inner' (Add)", "'B'", "string[2]"}},
      {"a carried value that is absent",
       with_nodes({loop_of(body, {"n", "c", ""}, {"z"})}),
       {"node 'bad' (Loop)", "body takes 3 inputs, expected 2"}},
      {"the first of two carried values is absent",
       with_nodes({loop_of(body, {"n", "c", "", "x"}, {"z"})}),
       {"node 'bad' (Loop)", "input 2 ('v_initial') is missing"}},
      {"an unknown operator inside",
       with_nodes({if_node(block_of({{"Relo", {"x"}, {"r"}, {}, "inner"}}), good_block())}),
       {"node 'choose' (If), attribute 'then_branch': node 'inner' (Relo)", "'Relu'"},
       Code::unsupported},
      {"a bad initializer inside",
       with_nodes({if_node(good_block() + text({}, 5, tensor_of({2})), good_block())}),
       {"node 'choose' (If), attribute 'then_branch': ", "'w'", "f32[2]"}},
      {"a graph that is none", with_nodes({if_node("\xff\xff", good_block())}), {"damaged"}},
  });
}

TEST(GraphFaults, OfDeepBlocksNameTheOuterTwoAndTheLast) {
  Message inner = block_of({{"Neg", {"u"}, {"r"}, {}, "deep"}});
  for (int k = 9; k >= 0; --k) inner = block_of({if_node(good_block(), inner, fmt::format("if{}", k), "r")});
  expect_fault(import(with_nodes({if_node(inner, good_block(), "top")})), Code::bad_model,
               {"node 'top' (If), attribute 'then_branch': node 'if0' (If), attribute 'else_branch': 8 levels deeper: "
                "node 'if9' (If), attribute 'else_branch': node 'deep' (Neg): input 'u' is not defined"});
}

}  // namespace
}  // namespace frazil::test
