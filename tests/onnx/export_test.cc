// Graphs written as ONNX models and read again. tests/suite/onnx_cases_test.cc does the same with ONNX's own cases.
#include "onnx/export/export.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "error/tool.h"
#include "import_testing.h"
#include "ir/edit/builder.h"
#include "ir/graph/model_info.h"
#include "ir/text/text.h"
#include "ops/elementwise/math.h"

namespace frazil::test {
namespace {

Graph graph_of(std::string_view text) {
  link_operators();
  return imported(parse(text));
}

Graph read_back(const std::string& model) {
  return imported(import_onnx_bytes(std::as_bytes(std::span(model)), nullptr, {}, {}));
}

Graph through_a_file(const Graph& graph, const onnx::ExportOptions& options = {}) {
  const auto model = onnx::export_model(graph, options);
  EXPECT_TRUE(model) << model.error().text();
  return model ? read_back(*model) : Graph();
}

std::int64_t opset_of(const Graph& g, std::string_view domain = {}) {
  for (const auto& [name, version] : g.info->opsets) {
    if (name == domain) return version;
  }
  return 0;
}

void expect_refused(const Result<std::string>& written, std::string_view says) {
  ASSERT_FALSE(written) << says;
  EXPECT_EQ(name_of(written.error().code), name_of(Code::bad_input));
  EXPECT_THAT(written.error().text(), testing::HasSubstr(says));
}

/// Graphs whose structure needs additional nodes in ONNX.
constexpr std::string_view kGraphs[] = {
    // an input, a constant and one value twice as outputs
    "graph g(%x: f32[N,3]) { %y = Relu(%x) return a = %y, b = %y, c = %x, d = f32[2] [1, 2] }",
    // branches that return captured values, a constant, and the same value twice
    R"(graph g(%c: bool[], %x: f32[N]) {
      %p, %q, %r = If(%c) then_branch() { yield %x, f32[1] 7, %x } else_branch() {
        %n = Neg(%x)
        %k = Concat(%n, %n) {axis = 0}
        yield %k, f32[1] 8, %n
      }
      return p = %p, q = %q, r = %r
    })",
    // carried values that are exchanged, and a condition that is passed on
    R"(graph g(%n: i64[], %a: f32[2], %b: f32[2]) {
      %p, %q = Loop(%n, _, %a, %b) body(%i, %on, %v0, %v1) { yield %on, %v1, %v0 }
      return p = %p, q = %q
    })",
    // values that are not tensors, and types given only by an attribute
    R"(graph g(%s: seq<f32[...]>, %o: opt<seq<i64[...]>>, %x: f32[2]) {
      %t = SequenceInsert(%s, %x)
      %e = Optional() {elem_type = string, sequence = 1}
      %h = OptionalHasElement(%o)
      return t = %t, e = %e, h = %h
    })",
    // absent inputs and outputs, strings, attributes of every kind
    R"(graph g(%x: f32[1,2,5,5], %w: string[2]) {
      %c = Clip(%x, _, f32[] 4)
      %y, _ = MaxPool(%c) {kernel_shape = [2, 2], auto_pad = "SAME_UPPER"}
      %l = ai.onnx.ml::LabelEncoder(%w) {keys_strings = ["a", "b"], values_floats = [1.5, nan], default_float = 0.25}
      return y = %y, l = %l
    })",
};

TEST(Export, KeepsTheStructure) {
  for (const std::string_view text : kGraphs) {
    const Graph graph = graph_of(text);
    const Graph again = through_a_file(graph);
    EXPECT_EQ(structural_hash(again), structural_hash(graph)) << print(graph) << print(again);
    EXPECT_EQ(again.input_names(), graph.input_names());
    EXPECT_EQ(again.output_names(), graph.output_names());
  }
}

TEST(Export, KeepsNamesOfValuesAndNodesAndSymbols) {
  const Graph graph = graph_of(R"(graph "my graph"(%x: f32[batch,3]) {
    %hidden = Relu(%x) "first"
    %y = Neg(%hidden) "second"
    return out = %y
  })");
  const Graph again = through_a_file(graph);
  EXPECT_EQ(again.name, "my graph");
  EXPECT_EQ(node_at(again, 0).name, "first");
  EXPECT_EQ(again.value_name(node_at(again, 0).out[0]), "hidden");
  EXPECT_EQ(output_type(again), "f32[batch,3]");
}

