#include <span>
#include <string>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/tiny_onnx.h"

namespace {

using frazil::Array;
using frazil::Metadata;
using frazil::Model;
using testing::ElementsAre;
using testing::Pair;

Model load(const std::string& bytes) { return Model::from_bytes(std::as_bytes(std::span(bytes))); }

TEST(Metadata, IsThatOfTheFile) {
  using namespace proto;
  const auto property = [](const std::string& key, const std::string& value) {
    return bytes(14, bytes(1, key) + bytes(2, value));
  };
  const Model model =
      load(negating_onnx(2, bytes(2, "maker") + bytes(3, "1.5") + bytes(4, "org.acme") + number(5, 7) +
                                bytes(6, "of the model") + bytes(8, bytes(1, "ai.onnx.ml") + number(2, 3)) +
                                property("language", "fr") + property("units", "k\xff")));
  const Metadata data = model.metadata();
  EXPECT_EQ(data.producer, "maker");
  EXPECT_EQ(data.producer_version, "1.5");
  EXPECT_EQ(data.domain, "org.acme");
  EXPECT_EQ(data.description, "of the model");
  EXPECT_EQ(data.graph_name, "g");
  EXPECT_EQ(data.graph_description, "of the graph");
  EXPECT_EQ(data.model_version, 7);
  EXPECT_EQ(data.ir_version, 9);
  EXPECT_THAT(data.opsets, ElementsAre(Pair("", 13), Pair("ai.onnx.ml", 3)));
  EXPECT_THAT(data.properties, ElementsAre(Pair("language", "fr"), Pair("units", "k\xff")));
  frazil::Patch patch(model, "edit");
  patch.replace("y", patch.op("Abs", {patch.tap("y")}));
  EXPECT_EQ(patch.commit().metadata().producer, "maker") << "edits keep it";
}

TEST(Metadata, OfAModelThatIsNotFromAFile) {
  const Metadata data = Model::from_text("graph t(%x: f32[N]) { %y = Neg(%x) return y = %y }").metadata();
  EXPECT_EQ(data.graph_name, "t");
  EXPECT_EQ(data.ir_version, 0);
  EXPECT_TRUE(data.producer.empty() && data.opsets.empty() && data.properties.empty());
}

TEST(Ports, HaveNumericExtents) {
  const Model model = Model::from_text("graph t(%x: f32[N,3,2*N + 1], %s: i64[]) { return y = %x, z = %s }");
  EXPECT_THAT(model.inputs()[0].extents, ElementsAre(-1, 3, -1));
  EXPECT_THAT(model.inputs()[0].dims, ElementsAre("N", "3", "2*N + 1"));
  EXPECT_EQ(model.inputs()[0].type, "f32[N,3,2*N + 1]");
  EXPECT_EQ(model.inputs()[0].full_type, model.inputs()[0].type);
  EXPECT_TRUE(model.inputs()[1].extents.empty());
}

/// Three convolutions of stride 3, whose extents are nested divisions.
TEST(Ports, LongExtentsAreShortened) {
  const Model model = Model::from_text(
      "graph t(%x: f32[N,1,H,W]) { %a = MaxPool(%x) {kernel_shape = [3, 3], strides = [3, 3]} %b = MaxPool(%a) "
      "{kernel_shape = [3, 3], strides = [3, 3]} %c = MaxPool(%b) {kernel_shape = [3, 3], strides = [3, 3]} return y = "
      "%c "
      "}");
  const frazil::Port& y = model.outputs()[0];
  EXPECT_EQ(y.type, "f32[N,1,?,?]");
  EXPECT_THAT(y.full_type, testing::HasSubstr("floordiv"));
  EXPECT_GT(y.dims[2].size(), 24u);
  EXPECT_THAT(y.extents, ElementsAre(-1, 1, -1, -1));
  EXPECT_THAT(model.text(), testing::HasSubstr(y.dims[2])) << "the text form has them whole";
}

}  // namespace
