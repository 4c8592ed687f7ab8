// Names, versions and declared types.
#include "import_testing.h"
#include "ref/ref.h"

namespace frazil::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const GraphSpec kNeg{.nodes = {{"Neg", {"x"}, {"z"}, {}, "n"}}, .inputs = {f32("x", {"2"})}, .outputs = {value("z")}};

/// The warnings of an import on stderr.
std::string warnings_of(const Message& bytes, bool well = true) {
  testing::internal::CaptureStderr();
  const auto result = import(bytes);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(result.has_value(), well) << (result ? "" : result.error().text());
  return said;
}

// ---- names ----

TEST(ImportNames, RepeatInSiblingBlocks) {
  const Message side = graph({.nodes = {{"Neg", {"x"}, {"t"}, {}, "same"}, {"Exp", {"t"}, {"r"}, {}, "same"}},
                              .inputs = {},
                              .outputs = {value("r")},
                              .initializers = {initializer("w", Tensor::scalar(1.0f))}});
  const auto choose = [&](const std::string& out) {
    return NodeSpec{"If", {"c"}, {out}, {graph_attr("then_branch", side), graph_attr("else_branch", side)}, "same"};
  };
  const Graph g = imported(import({.nodes = {choose("a"), choose("t"), {"Add", {"a", "t"}, {"z"}, {}, "same"}},
                                   .inputs = {f32("x", {"2"}), value("c", tensor_type(Elem::boolean, {}))},
                                   .outputs = {value("z")}}));
  EXPECT_EQ(op_names(g), "If If Add");
}

TEST(ImportNames, InnerOnesHideOuterOnes) {
  // ONNX forbids it, but models contain it: the innermost definition applies, from its position on.
  const Message side = graph({.nodes = {{"Neg", {"x"}, {"a"}}, {"Exp", {"a"}, {"x"}}, {"Log", {"x"}, {"r"}}},
                              .inputs = {},
                              .outputs = {value("r")}});
  const Graph g = imported(
      import({.nodes = {{"Abs", {"x"}, {"a"}},
                        {"If", {"c"}, {"y"}, {graph_attr("then_branch", side), graph_attr("else_branch", side)}},
                        {"Add", {"a", "x"}, {"u"}},
                        {"Add", {"u", "y"}, {"z"}}},
              .inputs = {f32("x", {"2"}), value("c", tensor_type(Elem::boolean, {}))},
              .outputs = {value("z")}}));
  const BlockId block = node_at(g, 1).blocks[0];
  EXPECT_EQ(node_at(g, 0, block).in[0], g.main().params[0]);
  EXPECT_EQ(node_at(g, 2, block).in[0], node_at(g, 1, block).out[0]);
  EXPECT_EQ(node_at(g, 2).in, (std::vector<Value>{node_at(g, 0).out[0], g.main().params[0]}));
}

TEST(ImportNames, OutputsMayBeAnything) {
  const GraphSpec spec{.nodes = {{"Neg", {"x"}, {"n"}}},
                       .inputs = {f32("x", {"2"}), f32("unused", {"N"})},
                       .outputs = {value("x"), value("w"), value("n"), value("n"), value("x")},
                       .initializers = {initializer("w", Tensor::scalar(1.0f))}};
  const Graph g = imported(import(spec));
  EXPECT_THAT(g.output_names(), ElementsAre("x", "w", "n"));
  EXPECT_EQ(g.main().results[0], g.main().params[0]);
  EXPECT_THAT(warnings_of(model(graph(spec))), HasSubstr("output 'n' is listed twice; it is given once"));
}

TEST(ImportNames, OptionalOutputsThatAreLeftOut) {
  const Graph g = imported(import({.nodes = {{"TopK", {"x", "k"}, {"", "i"}}, {"Dropout", {"x"}, {"d", ""}}},
                                   .inputs = {f32("x", {"4"})},
                                   .outputs = {value("i"), value("d")},
                                   .initializers = {initializer("k", Tensor::of<std::int64_t>({1}, {2}))}}));
  EXPECT_FALSE(node_at(g, 0).out[0]);
  EXPECT_EQ(output_type(g), "i64[2]");
}

