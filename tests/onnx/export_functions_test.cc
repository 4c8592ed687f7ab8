// Calls of model-local functions, which an import inlines, written as calls again.
#include "import_testing.h"
#include "ir/edit/patch.h"
#include "ir/graph/model_info.h"
#include "ir/text/text.h"
#include "onnx/export/export.h"
#include "onnx/read/wire.h"
#include "ops/elementwise/math.h"

namespace frazil::test {
namespace {

NodeSpec named_call(const std::string& function, const Names& in, const Names& out, const std::string& name = {},
                    const std::vector<Message>& attrs = {}) {
  return {function, in, out, attrs, name, "local"};
}

/// block(data, weight) = Relu(data * weight + 1), with the product as a second output.
const FunctionSpec kBlock{.name = "block",
                          .inputs = {"data", "weight"},
                          .outputs = {"result", "product"},
                          .attributes = {"by"},
                          .nodes = {{"Mul", {"data", "weight"}, {"product"}, {}, "scale"},
                                    {"Constant", {}, {"one"}, {ref_attr("value_float", 1, "by")}},
                                    {"Add", {"product", "one"}, {"sum"}, {}, "shift"},
                                    {"Relu", {"sum"}, {"result"}, {}, "clip"}}};

GraphSpec model_of(const std::vector<NodeSpec>& nodes) {
  return {.nodes = nodes, .inputs = {f32("x", {"2"}), f32("w", {"2"})}, .outputs = {value("z")}};
}

Graph import_calls(const std::vector<NodeSpec>& nodes, const std::vector<FunctionSpec>& functions = {kBlock}) {
  return imported(import(model_of(nodes), {.functions = functions}));
}

/// The functions of an exported model: "block(data, weight) -> result: Mul Add; ...; graph: block Neg".
std::string signatures(const std::string& model) {
  const auto bytes = std::as_bytes(std::span(model));
  const auto nodes = [](onnx::Bytes whole, onnx::Tag tag) {
    std::string names;
    onnx::Reader reader(whole);
    while (reader.next()) {
      if (reader.tag() != tag) {
        reader.skip();
        continue;
      }
      const auto node = onnx::read_node(onnx::message_field(reader).value());
      names += " " + std::string(node->op);
    }
    return names;
  };
  const auto parts = onnx::read_model(bytes);
  std::string said;
  for (const onnx::FunctionParts& f : parts->functions) {
    said += fmt::format("{}({}) -> {}:{}; ", f.name, fmt::join(f.inputs, ", "), fmt::join(f.outputs, ", "),
                        nodes(f.whole, onnx::kFunctionNode));
  }
  return said + "graph:" + nodes(parts->graph, onnx::kGraphNode);
}

/// Exports, and expects that importing the result gives the same text.
std::string exported(const Graph& graph) {
  const auto model = onnx::export_model(graph);
  EXPECT_TRUE(model) << model.error().text();
  if (!model) return {};
  const Graph again = imported(import(*model));
  EXPECT_EQ(structural_hash(again), structural_hash(graph));
  EXPECT_EQ(print(again), print(graph));
  return *model;
}

TEST(ExportFunctions, EqualCallsShareOne) {
  const Graph g = import_calls({named_call("block", {"x", "w"}, {"h"}, "first", {attr("by", 1.0f)}),
                                named_call("block", {"h", "w"}, {"z"}, "second", {attr("by", 1.0f)})});
  EXPECT_EQ(signatures(exported(g)),
            "block(data, weight) -> result, product: Mul Constant Add Relu; graph: block block");
}

TEST(ExportFunctions, OtherAttributesGetAnotherName) {
  const Graph g = import_calls({named_call("block", {"x", "w"}, {"h"}, "first", {attr("by", 1.0f)}),
                                named_call("block", {"h", "w"}, {"u"}, "second", {attr("by", 2.0f)}),
                                named_call("block", {"u", "w"}, {"z"}, "third", {attr("by", 1.0f)})});
  EXPECT_EQ(signatures(exported(g)),
            "block(data, weight) -> result, product: Mul Constant Add Relu; "
            "block_2(data, weight) -> result, product: Mul Constant Add Relu; graph: block block_2 block");
}

TEST(ExportFunctions, CallEachOther) {
  const FunctionSpec outer{.name = "outer",
                           .inputs = {"p", "q"},
                           .outputs = {"r"},
                           .nodes = {named_call("block", {"p", "q"}, {"t"}, "inner", {attr("by", 3.0f)}),
                                     {"Neg", {"t"}, {"s"}},
                                     named_call("block", {"s", "q"}, {"r"}, "", {attr("by", 3.0f)})}};
  const Graph g = import_calls({named_call("outer", {"x", "w"}, {"z"}, "all")}, {kBlock, outer});
  EXPECT_EQ(signatures(exported(g)),
            "block(data, weight) -> result, product: Mul Constant Add Relu; "
            "outer(p, q) -> r: block Neg block; graph: outer");
}

TEST(ExportFunctions, WithBlocksAndWhatTheyCapture) {
  const Message yes = graph({.nodes = {{"Add", {"p", "x"}, {"a"}}}, .inputs = {}, .outputs = {value("a")}});
  const Message no = graph({.nodes = {{"Neg", {"p"}, {"b"}}}, .inputs = {}, .outputs = {value("b")}});
  // x is the function's own name here: an input that only a branch reads.
  const FunctionSpec choose{
      .name = "choose",
      .inputs = {"p", "x"},
      .outputs = {"r"},
      .nodes = {{"ReduceMax", {"p"}, {"most"}, {attr("keepdims", 0)}},
                {"Constant", {}, {"zero"}, {attr("value_float", 0.0f)}},
                {"Greater", {"most", "zero"}, {"on"}},
                {"If", {"on"}, {"r"}, {graph_attr("then_branch", yes), graph_attr("else_branch", no)}, "either"}}};
  const Graph g = import_calls(
      {{"Abs", {"w"}, {"v"}}, named_call("choose", {"x", "v"}, {"z"}, "c"), {"Neg", {"v"}, {"rest"}}}, {choose});
  EXPECT_EQ(signatures(exported(g)), "choose(p, x) -> r: ReduceMax Constant Greater If; graph: Abs choose Neg");
}

TEST(ExportFunctions, KeepsWhatTheySayOfThemselves) {
  FunctionSpec block = kBlock;
  block.overload = "f32";
  block.more = text({}, 8, "one layer");
  NodeSpec node = named_call("block", {"x", "w"}, {"z"}, "first", {attr("by", 1.0f)});
  node.overload = "f32";
  node.more = text({}, 6, "the first layer");
  const Graph g = import_calls({node}, {block});
  const Graph again = imported(import(exported(g)));
  ASSERT_EQ(again.info->functions.size(), 1U);
  EXPECT_EQ(again.info->functions[0].notes.doc, "one layer");
  EXPECT_EQ(again.info->functions[0].overload, "f32");
  EXPECT_EQ(again.info->calls[0].notes.doc, "the first layer");
  EXPECT_EQ(again.info->calls[0].name, "first");
}

// ---- incomplete calls ----

Value value_named(const Graph& g, std::string_view name) {
  for (std::uint32_t v = 0; v < g.value_count(); ++v) {
    if (g.value_name(Value{v}) == name) return Value{v};
  }
  ADD_FAILURE() << "no value '" << name << "'";
  return {};
}

TEST(ExportFunctions, AnEditInsideLeavesTheNodes) {
  const Graph g = import_calls({named_call("block", {"x", "w"}, {"z"}, "first", {attr("by", 1.0f)})});
  Patch patch(g, "another activation");
  const Value sum = value_named(g, "first/sum");
  patch.replace(sum, ops::Tanh(patch.tap(sum)));
  const Graph edited = imported(std::move(patch).commit());
  const std::string model = onnx::export_model(edited).value();
  EXPECT_EQ(signatures(model), "graph: Mul Add Tanh Relu");
  EXPECT_EQ(structural_hash(imported(import(model))), structural_hash(edited));
}

TEST(ExportFunctions, AnEditOutsideLeavesTheCall) {
  const Graph g =
      import_calls({named_call("block", {"x", "w"}, {"h"}, "first", {attr("by", 1.0f)}), {"Neg", {"h"}, {"z"}}});
  Patch patch(g, "one more output");
  patch.build().output("p", patch.tap(value_named(g, "first/product")));
  const Graph edited = imported(std::move(patch).commit());
  EXPECT_EQ(signatures(onnx::export_model(edited).value()),
            "block(data, weight) -> result, product: Mul Constant Add Relu; graph: block Neg");
}

TEST(ExportFunctions, OfAnOperatorsNameStayInPlace) {
  const FunctionSpec gelu{.name = "Gelu",
                          .inputs = {"a"},
                          .outputs = {"r"},
                          .nodes = {{"Neg", {"a"}, {"b"}}, {"Exp", {"b"}, {"r"}}},
                          .domain = "com.microsoft"};
  const GraphSpec spec = model_of({{"Gelu", {"x"}, {"z"}, {}, "g", "com.microsoft"}});
  const Graph g = imported(import(spec, {.functions = {gelu}, .opsets = {{"com.microsoft", 1}}}));
  EXPECT_EQ(signatures(exported(g)), "graph: Neg Exp");
}

}  // namespace
}  // namespace frazil::test
