// The conversion of older opsets.
#include "import_testing.h"
#include "ops/image/sample.h"
#include "ref/ref.h"

namespace frazil::test {
namespace {

using testing::ElementsAre;
using I64 = std::vector<std::int64_t>;

Graph upgraded(std::int64_t version, const NodeSpec& spec, const std::vector<Message>& inputs,
               const std::vector<Message>& initializers = {}) {
  std::vector<Message> outputs;
  for (const auto& name : spec.outputs) {
    if (!name.empty()) outputs.push_back(value(name));
  }
  return imported(import({.nodes = {spec}, .inputs = inputs, .outputs = outputs, .initializers = initializers},
                         {.opset = version, .ir = 3}));
}
Graph upgraded_x(std::int64_t version, const std::string& op, const std::vector<Message>& attrs,
                 const std::vector<std::string>& dims) {
  return upgraded(version, {op, {"x"}, {"z"}, attrs}, {f32("x", dims)});
}

TEST(Upgrade, AttributesThatBecameInputs) {
  Graph g = upgraded_x(9, "Slice", {attr("starts", I64{1}), attr("ends", I64{3}), attr("axes", I64{1})}, {"2", "5"});
  EXPECT_EQ(output_type(g), "f32[2,2]");
  EXPECT_EQ(ints_at(g, node_at(g, 0), 3), I64{1});
  g = upgraded_x(11, "Unsqueeze", {attr("axes", I64{0, 2})}, {"4"});
  EXPECT_EQ(output_type(g), "f32[1,4,1]");
  g = upgraded_x(11, "Squeeze", {attr("axes", I64{0})}, {"1", "1", "N"});
  EXPECT_EQ(output_type(g), "f32[1,N]");
  g = upgraded_x(17, "ReduceMean", {attr("axes", I64{1}), attr("keepdims", 0)}, {"2", "3"});
  EXPECT_EQ(output_type(g), "f32[2]");
  g = upgraded_x(4, "Reshape", {attr("shape", I64{-1, 2}), attr("consumed_inputs", I64{0})}, {"4", "3"});
  EXPECT_EQ(output_type(g), "f32[6,2]");
  g = upgraded_x(1, "Pad", {attr("paddings", I64{0, 1, 0, 2}), attr("value", 2.0f)}, {"4", "3"});
  EXPECT_EQ(output_type(g), "f32[4,6]");
}

TEST(Upgrade, Split) {
  Graph g =
      upgraded(2, {"Split", {"x"}, {"a", "b"}, {attr("axis", 1), attr("split", I64{1, 2})}}, {f32("x", {"2", "3"})});
  EXPECT_EQ(output_type(g, 1), "f32[2,2]");
  g = upgraded(13, {"Split", {"x"}, {"a", "b"}, {}}, {f32("x", {"6"})});
  EXPECT_EQ(output_type(g, 1), "f32[3]");
}

TEST(Upgrade, TopK) {
  const Graph g = upgraded(1, {"TopK", {"x"}, {"v", "i"}, {attr("k", 2), attr("axis", 0)}}, {f32("x", {"6"})});
  EXPECT_EQ(output_type(g, 1), "i64[2]");
}

TEST(Upgrade, BroadcastAlongAnAxis) {
  const std::vector<Message> inputs{f32("x", {"2", "3", "4", "5"}), f32("y", {"3"})};
  Graph g = upgraded(6, {"Add", {"x", "y"}, {"z"}, {attr("broadcast", 1), attr("axis", 1)}}, inputs);
  EXPECT_EQ(op_names(g), "Unsqueeze Add");
  EXPECT_EQ(type_of(g, node_at(g, 1).in[1]), "f32[3,1,1]");
  g = upgraded(6, {"PRelu", {"x", "y"}, {"z"}, {}}, inputs);
  EXPECT_EQ(op_names(g), "Unsqueeze PRelu");
  g = upgraded(6, {"Mul", {"x", "y"}, {"z"}, {attr("broadcast", 1)}}, {f32("x", {"2", "3"}), f32("y", {"3"})});
  EXPECT_EQ(op_names(g), "Mul");
}

TEST(Upgrade, SoftmaxOfSeveralAxes) {
  Graph g = upgraded_x(9, "Softmax", {attr("axis", 1)}, {"N", "3", "4"});
  EXPECT_EQ(op_names(g), "Flatten Softmax Shape Reshape");
  EXPECT_EQ(output_type(g), "f32[N,3,4]");
  g = upgraded_x(9, "Softmax", {}, {"N", "3", "1", "1"});
  ASSERT_EQ(op_names(g), "Softmax");
  expect_attr(node_at(g, 0), "axis", std::int64_t{1});
  g = upgraded_x(13, "Softmax", {attr("axis", 1)}, {"N", "3", "4"});
  EXPECT_EQ(op_names(g), "Softmax");
}

TEST(Upgrade, Clip) {
  Graph g = upgraded_x(6, "Clip", {attr("max", 6.0f)}, {"2"});
  ASSERT_EQ(op_names(g), "Clip");
  ASSERT_EQ(node_at(g, 0).in.size(), 3u);
  EXPECT_FALSE(node_at(g, 0).in[1]);
  EXPECT_EQ(g.constant(node_at(g, 0).in[2])->tensor.number_at(0), 6.0);
}

TEST(Upgrade, CastToAName) {
  const Graph g = upgraded_x(1, "Cast", {attr("to", "INT64")}, {"2"});
  EXPECT_EQ(output_type(g), "i64[2]");
}

TEST(Upgrade, BatchNormalization) {
  const NodeSpec spec{"BatchNormalization",
                      {"x", "s", "s", "s", "s"},
                      {"z", "", "", "", ""},
                      {attr("is_test", 1), attr("momentum", 0.9f)}};
  const std::vector<Message> inputs{f32("x", {"1", "2", "3"}), f32("s", {"2"})};
  EXPECT_EQ(op_names(upgraded(6, spec, inputs)), "BatchNormalization");
  NodeSpec training = spec;
  training.outputs[1] = "m";
  expect_fault(import({.nodes = {training}, .inputs = inputs, .outputs = {value("z")}}, {.opset = 7}),
               Code::unsupported, {"training outputs"});
}

TEST(Upgrade, Dropout) {
  Graph g = upgraded_x(7, "Dropout", {attr("ratio", 0.5f)}, {"2"});
  EXPECT_EQ(op_names(g), "Dropout");
  g = upgraded(7, {"Dropout", {"x"}, {"z", "mask"}, {}}, {f32("x", {"2"})});
  EXPECT_EQ(op_names(g), "Dropout Cast");
  EXPECT_EQ(output_type(g, 1), "f32[2]");
}

TEST(Upgrade, Upsample) {
  Graph g = upgraded_x(7, "Upsample", {attr("scales", std::vector<float>{1, 1, 2, 3})}, {"1", "1", "4", "5"});
  ASSERT_EQ(op_names(g), "Resize");
  EXPECT_EQ(output_type(g), "f32[1,1,8,15]");
  expect_attr(node_at(g, 0), "coordinate_transformation_mode", std::string("asymmetric"));
}

TEST(Upgrade, GroupNormalization) {
  const Graph g = upgraded(18, {"GroupNormalization", {"x", "s", "b"}, {"z"}, {attr("num_groups", 2)}},
                           {f32("x", {"1", "6", "5"}), f32("s", {"2"}), f32("b", {"2"})});
  const Node& last = node_at(g, g.main().nodes.size() - 1);
  EXPECT_EQ(type_of(g, last.in[1]), "f32[6]");
}

TEST(Upgrade, OptionalOfAType) {
  const Message type = text(attribute("type", 13), 14, sequence_type(tensor_type(Elem::i64, {})));
  const Graph g = upgraded(18, {"Optional", {}, {"z"}, {type}}, {});
  EXPECT_THAT(output_type(g), testing::StartsWith("opt<seq<i64"));
}

TEST(Upgrade, SignalsAndImages) {
  const Message image = f32("x", {"N", "C", "4", "5"}), regions = f32("r", {"R", "4"});
  const Message batch = value("b", tensor_type(Elem::i64, {"R"})), grid = f32("g", {"N", "3", "2", "2"});
  for (const char* mode : {"bilinear", "bicubic", "nearest"}) {
    const Graph g = upgraded(16, {"GridSample", {"x", "g"}, {"z"}, {attr("mode", mode)}}, {image, grid});
    EXPECT_EQ(output_type(g), "f32[N,C,3,2]") << mode;
  }
  Graph g = upgraded(10, {"RoiAlign", {"x", "r", "b"}, {"z"}, {attr("output_width", 3)}}, {image, regions, batch});
  EXPECT_EQ(output_type(g), "f32[R,C,1,3]");
  EXPECT_EQ(node_at(g, 0).attributes<ops::RoiAlignAttrs>().coordinate_transformation_mode, "output_half_pixel");
  g = upgraded(16, {"RoiAlign", {"x", "r", "b"}, {"z"}, {}}, {image, regions, batch});
  EXPECT_EQ(node_at(g, 0).attributes<ops::RoiAlignAttrs>().coordinate_transformation_mode, "half_pixel");
  g = upgraded(1, {"MaxRoiPool", {"x", "r"}, {"z"}, {attr("pooled_shape", I64{2, 3})}}, {image, f32("r", {"R", "5"})});
  EXPECT_EQ(output_type(g), "f32[R,C,2,3]");
  g = upgraded(17, {"DFT", {"x"}, {"z"}, {attr("axis", 2), attr("onesided", 1)}}, {f32("x", {"N", "3", "8", "1"})});
  EXPECT_EQ(output_type(g), "f32[N,3,5,2]");
  g = upgraded(17, {"DFT", {"x"}, {"z"}, {}}, {f32("x", {"N", "3", "8", "2"})});
  EXPECT_EQ(output_type(g), "f32[N,3,8,2]");
  g = upgraded_x(11, "Det", {}, {"N", "3", "3"});
  EXPECT_EQ(output_type(g), "f32[N]");
}

TEST(Upgrade, ExperimentalOperators) {
  const Tensor x = Tensor::of<float>({1, 2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  struct Case {
    NodeSpec node;
    Tensor want;
  };
  const Case cases[] = {
      {{"ImageScaler", {"x"}, {"z"}, {attr("scale", 2.0f), attr("bias", std::vector<float>{1, -1})}},
       Tensor::of<float>({1, 2, 3, 2}, {1, 3, 5, 7, 9, 11, 11, 13, 15, 17, 19, 21})},
      {{"Crop", {"x"}, {"z"}, {attr("border", I64{1, 0, 0, 2})}}, Tensor::of<float>({1, 2, 1, 1}, {1, 7})},
      {{"Crop", {"x"}, {"z"}, {attr("border", I64{0, 1, 0, 0}), attr("scale", I64{2, 1})}},
       Tensor::of<float>({1, 2, 2, 1}, {2, 4, 8, 10})},
      {{"DynamicSlice", {"x", "from", "to", "axes"}, {"z"}}, Tensor::of<float>({1, 2, 1, 2}, {2, 3, 8, 9})},
  };
  for (const Case& c : cases) {
    const Graph g = upgraded(
        1, c.node, {f32("x", {"1", "2", "3", "2"})},
        {initializer("from", Tensor::of<std::int64_t>({1}, {1})), initializer("to", Tensor::of<std::int64_t>({1}, {2})),
         initializer("axes", Tensor::of<std::int64_t>({1}, {2}))});
    const auto out = run_reference(g, std::vector<Datum>{x});
    ASSERT_TRUE(out.has_value()) << out.error().text();
    EXPECT_TRUE(identical((*out)[0].tensor(), c.want)) << summary((*out)[0].tensor());
  }
}

TEST(Upgrade, FaultsOfExperimentalOperators) {
  const auto crop = [](const std::vector<Message>& attrs) {
    return import({.nodes = {{"Crop", {"x"}, {"z"}, attrs, "c"}},
                   .inputs = {f32("x", {"1", "2", "3", "2"})},
                   .outputs = {value("z")}},
                  {.opset = 1});
  };
  expect_fault(crop({}), Code::bad_model, {"node 'c' (Crop)", "'border'"});
  expect_fault(crop({attr("border", I64{0, -1, 0, 0})}), Code::bad_model, {"'border' must be 4 sizes"});
  expect_fault(crop({attr("border", I64{0, 1, 0, 0}), attr("scale", I64{INT64_MAX, 1})}), Code::bad_model,
               {"'scale' must be 2 sizes"});
}

// ---- the batched Scan ----

/// Sums along axis 1 of a batch: the sums so far are the state and the scan output.
GraphSpec batched_sum(const std::string& lengths, const std::vector<Message>& attrs) {
  const Message body = graph({.nodes = {{"Add", {"s", "e"}, {"t"}}, {"Identity", {"t"}, {"u"}}},
                              .inputs = {value("s"), value("e")},
                              .outputs = {value("t"), value("u")}});
  std::vector<Message> all{attr("num_scan_inputs", 1), graph_attr("body", body)};
  all.insert(all.end(), attrs.begin(), attrs.end());
  return {.nodes = {{"Scan", {lengths, "init", "x"}, {"last", "all"}, all, "scan"}},
          .inputs = {value("n", tensor_type(Elem::i64, {"B"})), f32("init", {"B", "2"}), f32("x", {"B", "T", "2"})},
          .outputs = {value("last"), value("all")}};
}

TEST(UpgradeScan, OverTheBatch) {
  const Tensor n = Tensor::of<std::int64_t>({2}, {3, 1});
  const Tensor init = Tensor::of<float>({2, 2}, {0, 0, 100, 100});
  const Tensor x = Tensor::of<float>({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  struct Case {
    std::string lengths;
    std::vector<Message> attrs;
    Tensor last, all;
  };
  const Message reverse = attr("directions", I64{1});
  const Case cases[] = {
      {"",
       {},
       Tensor::of<float>({2, 2}, {9, 12, 127, 130}),
       Tensor::of<float>({2, 3, 2}, {1, 2, 4, 6, 9, 12, 107, 108, 116, 118, 127, 130})},
      {"",
       {reverse},
       Tensor::of<float>({2, 2}, {9, 12, 127, 130}),
       Tensor::of<float>({2, 3, 2}, {5, 6, 8, 10, 9, 12, 111, 112, 120, 122, 127, 130})},
      {"n",
       {},
       Tensor::of<float>({2, 2}, {9, 12, 107, 108}),
       Tensor::of<float>({2, 3, 2}, {1, 2, 4, 6, 9, 12, 107, 108, 0, 0, 0, 0})},
      {"n",
       {reverse},
       Tensor::of<float>({2, 2}, {9, 12, 107, 108}),
       Tensor::of<float>({2, 3, 2}, {5, 6, 8, 10, 9, 12, 107, 108, 0, 0, 0, 0})},
  };
  for (const Case& c : cases) {
    const Graph g = imported(import(batched_sum(c.lengths, c.attrs), {.opset = 8}));
    EXPECT_EQ(output_type(g), "f32[B,2]");
    const auto out = run_reference(g, std::vector<Datum>{n, init, x});
    ASSERT_TRUE(out.has_value()) << out.error().text();
    EXPECT_TRUE(identical((*out)[0].tensor(), c.last)) << summary((*out)[0].tensor());
    EXPECT_TRUE(identical((*out)[1].tensor(), c.all)) << summary((*out)[1].tensor());
  }
}

TEST(UpgradeScan, Faults) {
  GraphSpec spec = batched_sum("", {});
  spec.nodes[0].attrs[0] = attr("num_scan_inputs", 3);
  expect_fault(import(spec, {.opset = 8}), Code::bad_model, {"node 'scan' (Scan)", "'num_scan_inputs'", "[1, 2]"});
  spec = batched_sum("", {});
  spec.inputs[1] = f32("init", {"3", "2"});
  spec.inputs[2] = f32("x", {"2", "T", "2"});
  expect_fault(import(spec, {.opset = 8}), Code::bad_model, {"node 'scan' (Scan)", "extents of the scanned axes"});
}

}  // namespace
}  // namespace frazil::test