TEST(ImportNames, ThatCannotBe) {
  const auto with = [](auto change) {
    GraphSpec spec = kNeg;
    change(spec);
    return import(spec);
  };
  const std::string bad = "b\xff";
  struct Case {
    Result<Graph> result;
    std::string says;
  };
  const Case cases[] = {
      {with([&](GraphSpec& s) { s.nodes[0].name = bad; }), R"(the name of a node is not UTF-8: 'b\xff')"},
      {with([&](GraphSpec& s) { s.nodes[0].op = bad; }), R"(the name of an operator is not UTF-8: 'b\xff')"},
      {with([&](GraphSpec& s) { s.nodes[0].outputs = {bad}; }), R"(the name of a node's output is not UTF-8: 'b\xff')"},
      {with([&](GraphSpec& s) { s.inputs.push_back(f32(bad, {})); }), R"(the name of an input is not UTF-8: 'b\xff')"},
      {with([&](GraphSpec& s) { s.inputs.push_back(f32("y", {bad})); }),
       R"(input 'y': the name of a dimension is not UTF-8)"},
      {with([&](GraphSpec& s) { s.initializers.push_back(initializer(bad, Tensor::scalar(1))); }),
       "initializer is not UTF-8"},
      {with([&](GraphSpec& s) { s.outputs = {value(bad)}; }), R"(output 'b\xff' is not defined)"},
      {with([&](GraphSpec& s) { s.outputs = {value("")}; }), "output '' is not defined"},
      {with([&](GraphSpec& s) { s.inputs[0] = f32("", {}); }), "an input of the graph has no name"},
      {with([&](GraphSpec& s) { s.inputs.push_back(s.inputs[0]); }), "input 'x': it is defined twice"},
      {with([&](GraphSpec& s) { s.nodes[0].outputs = {"x"}; }), "'x' is defined already"},
      {with([&](GraphSpec& s) { s.nodes[0].outputs = {""}; }), "it has no outputs"},
      {with([&](GraphSpec& s) { s.initializers = {initializer("z", Tensor::scalar(1))}; }), "'z' is defined already"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.says);
    expect_fault(c.result, Code::bad_model, {c.says});
  }
}

TEST(ImportNames, AreKeptAndShownEscaped) {
  GraphSpec spec = kNeg;
  spec.nodes[0].name = "two\nlines\x01";
  const Graph g = imported(import(spec));
  EXPECT_EQ(node_at(g, 0).name, "two\nlines\x01");
  EXPECT_EQ(g.describe(g.main().nodes[0]), R"(node 'two\nlines\x01' (Neg))");
}

// ---- versions ----

TEST(ImportVersions, OfTheFormat) {
  GraphSpec spec = kNeg;
  spec.initializers = {initializer("w", Tensor::of<float>({2}, {1, 2}))};
  spec.nodes[0] = {"Add", {"x", "w"}, {"z"}};
  for (const std::int64_t ir : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}) {
    EXPECT_EQ(warnings_of(model(graph(spec), {.ir = ir})), "") << ir;
  }
  EXPECT_THAT(warnings_of(model(graph(spec), {.ir = 99})), HasSubstr("IR version 99, newer than 13"));
  expect_fault(import(model(graph(spec), {.ir = 0})), Code::bad_model, {"no IR version"});
  expect_fault(import(model(graph(spec), {.ir = -1})), Code::bad_model, {"no IR version"});
}