TEST(Export, GivesNodesNamesOfTheirOwn) {
  const Graph again = through_a_file(graph_of(R"(graph g(%x: f32[2]) {
    %a = Neg(%x) "n"
    %b = Abs(%a) "n"
    %c = Exp(%b)
    %y = Exp(%c)
    return y = %y
  })"));
  EXPECT_EQ(node_at(again, 0).name, "n");
  EXPECT_EQ(node_at(again, 1).name, "n_1");
}

/// What is written is what a load accepts.
TEST(Export, WritesNamesThatALoadAccepts) {
  const std::size_t most = LoadLimits{}.name_bytes;
  const std::string longest(most, 'n'), accents = [&] {
    std::string text = "n";
    while (text.size() <= most) text += "\u00e9";
    return text;
  }();
  Graph graph;
  Builder to(graph);
  const Expr x = to.input(longest, Type::tensor(Elem::f32, {to.dim(longest + "1"), to.dim(longest + "2"), 3}));
  Expr last = x;
  for (const std::string& name : {longest + "/a", longest + "/b", accents, longest, longest, std::string("bad\xff")}) {
    const auto id = to.append(ops::Neg, {last.value}, {}, {true}, name);
    ASSERT_TRUE(id);
    last = {&to, graph.node(*id).out[0]};
    to.name_value(last.value, name);
  }
  to.output("y", last);
  const Graph again = through_a_file(graph);
  EXPECT_EQ(structural_hash(again), structural_hash(graph))
      << "names do not count, and different symbols stay different";
  EXPECT_EQ(again.input_names(), graph.input_names());
  std::set<std::string> names;
  for (const NodeId id : again.main().nodes) {
    const std::string& name = again.node(id).name;
    EXPECT_LE(name.size(), most);
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

TEST(Export, RefusesNamesOfPortsThatALoadRefuses) {
  const std::string too_long(LoadLimits{}.name_bytes + 1, 'n');
  struct Row {
    std::string input, output, says;
  };
  const Row rows[] = {{too_long, "y", "at most 4096 bytes, this one has 4097"},
                      {"x", too_long, "output 'nnn"},
                      {"", "y", "input 0 has no name"},
                      {"x", "", "output 0 has no name"},
                      {"x\xff", "y", "a name must be UTF-8"},
                      {"x", "x", "output 'x' has the name of an input"}};
  for (const Row& row : rows) {
    Graph graph;
    Builder to(graph);
    const Expr x = to.input(row.input, Type::tensor(Elem::f32, {2}));
    to.output(row.output, ops::Neg({x}));
    expect_refused(onnx::export_model(graph), row.says);
  }
  Graph twice;
  Builder to(twice);
  const Expr x = to.input("x", Type::tensor(Elem::f32, {2}));
  to.output("y", ops::Neg({x}));
  to.output("y", ops::Abs({x}));
  expect_refused(onnx::export_model(twice), "two outputs are called 'y'");
}

TEST(Export, KeepsBoundsOfSymbols) {
  const Graph graph = graph_of(R"(dim batch in 1..64
  dim `a b` in ..7
  graph g(%x: f32[batch,`a b`,free]) { %y = Relu(%x) return y = %y })");
  const Graph again = through_a_file(graph);
  const auto bounds = [](const Graph& g, std::string_view name) {
    return symbol_bounds(g.scope(), *g.scope().find_symbol(name));
  };
  EXPECT_EQ(bounds(again, "batch"), (Bounds{1, 64}));
  EXPECT_EQ(bounds(again, "a b"), bounds(graph, "a b"));
  EXPECT_EQ(bounds(again, "a b").max, 7);
  EXPECT_EQ(bounds(again, "free"), Bounds{});
  EXPECT_EQ(structural_hash(again), structural_hash(graph));
  EXPECT_TRUE(again.info->model.metadata.empty());
}

TEST(Export, BoundsThatAreNoneStayNotes) {
  for (const char* text_of_bounds : {"", "5", "5..x", "9..3", "1..99999999999999999999", "1-2"}) {
    const Message property = text(text({}, 1, "frazil.dim.N"), 2, text_of_bounds);
    const Graph graph =
        imported(import({.nodes = {{"Neg", {"x"}, {"y"}}}, .inputs = {f32("x", {"N"})}, .outputs = {value("y")}},
                        {.more = text({}, 14, property)}));
    EXPECT_EQ(symbol_bounds(graph.scope(), *graph.scope().find_symbol("N")), Bounds{}) << text_of_bounds;
    EXPECT_EQ(graph.info->model.metadata.size(), 1u) << text_of_bounds;
  }
}

TEST(Export, ChoosesTheOldestOpsetThatFits) {
  const std::string_view plain = "graph g(%x: f32[2]) { %y = Add(%x, %x) return y = %y }";
  EXPECT_EQ(opset_of(through_a_file(graph_of(plain))), 7);
  EXPECT_EQ(opset_of(through_a_file(graph_of(plain), {.opset = 17})), 17);
  const std::string_view gelu = "graph g(%x: f32[2]) { %y = Gelu(%x) \"act\" return y = %y }";
  EXPECT_EQ(opset_of(through_a_file(graph_of(gelu))), 20);
  const std::string_view part = "graph g(%x: f32[2,N]) { %y = Shape(%x) {start = 1} return y = %y }";
  EXPECT_EQ(opset_of(through_a_file(graph_of(part))), 15);
  const std::string_view trees = "graph g(%x: f32[2]) { %y = ai.onnx.ml::Binarizer(%x) return y = %y }";
  EXPECT_EQ(opset_of(through_a_file(graph_of(trees)), "ai.onnx.ml"), 1);
  EXPECT_EQ(
      opset_of(through_a_file(imported(import(
          {.nodes = {{"Neg", {"x"}, {"y"}}}, .inputs = {f32("x", {"2"})}, .outputs = {value("y")}}, {.opset = 12})))),
      12);
}

/// An attribute with a non-default value needs the opset that introduced it or this value; a default is omitted. An
/// input needs the opset that introduced it.
TEST(Export, AttributesNeedTheirOpset) {
  struct Row {
    const char *node, *usual, *attribute;
    std::int64_t without, with;
  };
  const Row rows[] = {
      {"MaxPool(%x)", "kernel_shape = [2, 2]", "dilations = [2, 2]", 8, 10},
      {"AveragePool(%x)", "kernel_shape = [2, 2]", "ceil_mode = 1", 7, 10},
      {"AveragePool(%x)", "kernel_shape = [2, 2]", "dilations = [2, 2]", 7, 19},
      {"LpPool(%x)", "kernel_shape = [2, 2]", "ceil_mode = 1", 2, 18},
      {"LpPool(%x)", "kernel_shape = [2, 2]", "dilations = [2, 2]", 2, 18},
      {"DepthToSpace(%x)", "blocksize = 2", "mode = \"CRD\"", 1, 11},
      {"TopK(%x, i64[1] [2])", "", "largest = 0", 10, 11},
      {"TopK(%x, i64[1] [2])", "", "sorted = 0", 10, 11},
      {"ScatterND(%x, i64[1,1] [0], %u)", "", "reduction = \"add\"", 11, 16},
      {"ScatterND(%x, i64[1,1] [0], %u)", "", "reduction = \"min\"", 11, 18},
      {"ScatterElements(%x, i64[1,1,1,1] [0], %w)", "", "reduction = \"mul\"", 11, 16},
      {"ScatterElements(%x, i64[1,1,1,1] [0], %w)", "", "reduction = \"max\"", 11, 18},
      {"Pad(%x, i64[8] [0, 0, 1, 1, 0, 0, 1, 1])", "", "mode = \"edge\"", 11, 11},
      {"Pad(%x, i64[8] [0, 0, 1, 1, 0, 0, 1, 1])", "", "mode = \"wrap\"", 11, 19},
      {"Pad(%x, i64[2] [1, 1], _, i64[1] [2])", "", "mode = \"edge\"", 18, 18},
  };
  for (const Row& row : rows) {
    const auto opset = [&](const std::string& attributes) {
      const std::string braced = attributes.empty() ? "" : "{" + attributes + "}";
      return opset_of(through_a_file(graph_of(
          fmt::format("graph g(%x: f32[1,4,8,8], %u: f32[1,4,8,8], %w: f32[1,1,1,1]) {{ %y = {} {} return y = %y }}",
                      row.node, braced))));
    };
    const std::string usual = row.usual, both = usual + (usual.empty() ? "" : ", ") + row.attribute;
    EXPECT_EQ(opset(usual), row.without) << row.node;
    EXPECT_EQ(opset(both), row.with) << row.node << " " << both;
  }
}

/// A value needs the opset from which the operator supports its type; a negative axis the opset from which it is
/// allowed.
TEST(Export, TypesAndInputsNeedTheirOpset) {
  struct Row {
    const char *inputs, *node;
    std::int64_t opset;
  };
  const Row rows[] = {
      {"%x: f32[2]", "Add(%x, %x)", 7},
      {"%x: i8[2]", "Add(%x, %x)", 14},
      {"%x: bf16[2]", "Sin(%x)", 22},
      {"%x: f16[2]", "Sin(%x)", 7},
      {"%x: f8e4m3fn[2,3]", "Transpose(%x)", 21},
      {"%x: i2[2,3]", "Reshape(%x, i64[1] [-1])", 25},
      {"%x: string[2]", "Equal(%x, %x)", 19},
      {"%x: f32[2]", "Cast(%x) {to = string}", 9},
      {"%x: i32[2,2]", "MatMul(%x, %x)", 9},
      {"%x: f32[2,2]", "Gemm(%x, %x)", 11},
      {"%x: f32[2,2]", "Gemm(%x, %x, %x)", 7},
      {"%x: f32[2,2]", "Concat(%x, %x) {axis = 1}", 4},
      {"%x: f32[2,2]", "Concat(%x, %x) {axis = -1}", 11},
      {"%x: f32[2,2]", "Split(%x, i64[1] [2])", 13},
      {"%x: f32[4,2]", "Split(%x) {num_outputs = 1}", 13},
      {"%x: f32[4,2]", "ReduceMean(%x, i64[1] [0])", 1},
      {"%x: f32[4,2]", "ReduceMean(%x, i64[1] [-1])", 11},
      {"%x: f32[4,2]", "ReduceMean(%x)", 1},
      {"%x: f32[4,2]", "ReduceMean(%x) {noop_with_empty_axes = 1}", 18},
      {"%x: f32[4,2], %a: i64[1]", "ReduceMean(%x, %a)", 18},
      {"%x: f32[4,2], %a: i64[1]", "ReduceSum(%x, %a)", 13},
      {"%x: f32[4,2]", "ReduceSum(%x, i64[1] [0])", 1},
      {"%x: f32[1,2]", "Squeeze(%x, i64[1] [0])", 1},
      {"%x: f32[1,2]", "Squeeze(%x)", 1},
      {"%x: f32[1,2]", "Unsqueeze(%x, i64[2] [0, -1])", 11},
      {"%x: opt<f32[2]>", "OptionalHasElement(%x)", 15},
      {"%x: f32[2]", "OptionalHasElement(%x)", 18},
      {"%x: f32[1,1,2]", "Resize(%x, _, f32[3] [1, 1, 2])", 13},
      {"%x: f32[1,1,2]", "Resize(%x, _, f32[1] [2]) {axes = [2]}", 18},
      {"%x: f32[1,1,2]", "Resize(%x, _, f32[3] [1, 1, 2]) {coordinate_transformation_mode = \"half_pixel_symmetric\"}",
       19},
      {"%c: bool[], %x: seq<f32[2]>", "If(%c) then_branch() { yield %x } else_branch() { yield %x }", 13},
      {"%c: bool[], %x: f32[2]", "If(%c) then_branch() { yield %x } else_branch() { yield %x }", 1},
  };
  for (const Row& row : rows) {
    const Graph graph = graph_of(fmt::format("graph g({}) {{ %y = {} return y = %y }}", row.inputs, row.node));
    const Graph again = through_a_file(graph);
    EXPECT_EQ(opset_of(again), row.opset) << row.node << " of " << row.inputs;
    EXPECT_EQ(structural_hash(again), structural_hash(graph)) << row.node << " of " << row.inputs;
  }
}

TEST(Export, CountsPartsOfSplitWhereTheyAreUneven) {
  for (const auto& [extent, opset] : {std::pair{4, 13}, {5, 18}}) {
    const Graph graph = graph_of(
        fmt::format("graph g(%x: f32[{}]) {{ %a, %b = Split(%x) {{num_outputs = 2}} return a = %a, b = %b }}", extent));
    const Graph again = through_a_file(graph);
    EXPECT_EQ(opset_of(again), opset);
    EXPECT_EQ(structural_hash(again), structural_hash(graph));
  }
}

TEST(Export, RefusesAnOpsetThatIsTooOld) {
  const Graph gelu = graph_of("graph g(%x: f32[2]) { %y = Gelu(%x) \"act\" return y = %y }");
  const auto old = onnx::export_model(gelu, {.opset = 17});
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, Code::bad_input);
  EXPECT_EQ(old.error().text(), "node 'act' (Gelu): it cannot be expressed in opset 17; it needs 20");
  const auto future = onnx::export_model(gelu, {.opset = 99});
  ASSERT_FALSE(future);
  EXPECT_NE(future.error().text().find("opset 99 is outside"), std::string::npos);
}

TEST(Export, SaysAgainWhatTheModelSaid) {
  const Message notes = text({}, 6, "doubles");
  const Graph graph = imported(import({.nodes = {{"Neg", {"x"}, {"y"}, {}, "first", {}, {}, notes}},
                                       .inputs = {f32("x", {"2"}) + text({}, 3, "the input")},
                                       .outputs = {value("y")},
                                       .more = text({}, 10, "a graph")},
                                      {.ir = 5, .more = text({}, 2, "maker") + text({}, 6, "a model")}));
  const Graph again = through_a_file(graph);
  EXPECT_EQ(again.info->producer, "maker");
  EXPECT_EQ(again.info->model.doc, "a model");
  EXPECT_EQ(again.info->graph.doc, "a graph");
  EXPECT_EQ(again.info->values.at("x").doc, "the input");
  EXPECT_EQ(again.info->nodes.at(node_at(again, 0).stable).doc, "doubles");
}

TEST(Export, PutsLargeTensorsBesideTheModel) {
  Graph graph;
  link_operators();
  Builder b(graph);
  Tensor large = Tensor::make(Elem::f32, {64, 8}).value();
  std::ranges::fill(large.as_mutable<float>(), 0.5f);
  const Expr x = b.input("x", Type::tensor(Elem::f32, {64, 8}));
  const OpDef& add = *OpRegistry::global().find("", "Add");
  const Expr y = b.add(add, std::array{x, b.constant(large, "large")}, default_attrs(add))[0];
  const Expr z = b.add(add, std::array{y, b.constant(Tensor::scalar(2.0f), "small")}, default_attrs(add))[0];
  b.output("z", z);
  ASSERT_TRUE(b.status()) << b.status().error().text();
  const TempFolder folder;
  const std::string path = (folder / "model.onnx").string();
  ASSERT_TRUE(onnx::export_file(graph, path, {.external_bytes = 1024}));
  EXPECT_EQ(std::filesystem::file_size(path + ".data"), 2048u);
  EXPECT_LT(std::filesystem::file_size(path), 400u);
  const Graph again = imported(import_onnx(path));
  EXPECT_EQ(op_names(again), "Add Add");
  EXPECT_EQ(weights_of(again).at("large").number_at(511), 0.5);
  const auto alone = onnx::export_model(graph, {.external_bytes = 1024});
  EXPECT_FALSE(alone);
}

TEST(Export, LeavesTheOldFileWhereItCannotWrite) {
  const TempFolder folder;
  const Graph graph = graph_of("graph g(%x: f32[2]) { %y = Gelu(%x) return y = %y }");
  const std::string path = folder.write("model.onnx", "what was there");
  EXPECT_FALSE(onnx::export_file(graph, path, {.opset = 13}));
  EXPECT_EQ(content_of(path), "what was there");
  const Status nowhere = onnx::export_file(graph, (folder / "no/such/folder.onnx").string());
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Code::bad_input);
}

}  // namespace
}  // namespace frazil::test
