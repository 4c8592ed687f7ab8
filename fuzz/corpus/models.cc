#include <algorithm>

#include "corpus.h"
#include "ir/op/op.h"
#include "onnx/model_writer.h"

namespace frazil::fuzz {
namespace {

using namespace frazil::test;

Message i64(std::string_view name, const std::vector<std::string>& dims) {
  return value(name, tensor_type(Elem::i64, dims));
}
Message flag(std::string_view name) { return value(name, tensor_type(Elem::boolean, {})); }
Message strings(std::string_view name) { return value(name, tensor_type(Elem::string, {"N"})); }

Message numbers(std::string_view name, Sizes sizes) {
  Tensor t = Tensor::make(Elem::f32, std::move(sizes)).value();
  float next = -2;
  for (float& v : t.as_mutable<float>()) v = next += 0.5f;
  return initializer(name, t);
}
Message indices(std::string_view name, std::initializer_list<std::int64_t> values) {
  return initializer(name, Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

// ---- control flow ----

Message branches() {
  const GraphSpec negated{.nodes = {{"Neg", {"x"}, {"r"}}}, .inputs = {}, .outputs = {value("r")}};
  const GraphSpec flat{.nodes = {{"Reshape", {"x", "to"}, {"r"}}},
                       .inputs = {},
                       .outputs = {value("r")},
                       .initializers = {indices("to", {-1})}};
  const auto choose = [&](const GraphSpec& otherwise) {
    return std::vector{graph_attr("then_branch", graph(negated)), graph_attr("else_branch", graph(otherwise))};
  };
  return model(graph({.nodes = {{"If", {"c"}, {"a"}, choose(negated)}, {"If", {"c"}, {"b"}, choose(flat), "ranks"}},
                      .inputs = {flag("c"), f32("x", {"N", "2"})},
                      .outputs = {value("a"), value("b")}}));
}

Message loop() {
  const GraphSpec body{.nodes = {{"Concat", {"s", "one"}, {"s2"}, {attr("axis", 0)}},
                                 {"ReduceSum", {"s2"}, {"scan"}},
                                 {"Less", {"i", "m"}, {"on"}}},
                       .inputs = {i64("i", {}), flag("keep"), value("s")},
                       .outputs = {value("on"), value("s2"), value("scan")},
                       .initializers = {numbers("one", {1})}};
  return model(graph({.nodes = {{"Loop", {"m", "", "x"}, {"last", "all"}, {graph_attr("body", graph(body))}, "repeat"}},
                      .inputs = {i64("m", {}), f32("x", {"N"})},
                      .outputs = {value("last"), value("all")}}));
}

Message scan() {
  const GraphSpec body{.nodes = {{"Add", {"s", "row"}, {"s2"}}, {"Identity", {"s2"}, {"out"}}},
                       .inputs = {f32("s", {"3"}), f32("row", {"3"})},
                       .outputs = {value("s2"), value("out")}};
  return model(graph({.nodes = {{"Scan",
                                 {"s", "x"},
                                 {"last", "all"},
                                 {graph_attr("body", graph(body)), attr("num_scan_inputs", 1),
                                  attr("scan_input_axes", std::vector<std::int64_t>{0}),
                                  attr("scan_output_directions", std::vector<std::int64_t>{1})}}},
                      .inputs = {f32("s", {"3"}), f32("x", {"T", "3"})},
                      .outputs = {value("last"), value("all")}}));
}

Message loop_in_if() {
  const GraphSpec body{.nodes = {{"Mul", {"s", "x"}, {"s2"}}},
                       .inputs = {i64("i", {}), flag("keep"), value("s")},
                       .outputs = {value("keep"), value("s2")}};
  const GraphSpec yes{.nodes = {{"Loop", {"m", "c", "x"}, {"r"}, {graph_attr("body", graph(body))}}},
                      .inputs = {},
                      .outputs = {value("r")}};
  const GraphSpec no{.nodes = {{"Exp", {"x"}, {"r"}}}, .inputs = {}, .outputs = {value("r")}};
  return model(graph(
      {.nodes = {{"If", {"c"}, {"z"}, {graph_attr("then_branch", graph(yes)), graph_attr("else_branch", graph(no))}}},
       .inputs = {i64("m", {}), flag("c"), f32("x", {"N"})},
       .outputs = {value("z")}}));
}

Message functions() {
  const FunctionSpec scaled{
      .name = "scaled",
      .inputs = {"a", "bias"},
      .outputs = {"r"},
      .attributes = {"axis"},
      .nodes = {{"Softmax", {"a"}, {"s"}, {ref_attr("axis", 2, "axis")}, "soft"}, {"Add", {"s", "bias"}, {"r"}}}};
  const FunctionSpec outer{.name = "outer",
                           .inputs = {"p", "q"},
                           .outputs = {"r", "s"},
                           .attributes = {},
                           .nodes = {{"scaled", {"p", "q"}, {"t"}, {ref_attr("axis", 2, "axis")}, "inner", "local"},
                                     {"Neg", {"t"}, {"r"}},
                                     {"scaled", {"r", "q"}, {"s"}, {}, "", "local"}},
                           .defaults = {attr("axis", 0)}};
  return model(graph({.nodes = {{"outer", {"x", "y"}, {"z", "w"}, {attr("axis", 1)}, "call", "local"},
                                {"scaled", {"w", "y"}, {"u"}, {attr("axis", -1)}, "again", "local"}},
                      .inputs = {f32("x", {"N", "3"}), f32("y", {"3"})},
                      .outputs = {value("z"), value("u")}}),
               {.functions = {scaled, outer}});
}

// ---- tensors ----

Message sparse() {
  const Message tensor = number(number(text(text({}, 1, initializer("w", Tensor::of<float>({2}, {5, 7}))), 2,
                                            initializer("", Tensor::of<std::int64_t>({2, 2}, {0, 1, 1, 2}))),
                                       3, 2),
                                3, 3);
  return model(graph({.nodes = {{"Add", {"x", "w"}, {"z"}}},
                      .inputs = {f32("x", {"2", "3"})},
                      .outputs = {value("z")},
                      .sparse = {tensor}}));
}

Message external() {
  const auto entry = [](std::string_view key, std::string_view content) { return text(text({}, 1, key), 2, content); };
  Message tensor = text(number(number({}, 1, 4), 2, 1), 8, "w");
  tensor = text(text(text(tensor, 13, entry("location", "weights.bin")), 13, entry("offset", "16")), 13,
                entry("length", "16"));
  return model(graph({.nodes = {{"Add", {"x", "w"}, {"z"}}},
                      .inputs = {f32("x", {"4"})},
                      .outputs = {value("z")},
                      .initializers = {number(tensor, 14, 1)}}));
}

Message constants() {
  return model(graph({.nodes = {{"Constant", {}, {"a"}, {attr("value_floats", std::vector<float>{1, 2})}},
                                {"Constant", {}, {"b"}, {attr("value_int", 2)}},
                                {"Constant", {}, {"c"}, {attr("value", Tensor::of<std::int64_t>({2}, {2, 1}))}},
                                {"Constant", {}, {"d"}, {attr("value_string", "text")}},
                                {"Mul", {"x", "a"}, {"m"}},
                                {"Tile", {"w", "c"}, {"t"}},
                                {"Identity", {"m"}, {"z"}}},
                      .inputs = {f32("x", {"2"}), f32("w", {"2", "2"})},
                      .outputs = {value("z"), value("t"), value("b"), value("d")},
                      .initializers = {numbers("w", {2, 2})}}));
}

Message shapes() {
  return model(
      graph({.nodes = {{"Shape", {"x"}, {"s"}},
                       {"Gather", {"s", "zero"}, {"n"}},
                       {"Concat", {"n", "minus"}, {"to"}, {attr("axis", 0)}},
                       {"Reshape", {"x", "to"}, {"flat"}},
                       {"NonZero", {"flat"}, {"nz"}},
                       {"Slice", {"flat", "zero", "n", "zero"}, {"cut"}},
                       {"ConstantOfShape", {"to2"}, {"fill"}},
                       {"Range", {"r0", "r1", "r2"}, {"range"}},
                       {"Expand", {"cut", "s"}, {"wide"}}},
             .inputs = {f32("x", {"N", "2", "M"}), i64("r0", {}), i64("r1", {}), i64("r2", {}), i64("to2", {"2"})},
             .outputs = {value("flat"), value("nz"), value("cut"), value("fill"), value("range"), value("wide")},
             .initializers = {indices("zero", {0}), indices("minus", {-1})}}));
}

// ---- values that are no tensors ----

Message sequences() {
  return model(graph({.nodes = {{"SplitToSequence", {"x"}, {"q"}, {attr("axis", 0)}},
                                {"SequenceInsert", {"q", "x"}, {"q2"}},
                                {"SequenceErase", {"q2", "at"}, {"q3"}},
                                {"SequenceAt", {"given", "at"}, {"item"}},
                                {"SequenceLength", {"q3"}, {"n"}},
                                {"ConcatFromSequence", {"given"}, {"all"}, {attr("axis", 0)}},
                                {"SequenceEmpty", {}, {"none"}},
                                {"SequenceConstruct", {"x", "x"}, {"two"}}},
                      .inputs = {f32("x", {"N", "2"}), i64("at", {}),
                                 value("given", sequence_type(tensor_type(Elem::f32, {"", "2"})))},
                      .outputs = {value("q3"), value("item"), value("n"), value("all"), value("none"), value("two")}}));
}

Message optionals() {
  const Message optional = text({}, 9, text({}, 1, tensor_type(Elem::f32, {"N"})));
  const GraphSpec yes{.nodes = {{"OptionalGetElement", {"o"}, {"r"}}}, .inputs = {}, .outputs = {value("r")}};
  const GraphSpec no{.nodes = {{"Identity", {"x"}, {"r"}}}, .inputs = {}, .outputs = {value("r")}};
  return model(graph(
      {.nodes = {{"OptionalHasElement", {"o"}, {"has"}},
                 {"If", {"has"}, {"z"}, {graph_attr("then_branch", graph(yes)), graph_attr("else_branch", graph(no))}},
                 {"Optional", {"x"}, {"made"}}},
       .inputs = {value("o", optional), f32("x", {"N"})},
       .outputs = {value("z"), value("made")}}));
}

Message texts() {
  return model(graph({.nodes = {{"StringConcat", {"a", "b"}, {"ab"}},
                                {"StringSplit", {"ab"}, {"parts", "counts"}, {attr("delimiter", " ")}},
                                {"RegexFullMatch", {"a"}, {"hit"}, {attr("pattern", "[a-z]+")}},
                                {"StringNormalizer", {"a"}, {"low"}, {attr("case_change_action", "LOWER")}},
                                {"Cast", {"x"}, {"shown"}, {attr("to", 8)}},
                                {"Cast", {"b"}, {"read"}, {attr("to", 1)}},
                                {"Equal", {"a", "b"}, {"same"}}},
                      .inputs = {strings("a"), strings("b"), f32("x", {"N"})},
                      .outputs = {value("parts"), value("counts"), value("hit"), value("low"), value("shown"),
                                  value("read"), value("same")}}));
}

// ---- networks ----

Message convolutions() {
  return model(graph(
      {.nodes = {{"Conv", {"x", "w", "b"}, {"c"}, {attr("pads", std::vector<std::int64_t>{1, 1, 1, 1})}},
                 {"BatchNormalization", {"c", "b", "b", "b", "var"}, {"n"}},
                 {"Relu", {"n"}, {"r"}},
                 {"MaxPool",
                  {"r"},
                  {"p", "i"},
                  {attr("kernel_shape", std::vector<std::int64_t>{2, 2}), attr("auto_pad", "SAME_UPPER")}},
                 {"GlobalAveragePool", {"p"}, {"g"}},
                 {"Flatten", {"g"}, {"f"}},
                 {"Gemm", {"f", "fc"}, {"y"}, {attr("transB", 1), attr("alpha", 0.5f)}},
                 {"Resize", {"p", "", "scales"}, {"up"}, {attr("mode", "linear")}},
                 {"ConvTranspose", {"x", "wt"}, {"t"}, {attr("strides", std::vector<std::int64_t>{2, 2})}}},
       .inputs = {f32("x", {"N", "1", "H", "W"})},
       .outputs = {value("y"), value("up"), value("t"), value("i")},
       .initializers = {numbers("w", {2, 1, 3, 3}), numbers("b", {2}), numbers("var", {2}), numbers("fc", {3, 2}),
                        initializer("scales", Tensor::of<float>({4}, {1, 1, 2, 1.5f})), numbers("wt", {1, 2, 2, 2})}}));
}

Message recurrent() {
  return model(
      graph({.nodes = {{"LSTM", {"x", "w", "r"}, {"y", "h", "c"}, {attr("hidden_size", 2)}},
                       {"GRU", {"x", "w3", "r3"}, {"y2"}, {attr("hidden_size", 2), attr("linear_before_reset", 1)}},
                       {"Einsum", {"x", "x"}, {"e"}, {attr("equation", "tbi,tbj->bij")}},
                       {"LayerNormalization", {"x", "g"}, {"ln"}},
                       {"Attention", {"x", "x", "x"}, {"at"}, {attr("q_num_heads", 1), attr("kv_num_heads", 1)}},
                       {"TopK", {"x", "k"}, {"v", "i"}},
                       {"CumSum", {"x", "axis"}, {"cs"}}},
             .inputs = {f32("x", {"T", "B", "3"}), i64("k", {"1"})},
             .outputs = {value("y"), value("h"), value("y2"), value("e"), value("ln"), value("at"), value("v"),
                         value("i"), value("cs")},
             .initializers = {numbers("w", {1, 8, 3}), numbers("r", {1, 8, 2}), numbers("w3", {1, 6, 3}),
                              numbers("r3", {1, 6, 2}), numbers("g", {3}),
                              initializer("axis", Tensor::scalar<std::int64_t>(0))}}),
      {.opset = 23});
}

Message quantised() {
  return model(
      graph({.nodes = {{"DynamicQuantizeLinear", {"x"}, {"q", "scale", "zero"}},
                       {"MatMulInteger", {"q", "w", "zero"}, {"m"}},
                       {"Cast", {"m"}, {"f"}, {attr("to", 1)}},
                       {"Mul", {"f", "scale"}, {"y"}},
                       {"DequantizeLinear", {"q", "scale", "zero"}, {"d"}},
                       {"QuantizeLinear", {"d", "scale", "zero"}, {"q2"}},
                       {"QLinearMatMul", {"q", "scale", "zero", "w", "scale", "zero", "scale", "zero"}, {"qm"}}},
             .inputs = {f32("x", {"N", "2"})},
             .outputs = {value("y"), value("q2"), value("qm")},
             .initializers = {initializer("w", Tensor::of<std::uint8_t>({2, 2}, {1, 2, 3, 250}))}}));
}

// ---- old opsets ----

Message old_model(std::int64_t opset) {
  GraphSpec spec{.nodes = {{"Reshape", {"x"}, {"r"}, {attr("shape", std::vector<std::int64_t>{0, -1})}},
                           {"Add", {"r", "bias"}, {"a"}, {attr("broadcast", 1), attr("axis", 1)}},
                           {"Softmax", {"a"}, {"s"}},
                           {"Pad", {"x"}, {"p"}, {attr("paddings", std::vector<std::int64_t>{0, 1, 0, 0, 1, 0})}},
                           {"TopK", {"s"}, {"v", "i"}, {attr("k", 1)}},
                           {"Clip", {"v"}, {"z"}, {attr("min", 0.0f), attr("max", 1.0f)}},
                           {"Dropout", {"z"}, {"o"}, {attr("ratio", 0.5f)}},
                           {"Cast", {"i"}, {"t"}, {attr("to", "FLOAT")}}},
                 .inputs = {f32("x", {"N", "2", "2"}), f32("bias", {"4"})},
                 .outputs = {value("o"), value("p"), value("t")},
                 .initializers = {numbers("bias", {4})}};
  if (opset > 5) {
    spec.nodes = {
        {"Upsample", {"x4"}, {"u"}, {attr("scales", Floats{1, 1, 2, 2}), attr("mode", "nearest")}},
        {"Slice", {"u"}, {"c"}, {attr("starts", Ints{0, 1}), attr("ends", Ints{1, 9}), attr("axes", Ints{0, 2})}},
        {"Squeeze", {"c"}, {"q"}, {attr("axes", Ints{0})}},
        {"ReduceMean", {"q"}, {"m"}, {attr("axes", Ints{1}), attr("keepdims", 0)}},
        {"Split", {"m"}, {"s0", "s1"}, {attr("split", Ints{1, 1}), attr("axis", 0)}},
        {"Scatter", {"q", "ids", "q"}, {"sc"}, {attr("axis", 1)}},
        {"Flatten", {"q"}, {"f"}}};
    spec.inputs = {f32("x4", {"1", "2", "H", "W"}), i64("ids", {"2", "H", "W"})};
    spec.outputs = {value("s0"), value("s1"), value("sc"), value("f")};
    spec.initializers = {};
  }
  return model(graph(spec), {.opset = opset, .ir = opset < 9 ? 3 : 5});
}

// ---- every operator once ----

Message input_for(const Port& port, const std::string& name) {
  const Elem prefer[] = {Elem::f32, Elem::i64, Elem::boolean, Elem::u8, Elem::string};
  const auto fits = [&](Elem e) { return port.set == 0 || contains(port.set, e); };
  const auto* found = std::ranges::find_if(prefer, fits);
  const Elem elem = found == std::end(prefer) ? Elem::f32 : *found;
  const bool vector = elem == Elem::i64;
  return value(name,
               tensor_type(elem, vector ? std::vector<std::string>{"2"} : std::vector<std::string>{"N", "2", "3"}));
}

Message attribute_for(const AttrField& field) {
  switch (field.kind) {
    case AttrKind::integer: return attr(field.name, 1);
    case AttrKind::real: return attr(field.name, 0.5f);
    case AttrKind::string: return attr(field.name, "linear");
    case AttrKind::integers: return attr(field.name, Ints{1, 2});
    case AttrKind::reals: return attr(field.name, Floats{1, 2});
    case AttrKind::strings: return text(text(attribute(field.name, 8), 9, "a"), 9, "b");
    case AttrKind::tensor: return attr(field.name, Tensor::of<float>({2}, {1, 2}));
  }
  return {};
}

Message one_node(const OpDef& op) {
  GraphSpec spec{
      .nodes = {{std::string(op.name), {}, {}, {}, "only", std::string(op.domain)}}, .inputs = {}, .outputs = {}};
  NodeSpec& node = spec.nodes[0];
  for (const Port& port : op.inputs) {
    node.inputs.emplace_back(port.name);
    spec.inputs.push_back(input_for(port, node.inputs.back()));
  }
  for (const Port& port : op.outputs) {
    node.outputs.push_back("out_" + std::string(port.name));
    spec.outputs.push_back(value(node.outputs.back()));
  }
  for (const AttrField& field : op.attrs.fields) {
    if (field.required) node.attrs.push_back(attribute_for(field));
  }
  Message m = model(graph(spec), {.opset = 23});
  return op.domain.empty() ? m : text(m, 8, opset(op.domain, 1));
}

}  // namespace

Seeds model_seeds() {
  Seeds seeds{{"branches", branches()},         {"loop", loop()},           {"scan", scan()},
              {"loop_in_if", loop_in_if()},     {"functions", functions()}, {"sparse", sparse()},
              {"external", external()},         {"constants", constants()}, {"shapes", shapes()},
              {"sequences", sequences()},       {"optionals", optionals()}, {"texts", texts()},
              {"convolutions", convolutions()}, {"recurrent", recurrent()}, {"quantised", quantised()}};
  for (const std::int64_t opset : {1, 4, 5, 6, 7, 9, 10}) seeds["opset_" + std::to_string(opset)] = old_model(opset);
  for (const OpDef* op : OpRegistry::global().all()) {
    if (!std::holds_alternative<Region>(op->form)) seeds["op_" + std::string(op->name)] = one_node(*op);
  }
  return seeds;
}

}  // namespace frazil::fuzz