TEST(ImportVersions, OpsetsThatAreNotGiven) {
  GraphSpec spec{.nodes = {{"Add", {"x", "y"}, {"z"}, {attr("broadcast", 1), attr("axis", 0)}}},
                 .inputs = {f32("x", {"2", "3"}), f32("y", {"2"})},
                 .outputs = {value("z")}};
  const auto without = [&](std::int64_t ir) { return import(text(number({}, 1, ir), 7, graph(spec))); };
  EXPECT_EQ(op_names(imported(without(1))), "Unsqueeze Add") << "opset 1";
  EXPECT_TRUE(without(2).has_value());
  expect_fault(without(3), Code::bad_model, {"imports no opset"});
  spec.nodes[0].domain = "com.acme";
  expect_fault(without(2), Code::bad_model, {"imports no opset of domain 'com.acme'"});
}

TEST(ImportVersions, OpsetsOfADomain) {
  struct Case {
    OpsetSpecs more;
    std::string warning;
  };
  const Case cases[] = {
      {{{"ai.onnx.ml", 3}, {"com.acme", 1}}, ""},
      {{{"", 21}}, ""},
      {{{"ai.onnx", 21}}, ""},
      {{{"ai.onnx", 13}}, "is imported in opsets 21 and 13; 13 is used"},
      {{{"", 99}, {"", 20}}, "is imported in opsets 99 and 20; 20 is used"},
  };
  for (const Case& c : cases) {
    const std::string said = warnings_of(model(graph(kNeg), {.opsets = c.more}));
    if (c.warning.empty()) {
      EXPECT_EQ(said, "");
    } else {
      EXPECT_THAT(said, HasSubstr(c.warning));
    }
  }
  expect_fault(import(model(graph(kNeg), {.opset = 0})), Code::bad_model,
               {"opset 0 of domain 'ai.onnx' is not a version"});
}

// ---- declared types ----

TEST(ImportTypes, ContradictionsAreTold) {
  const Message t = f32("t", {"2"});
  struct Case {
    Message said;
    std::string warning;
  };
  const Case cases[] = {
      {f32("t", {"2"}), ""},
      {f32("t", {"N"}), ""},
      {f32("t", {""}), ""},
      {value("t", unranked_type(Elem::f32)), ""},
      {value("t"), ""},
      {value("t", Message{}), ""},
      {value("other", tensor_type(Elem::i64, {"9"})), ""},
      {value("t", text({}, 8, text({}, 1, ""))), ""},  // a sparse type
      {f32("t", {"3"}), "value 't': declared as f32[3], inferred as f32[2]"},
      {f32("t", {"1", "2"}), "value 't': declared as f32[1,2], inferred as f32[2]"},
      {value("t", tensor_type(Elem::f16, {"2"})), "value 't': declared as f16[2], inferred as f32[2]"},
      {value("t", sequence_type(tensor_type(Elem::f32, {}))), "value 't': declared as seq<f32[]>, inferred as f32[2]"},
  };
  for (const Case& c : cases) {
    GraphSpec spec = kNeg;
    spec.nodes = {{"Abs", {"x"}, {"t"}}, {"Neg", {"t"}, {"z"}}};
    spec.more = text({}, 13, c.said);
    const std::string said = warnings_of(model(graph(spec)));
    if (c.warning.empty()) {
      EXPECT_EQ(said, "");
    } else {
      EXPECT_THAT(said, HasSubstr(c.warning));
    }
  }
}

TEST(ImportTypes, OfOutputsAndInsideBlocks) {
  const Message side = graph({.nodes = {{"Neg", {"x"}, {"t"}}, {"Exp", {"t"}, {"r"}}},
                              .inputs = {},
                              .outputs = {value("r")},
                              .more = text({}, 13, f32("t", {"7"}))});
  const GraphSpec spec{
      .nodes = {{"If", {"c"}, {"z"}, {graph_attr("then_branch", side), graph_attr("else_branch", side)}}},
      .inputs = {f32("x", {"2"}), value("c", tensor_type(Elem::boolean, {}))},
      .outputs = {f32("z", {"3"})}};
  const std::string said = warnings_of(model(graph(spec)));
  EXPECT_THAT(said, HasSubstr("value 't': declared as f32[7]"));
  EXPECT_THAT(said, HasSubstr("value 'z': declared as f32[3]"));
}

