// Import of operators of domain com.microsoft, and of the one that ONNX Runtime adds to ai.onnx.
#include "import_testing.h"

namespace frazil::test {
namespace {

const ModelSpec kWithMicrosoft{.opset = 17, .opsets = {{"com.microsoft", 1}}};

/// A node of domain com.microsoft from the inputs to output z.
GraphSpec microsoft_graph(const std::string& op, const Names& inputs, const std::vector<Message>& attrs = {}) {
  GraphSpec spec{.nodes = {{op, inputs, {"z"}, attrs, "n", "com.microsoft"}}, .inputs = {}, .outputs = {value("z")}};
  for (const std::string& name : inputs) spec.inputs.push_back(f32(name, {"N", "3"}));
  return spec;
}

TEST(ImportMicrosoft, OperatorsWithAttributes) {
  const Graph g = imported(
      import(microsoft_graph("FusedMatMul", {"x", "y"}, {attr("transB", 1), attr("alpha", 0.5f)}), kWithMicrosoft));
  ASSERT_EQ(op_names(g), "FusedMatMul");
  EXPECT_EQ(node_at(g, 0).op->domain, "com.microsoft");
  expect_attr(node_at(g, 0), "alpha", 0.5f);
  EXPECT_EQ(output_type(g), "f32[N,N]");
}

TEST(ImportMicrosoft, NamesThatAiOnnxHasToo) {
  for (const char* op : {"Gelu", "Trilu"}) {
    const Graph g = imported(import(microsoft_graph(op, {"x"}), kWithMicrosoft));
    ASSERT_EQ(op_names(g), op);
    EXPECT_EQ(node_at(g, 0).op->domain, "com.microsoft") << op;
    EXPECT_EQ(output_type(g), "f32[N,3]") << op;
  }
}

/// Upgrade rules of ai.onnx do not apply to opset 1 of this domain: Pad's pads remain an input.
TEST(ImportMicrosoft, OldOpsetsOfAiOnnxDoNotApply) {
  GraphSpec spec = microsoft_graph("Pad", {"x", "pads"});
  spec.inputs[1] = value("pads", tensor_type(Elem::i64, {"4"}));
  const Graph g = imported(import(spec, kWithMicrosoft));
  ASSERT_EQ(op_names(g), "Pad");
  EXPECT_EQ(node_at(g, 0).in[1], g.main().params[1]);
}

TEST(ImportMicrosoft, SimplifiedLayerNormalizationOfBothDomains) {
  for (const char* domain : {"", "com.microsoft"}) {
    GraphSpec spec = microsoft_graph("SimplifiedLayerNormalization", {"x", "scale"}, {attr("epsilon", 0.5f)});
    spec.nodes[0].domain = domain;
    spec.inputs[1] = f32("scale", {"3"});
    const Graph g = imported(import(spec, kWithMicrosoft));
    ASSERT_EQ(op_names(g), "SimplifiedLayerNormalization") << domain;
    EXPECT_EQ(node_at(g, 0).op->domain, domain);
    EXPECT_EQ(output_type(g), "f32[N,3]");
  }
}

TEST(ImportMicrosoft, OutputsLeftOutInTheMiddle) {
  GraphSpec spec = microsoft_graph("SkipLayerNormalization", {"x", "y", "gamma"});
  spec.inputs[2] = f32("gamma", {"3"});
  spec.nodes[0].outputs = {"z", "", "", "sum"};
  spec.outputs.push_back(value("sum"));
  const Graph g = imported(import(spec, kWithMicrosoft));
  ASSERT_EQ(op_names(g), "SkipLayerNormalization");
  EXPECT_EQ(output_type(g, 1), "f32[N,3]");
}

TEST(ImportMicrosoft, OnlyWhatIsImportedAndKnown) {
  const GraphSpec gelu = microsoft_graph("Gelu", {"x"});
  expect_fault(import(gelu, {.opset = 17}), Code::bad_model,
               {"'n' (Gelu)", "imports no opset of domain 'com.microsoft'"});
  expect_fault(import(gelu, {.opset = 17, .opsets = {{"com.microsoft", 2}}}), Code::unsupported,
               {"'n' (Gelu)", "opset 2 of domain 'com.microsoft' is newer than 1"});
  expect_fault(import(microsoft_graph("Rfft", {"x"}), kWithMicrosoft), Code::unsupported,
               {"'n' (Rfft)", "no operator 'Rfft' in domain 'com.microsoft'"});
  expect_fault(import(microsoft_graph("Gelu", {"x"}, {attr("approximate", "tanh")}), kWithMicrosoft), Code::bad_model,
               {"'n' (Gelu)", "approximate"});
}

}  // namespace
}  // namespace frazil::test
