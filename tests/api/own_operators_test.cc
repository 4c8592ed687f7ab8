// LoadOptions::operators: custom operators of one model.
#include <atomic>
#include <filesystem>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "api/message_of.h"
#include "api/tiny_onnx.h"

namespace {

using frazil::Array;
using frazil::Code;
using frazil::HostOperator;
using frazil::LoadOptions;
using frazil::Model;
using frazil::NodeAttributes;
using frazil::TensorType;
using testing::ElementsAre;
using testing::HasSubstr;

/// An operator that multiplies by `factor` plus its attribute `more`. It holds `held`.
HostOperator times(const std::string& name, const std::string& domain, float factor,
                   const std::shared_ptr<int>& held = nullptr) {
  HostOperator op{.name = name, .domain = domain, .attributes = {{"more", 0}}};
  op.types = [](const NodeAttributes&, std::span<const TensorType> in) { return std::vector{in[0]}; };
  op.run = [factor, held](const NodeAttributes& attributes, std::span<const Array> in) {
    Array y = in[0];
    for (float& v : y.mutable_values<float>()) v *= factor + static_cast<float>(attributes.integer("more"));
    return std::vector{y};
  };
  return op;
}

LoadOptions with(std::vector<HostOperator> operators) {
  LoadOptions options;
  options.operators = std::make_shared<const std::vector<HostOperator>>(std::move(operators));
  return options;
}

/// y = op(x) in an ONNX file.
std::string calling(const std::string& op, const std::string& domain) {
  using namespace onnx_file;
  const std::string import = domain.empty() ? "" : bytes(8, bytes(1, domain) + number(2, 1));
  return onnx_file::model({.nodes = {node(op, {"x"}, "y", domain.empty() ? "" : bytes(7, domain))},
                           .inputs = {f32("x", {"N"})},
                           .outputs = {port("y")}},
                          9, 18, import);
}

Model model_of_file(const std::string& file, const LoadOptions& options = {}) {
  return Model::from_bytes(std::as_bytes(std::span(file)), options);
}

/// The first element of the first result for x = [1].
float result_of(const Model& model) { return model.run({{"x", Array::of<float>({1}, {1})}})[0].values<float>()[0]; }

TEST(OwnOperators, OfOneNameInTwoModels) {
  register_operator(times("Scale", "own.first", 7));
  const std::string file = calling("Scale", "own.first");
  const Model process = model_of_file(file);
  const Model two = model_of_file(file, with({times("Scale", "own.first", 2)}));
  const Model three = model_of_file(file, with({times("Other", "own.first", 9), times("Scale", "own.first", 3)}));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(result_of(process), 7);
    EXPECT_EQ(result_of(two), 2) << "the model's own operator precedes";
    EXPECT_EQ(result_of(three), 3);
  }
  for (const std::string tier : {"0", "2", "ref"}) {
    auto session = two.open({.tier = tier});
    EXPECT_EQ(session.run({{"x", Array::of<float>({1}, {1})}})[0].values<float>()[0], 2) << tier;
  }
  EXPECT_EQ(result_of(model_of_file(file, with({}))), 7) << "others are looked up in the process";
}

TEST(OwnOperators, BuiltInOnesOfOtherDomainsGiveWay) {
  using namespace onnx_file;
  const std::string file = calling("LabelEncoder", "ai.onnx.ml");
  EXPECT_EQ(result_of(model_of_file(file, with({times("LabelEncoder", "ai.onnx.ml", 4)}))), 4)
      << "nor is the node converted from an older opset";
}

TEST(OwnOperators, OfNoDomain) {
  for (const std::string domain : {"", "ai.onnx"}) {
    EXPECT_EQ(result_of(model_of_file(calling("Mystery", ""), with({times("Mystery", domain, 5)}))), 5);
    for (const std::string built_in : {"Relu", "Identity", "Upsample", "If"}) {
      const auto load = [&] { model_of_file(calling("Relu", ""), with({times(built_in, domain, 5)})); };
      EXPECT_THAT(message_of(load, Code::bad_input), HasSubstr("operator '" + built_in + "' is built in"));
    }
  }
  EXPECT_THAT(message_of([] { register_operator(times("Mystery", "", 5)); }, Code::bad_input), HasSubstr("domain"));
}