TEST(ImportTypes, ManyAreToldOnce) {
  GraphSpec spec{.nodes = {}, .inputs = {f32("v0", {"2"})}, .outputs = {value("v50")}};
  for (int i = 0; i < 50; ++i) {
    spec.nodes.push_back({"Neg", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)}});
    spec.more = text(spec.more, 13, f32("v" + std::to_string(i + 1), {"3"}));
  }
  const std::string said = warnings_of(model(graph(spec)));
  EXPECT_EQ(std::ranges::count(said, '\n'), 4);
  EXPECT_THAT(said, HasSubstr("and 47 more"));
}

/// If the import fails, the first contradiction of a declared type is added to the error.
TEST(ImportTypes, ExplainWhyAModelFails) {
  const GraphSpec spec{.nodes = {{"Transpose", {"x"}, {"t"}}, {"MatMul", {"t", "w"}, {"z"}, {}, "product"}},
                       .inputs = {f32("x", {"2", "3"}), f32("w", {"3", "4"})},
                       .outputs = {value("z")},
                       .more = text({}, 13, f32("t", {"2", "3"}))};
  expect_fault(import(spec), Code::bad_model,
               {"node 'product' (MatMul)", "; value 't': declared as f32[2,3], inferred as f32[3,2]"});
}

TEST(ImportTypes, SparseAndOpaqueValuesAreRefused) {
  const Message tensors = tensor_type(Elem::f32, {"2"}), sparse = text({}, 8, number({}, 1, 1));
  const Message opaque = text({}, 7, text(text({}, 1, "org"), 2, "Table"));
  const std::pair<Message, std::string> rows[] = {
      {sparse, "input 'x': sparse values are not supported, only sparse constants and initializers"},
      {opaque, "input 'x': opaque values are not supported"},
      {sequence_type(sparse), "input 'x': sparse values are not supported"},
      {sequence_type(opaque), "input 'x': opaque values are not supported"},
  };
  for (const auto& [type, says] : rows) {
    GraphSpec spec = kNeg;
    spec.inputs[0] = value("x", type);
    expect_fault(import(spec), Code::unsupported, {says});
  }
  const Message sparse_attribute = text(attribute("type", 13), 14, sparse);
  expect_fault(
      import({.nodes = {{"Optional", {}, {"z"}, {sparse_attribute}, "none"}}, .inputs = {}, .outputs = {value("z")}}),
      Code::unsupported, {"node 'none' (Optional): attribute 'type': sparse values are not supported"});
}

/// Lists of graphs, tensors and types, with and without their type field.
TEST(ImportAttributes, ListsThatNoOperatorTakes) {
  struct Row {
    int type, field;
    Message item;
    const char* says;
  };
  const Message tensor = initializer("t", Tensor::scalar(1.0f));
  const Row rows[] = {
      {9, 10, tensor, "lists of tensors are not supported"},
      {10, 11, graph(kNeg), "lists of graphs are not supported"},
      {12, 23, text({}, 1, tensor), "lists of sparse tensors are not supported"},
      {14, 15, tensor_type(Elem::f32, {}), "lists of types are not supported"},
  };
  for (const Row& row : rows) {
    for (const Message& start : {attribute("many", row.type), text({}, 1, "many")}) {
      GraphSpec spec = kNeg;
      spec.nodes[0].name = "first";
      spec.nodes[0].attrs = {text(start, row.field, row.item)};
      expect_fault(import(spec), Code::unsupported, {"node 'first' (Neg): attribute 'many': ", row.says});
    }
  }
  GraphSpec spec = kNeg;
  spec.nodes[0].attrs = {attribute("many", 77)};
  expect_fault(import(spec), Code::unsupported, {"attribute 'many': attributes of type 77 are not supported"});
}

}  // namespace
}  // namespace frazil::test
