#include "compat/ort.h"

namespace {

const OrtModelEditorApi& editor() { return *ort().GetModelEditorApi(); }

OrtValueInfo* info(const char* name, ONNXTensorElementDataType type, std::vector<std::int64_t> dims,
                   std::vector<const char*> symbols = {}) {
  OrtTensorTypeAndShapeInfo* shape = nullptr;
  ok(ort().CreateTensorTypeAndShapeInfo(&shape));
  ok(ort().SetTensorElementType(shape, type));
  ok(ort().SetDimensions(shape, dims.data(), dims.size()));
  if (!symbols.empty()) ok(ort().SetSymbolicDimensions(shape, symbols.data(), symbols.size()));
  OrtTypeInfo* tensor_type = nullptr;
  ok(editor().CreateTensorTypeInfo(shape, &tensor_type));
  OrtValueInfo* value = nullptr;
  ok(editor().CreateValueInfo(name, tensor_type, &value));
  ort().ReleaseTypeInfo(tensor_type);
  ort().ReleaseTensorTypeAndShapeInfo(shape);
  return value;
}

OrtNode* node_of(const char* op, std::vector<const char*> inputs, const char* output,
                 std::vector<OrtOpAttr*> attributes = {}) {
  OrtNode* made = nullptr;
  ok(editor().CreateNode(op, "", output, inputs.data(), inputs.size(), &output, 1, attributes.data(), attributes.size(),
                         &made));
  for (const OrtOpAttr* const attribute : attributes) EXPECT_EQ(attribute, nullptr) << "the node owns it";
  return made;
}

OrtOpAttr* integers(const char* name, std::vector<std::int64_t> values) {
  OrtOpAttr* attribute = nullptr;
  ok(ort().CreateOpAttr(name, values.data(), static_cast<int>(values.size()), ORT_OP_ATTR_INTS, &attribute));
  return attribute;
}

OrtModel* model_of(OrtGraph* graph, int opset) {
  const char* const domains[] = {""};
  OrtModel* made = nullptr;
  ok(editor().CreateModel(domains, &opset, 1, &made));
  ok(editor().AddGraphToModel(made, graph));
  return made;
}

OrtGraph* graph_of(std::vector<OrtValueInfo*> inputs, std::vector<OrtValueInfo*> outputs) {
  OrtGraph* made = nullptr;
  ok(editor().CreateGraph(&made));
  if (!inputs.empty()) ok(editor().SetGraphInputs(made, inputs.data(), inputs.size()));
  ok(editor().SetGraphOutputs(made, outputs.data(), outputs.size()));
  return made;
}

/// y = transpose(x * w), with w from an allocator of the program.
TEST(OrtEditor, AGraphOfTheProgramRuns) {
  OrtGraph* const made = graph_of({info("x", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {-1, 2}, {"rows", ""})},
                                  {info("y", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {2, -1})});
  std::vector<float> weights{10, 100};
  ok(editor().AddInitializerToGraph(made, "w", tensor(weights, {2}).release(), false));
  ok(editor().AddNodeToGraph(made, node_of("Mul", {"x", "w"}, "product")));
  ok(editor().AddNodeToGraph(made, node_of("Transpose", {"product"}, "y", {integers("perm", {1, 0})})));
  OrtModel* const whole = model_of(made, 17);
  OrtSession* session = nullptr;
  ok(editor().CreateSessionFromModel(env(), whole, nullptr, &session));
  ort().ReleaseModel(whole);
  std::vector<float> data{1, 2, 3, 4, 5, 6};
  const auto x = tensor(data, {3, 2});
  const auto y = run(session, {{"x", x.get()}});
  EXPECT_EQ(read<float>(y.get()), (std::vector<float>{10, 30, 50, 200, 400, 600}));
  int opset = 0;
  ok(editor().SessionGetOpsetForDomain(session, "", &opset));
  EXPECT_EQ(opset, 17);
  OrtTypeInfo* type = nullptr;
  ok(ort().SessionGetOutputTypeInfo(session, 0, &type));
  const OrtTensorTypeAndShapeInfo* shape = nullptr;
  ok(ort().CastTypeInfoToTensorInfo(type, &shape));
  std::int64_t dims[2]{};
  ok(ort().GetDimensions(shape, dims, 2));
  EXPECT_EQ(dims[0], 2);
  EXPECT_EQ(dims[1], -1);
  std::size_t axes = 0;
  ok(ort().GetDimensionsCount(shape, &axes));
  EXPECT_EQ(axes, 2u);
  ort().ReleaseTypeInfo(type);
  ort().ReleaseSession(session);
}

TEST(OrtEditor, ASessionGoesOnWithMoreNodes) {
  frazil::GraphBuilder first("first");
  first.output("y", first.op("Neg", {first.input("x", frazil::Dtype::f32, {"N"})}));
  const std::string bytes = bytes_of(first.build());
  OrtSession* session = nullptr;
  ok(editor().CreateModelEditorSessionFromArray(env(), bytes.data(), bytes.size(), nullptr, &session));
  OrtGraph* const more = graph_of({}, {info("z", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {-1})});
  ok(editor().AddNodeToGraph(more, node_of("Exp", {"y"}, "z")));
  int opset = 0;
  ok(editor().SessionGetOpsetForDomain(session, "", &opset));
  OrtModel* const extension = model_of(more, opset);
  ok(editor().ApplyModelToModelEditorSession(session, extension));
  ort().ReleaseModel(extension);
  ok(editor().FinalizeModelEditorSession(session, nullptr, nullptr));
  std::vector<float> data{0, -1};
  const auto x = tensor(data, {2});
  const auto z = run(session, {{"x", x.get()}}, "z");
  EXPECT_FLOAT_EQ(read<float>(z.get())[1], std::exp(1.0f));
  EXPECT_EQ(refusal(editor().FinalizeModelEditorSession(session, nullptr, nullptr)).code, ORT_FAIL);
  ort().ReleaseSession(session);
}

TEST(OrtEditor, AttributesKeepTheirValues) {
  OrtOpAttr* attribute = integers("axes", {3, -1});
  OrtOpAttrType type{};
  ok(ort().OpAttr_GetType(attribute, &type));
  EXPECT_EQ(type, ORT_OP_ATTR_INTS);
  std::int64_t values[2]{};
  std::size_t bytes = 0;
  EXPECT_EQ(refusal(ort().ReadOpAttr(attribute, ORT_OP_ATTR_INTS, values, 8, &bytes)).code, ORT_INVALID_ARGUMENT);
  EXPECT_EQ(bytes, 16u);
  ok(ort().ReadOpAttr(attribute, ORT_OP_ATTR_INTS, values, 16, &bytes));
  EXPECT_EQ(values[1], -1);
  EXPECT_EQ(refusal(ort().ReadOpAttr(attribute, ORT_OP_ATTR_FLOATS, values, 16, &bytes)).code, ORT_INVALID_ARGUMENT);
  ort().ReleaseOpAttr(attribute);
  const char* const texts[] = {"ab", "c"};
  ok(ort().CreateOpAttr("names", texts, 2, ORT_OP_ATTR_STRINGS, &attribute));
  char read[16];
  ok(ort().ReadOpAttr(attribute, ORT_OP_ATTR_STRINGS, read, sizeof read, &bytes));
  EXPECT_EQ(std::string(read, bytes), std::string("ab\0c\0", 5));
  ort().ReleaseOpAttr(attribute);
}

TEST(OrtEditor, AModelWithoutAGraphIsRefused) {
  OrtModel* empty = nullptr;
  ok(editor().CreateModel(nullptr, nullptr, 0, &empty));
  OrtSession* session = nullptr;
  EXPECT_EQ(refusal(editor().CreateSessionFromModel(env(), empty, nullptr, &session)).code, ORT_FAIL);
  ort().ReleaseModel(empty);
}

}  // namespace