TEST(OwnOperators, StayWithEditsAndText) {
  const LoadOptions options = with({times("Twice", "own.edits", 2), times("Mystery", "", 5)});
  const Model model =
      Model::from_text("graph t(%x: f32[N]) { %y = Mystery(%x) %z = own.edits::Twice(%y) return z = %z }", {}, options);
  EXPECT_EQ(result_of(model), 10);
  frazil::Patch patch(model, "edit");
  const frazil::Term many =
      patch.op("Greater", {patch.op("Size", {patch.tap("x")}), patch.constant(Array::scalar<std::int64_t>(5))});
  patch.replace("z", patch.if_else(
                         many, [&](frazil::Body&) { return std::vector{patch.tap("z")}; },
                         [&](frazil::Body& body) {
                           return std::vector{body.op("own.edits.Twice", {patch.tap("z")}, {{"more", 1}})};
                         })[0]);
  const Model edited = patch.commit();
  EXPECT_EQ(result_of(edited), 30);
  frazil::Patch again(edited, "again");
  again.add_output("w", again.op("Mystery", {again.tap("x")}));
  EXPECT_EQ(again.commit().run({{"x", Array::of<float>({1}, {1})}})["w"].values<float>()[0], 5);
  frazil::Patch other(Model::from_text("graph t(%x: f32[N]) { return y = %x }"), "other");
  EXPECT_THAT(message_of([&] { other.op("own.edits.Twice", {other.tap("x")}); }, Code::unsupported),
              HasSubstr("no operator 'own.edits.Twice'"));
  EXPECT_EQ(result_of(Model::from_text(model.text(), {}, options)), 10);
  EXPECT_THAT(message_of([&] { Model::from_text(model.text()); }, Code::bad_model), HasSubstr("no operator 'Mystery'"));
}

TEST(OwnOperators, OfASavedModel) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / ("own_operators_" + std::to_string(::getpid()) + ".onnx");
  const LoadOptions options = with({times("Twice", "own.saved", 2)});
  model_of_file(calling("Twice", "own.saved"), options).save(path);
  EXPECT_EQ(result_of(Model::load(path, options)), 2);
  EXPECT_THAT(message_of([&] { Model::load(path); }, Code::unsupported),
              HasSubstr("no operator 'Twice' in domain 'own.saved'"));
  std::filesystem::remove(path);
}

TEST(OwnOperators, EndWithTheLastModelThatUsesThem) {
  const std::string file = calling("Held", "own.held");
  auto held = std::make_shared<int>(0);
  for (int i = 0; i < 20; ++i) result_of(model_of_file(file, with({times("Held", "own.held", 2, held)})));
  EXPECT_EQ(held.use_count(), 1) << "repeated loads leave nothing";

  std::optional<Model> model = model_of_file(file, with({times("Held", "own.held", 2, held)}));
  std::optional<frazil::Session> session = model->open({.tier = "0"});
  frazil::Patch patch(*model, "edit");
  patch.set_attribute("y", "more", 1);
  std::optional<Model> edited = patch.commit();
  std::optional<frazil::BatchedModel> batched(*model);
  model.reset();
  EXPECT_EQ(session->run({{"x", Array::of<float>({1}, {1})}})[0].values<float>()[0], 2);
  session.reset();
  EXPECT_EQ(result_of(*edited), 3);
  edited.reset();
  EXPECT_GT(held.use_count(), 1) << "the batched form still uses it";
  const std::vector<std::vector<Array>> requests{{Array::of<float>({1}, {1})}, {Array::of<float>({1}, {4})}};
  EXPECT_EQ(batched->run(requests, {.always = true})[1][0].values<float>()[0], 8);
}

TEST(OwnOperators, ThatCannotBe) {
  HostOperator incomplete = times("Half", "own.bad", 1);
  incomplete.run = nullptr;
  struct Case {
    std::vector<HostOperator> operators;
    std::string says;
  };
  const Case cases[] = {
      {{incomplete}, "operator 'Half' of domain 'own.bad': it needs the functions"},
      {{times("a b", "own.bad", 1)}, "its name must consist of"},
      {{times("A", "own bad", 1)}, "its domain must consist of"},
      {{times("A", "own.bad", 1), times("A", "own.bad", 2)},
       "the model's operators have 'A' of domain 'own.bad' twice"},
  };
  for (const Case& c : cases) {
    const auto load = [&] { model_of_file(calling("Relu", ""), with(c.operators)); };
    EXPECT_THAT(message_of(load, Code::bad_input), HasSubstr(c.says));
  }
}

/// The plan without equal names has the operators, too.
TEST(OwnOperators, InALenientModel) {
  LoadOptions options = with({times("Twice", "own.lenient", 2)});
  options.lenient = true;
  const Model model = Model::from_text(
      "graph t(%a: f32[N], %b: f32[N]) { %c = Concat(%a, %b) {axis = 0} %y = own.lenient::Twice(%c) return y = %y }",
      {}, options);
  const auto y = model.run({{"a", Array::of<float>({1}, {1})}, {"b", Array::of<float>({2}, {2, 3})}});
  EXPECT_THAT(y[0].values<float>(), ElementsAre(2, 4, 6));
}

}  // namespace
