// Metadata of models.
#include "import_testing.h"
#include "ir/edit/patch.h"
#include "ir/edit/rebuild.h"
#include "ir/graph/model_info.h"

namespace frazil::test {
namespace {

Message property(int tag, std::string_view key, std::string_view text_value) {
  return text({}, tag, text(text({}, 1, key), 2, text_value));
}

GraphSpec noted() {
  const Message notes = text({}, 6, "doubles") + property(9, "layer", "3") + property(9, "layer", "again");
  return {.nodes = {{"Neg", {"x"}, {"n"}, {}, "first", {}, {}, notes},
                    {"Scatter", {"n", "i", "x"}, {"z"}, {}, "old", {}, {}, text({}, 6, "renamed")},
                    {"Identity", {"z"}, {"y"}, {}, "gone", {}, {}, text({}, 6, "no node")}},
          .inputs = {f32("x", {"2"}) + text({}, 3, "the input") + property(4, "unit", "m"),
                     value("i", tensor_type(Elem::i64, {"2"}))},
          .outputs = {value("y") + text({}, 3, "the output")},
          .initializers = {initializer("w", Tensor::scalar(1.0f)) + text({}, 12, "a weight")},
          .more = text({}, 10, "a graph") + property(16, "g", "1") +
                  text({}, 14,
                       text({}, 1, "n") + property(2, "SCALE_TENSOR", "w") + property(2, "ZERO_POINT_TENSOR", "w0"))};
}

Graph noted_graph() {
  const Message head = text({}, 2, "maker") + text({}, 3, "1.2") + text({}, 4, "com.acme") + number({}, 5, 7) +
                       text({}, 6, "a model\n\xff") + property(14, "author", "a") + property(14, "license", "l");
  return imported(import(noted(), {.opset = 10, .ir = 5, .opsets = {{"com.acme", 2}}, .more = head}));
}

TEST(ImportInfo, IsKept) {
  const Graph g = noted_graph();
  ASSERT_NE(g.info, nullptr);
  const ModelInfo& info = *g.info;
  EXPECT_EQ(info.ir_version, 5);
  EXPECT_EQ(info.model_version, 7);
  EXPECT_EQ(info.producer, "maker");
  EXPECT_EQ(info.producer_version, "1.2");
  EXPECT_EQ(info.domain, "com.acme");
  EXPECT_THAT(info.opsets, testing::ElementsAre(testing::Pair("", 10), testing::Pair("com.acme", 2)));
  EXPECT_EQ(info.model.doc, "a model\n\xff");
  EXPECT_EQ(info.model.metadata, (Properties{{"author", "a"}, {"license", "l"}}));
  EXPECT_EQ(info.graph.doc, "a graph");
  EXPECT_EQ(info.graph.metadata, (Properties{{"g", "1"}}));
  ASSERT_EQ(info.quantization.size(), 1u);
  EXPECT_EQ(info.quantization[0].tensor, "n");
  EXPECT_EQ(info.quantization[0].parameters, (Properties{{"SCALE_TENSOR", "w"}, {"ZERO_POINT_TENSOR", "w0"}}));
  EXPECT_EQ(info.values.at("x").doc, "the input");
  EXPECT_EQ(info.values.at("x").metadata, (Properties{{"unit", "m"}}));
  EXPECT_EQ(info.values.at("y").doc, "the output");
  EXPECT_EQ(info.values.at("w").doc, "a weight");
  EXPECT_FALSE(info.values.contains("i"));
}

/// The doc string of the node with this name.
std::string doc_of(const Graph& g, std::string_view name) {
  for (const NodeId id : g.main().nodes) {
    if (g.node(id).name != name) continue;
    const auto found = g.info->nodes.find(g.node(id).stable);
    return found == g.info->nodes.end() ? "none" : found->second.doc;
  }
  return "no node";
}

TEST(ImportInfo, FollowsNodes) {
  const Graph g = noted_graph();
  EXPECT_EQ(doc_of(g, "first"), "doubles");
  EXPECT_EQ(doc_of(g, "old"), "renamed");
  EXPECT_EQ(g.info->nodes.size(), 2u);
  const Graph again = rebuild(g, choices_of(g)).value();
  EXPECT_EQ(again.info, g.info);
  EXPECT_EQ(doc_of(again, "old"), "renamed");
  Patch patch(g, "rename");
  patch.rename(g.main().nodes[0], "other");
  const Graph patched = std::move(patch).commit().value();
  EXPECT_EQ(doc_of(patched, "other"), "doubles");
}

TEST(ImportInfo, InFunctionsAndBlocks) {
  const FunctionSpec f{.name = "f",
                       .inputs = {"a"},
                       .outputs = {"r"},
                       .attributes = {},
                       .nodes = {{"Neg", {"a"}, {"r"}, {}, "n", {}, {}, text({}, 6, "in f")}}};
  const Graph g =
      imported(import({.nodes = {{"f", {"x"}, {"u"}, {}, "one", "local"}, {"f", {"u"}, {"z"}, {}, "two", "local"}},
                       .inputs = {f32("x", {})},
                       .outputs = {value("z")}},
                      {.functions = {f}}));
  EXPECT_EQ(doc_of(g, "one/n"), "in f");
  EXPECT_EQ(doc_of(g, "two/n"), "in f");
}

}  // namespace
}  // namespace frazil::test
