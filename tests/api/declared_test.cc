// The extents that an ONNX file declares for inputs and outputs.
#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/tiny_onnx.h"

namespace {

using frazil::Model;
using frazil::Port;
using Extents = std::optional<std::vector<std::string>>;

Model loaded(const std::string& bytes) { return Model::from_bytes(std::as_bytes(std::span(bytes))); }

/// The model y = Neg(x) with these types.
std::string negating(const std::string& in, const std::string& out) {
  using namespace onnx_file;
  return model({.nodes = {node("Neg", {"x"}, "y")}, .inputs = {port("x", in)}, .outputs = {port("y", out)}});
}

TEST(DeclaredExtents, AreTheTextsOfTheFile) {
  using namespace onnx_file;
  struct Case {
    std::string in, out;
    Extents declared_in, declared_out;
  };
  const std::string unranked = bytes(1, number(1, kF32));
  const std::string negative = bytes(1, number(1, kF32) + bytes(2, bytes(1, number(1, -1))));
  const Case cases[] = {
      {type_of(kF32, {"3", "N"}), type_of(kF32, {"3", "N"}), {{"3", "N"}}, {{"3", "N"}}},
      {type_of(kF32, {"past + seq", "?", "None", ""}),
       type_of(kF32, {"b", "", "-1", "4"}),
       {{"past + seq", "?", "None", ""}},
       {{"b", "", "-1", "4"}}},
      {type_of(kF32, {}), type_of(kF32, {}), std::vector<std::string>{}, std::vector<std::string>{}},
      {unranked, unranked, std::nullopt, std::nullopt},
      {type_of(kF32, {"N"}), "", {{"N"}}, std::nullopt},
      {negative, type_of(kF32, {"2", "\xff"}), {{"-1"}}, {{"2", "\xff"}}},
  };
  for (const Case& c : cases) {
    const Model model = loaded(negating(c.in, c.out));
    EXPECT_EQ(model.inputs()[0].declared, c.declared_in);
    EXPECT_EQ(model.outputs()[0].declared, c.declared_out);
  }
}

TEST(DeclaredExtents, OfOptionalTensorsAndSequences) {
  using namespace onnx_file;
  const std::string tensor = type_of(kF32, {"N"});
  const std::string optional = bytes(9, bytes(1, tensor)), sequence = bytes(4, bytes(1, tensor));
  const Model model =
      loaded(onnx_file::model({.nodes = {node("OptionalHasElement", {"x"}, "y"), node("SequenceLength", {"s"}, "z")},
                               .inputs = {port("x", optional), port("s", sequence)},
                               .outputs = {port("y", type_of(kBool, {})), port("z")}}));
  EXPECT_EQ(model.inputs()[0].declared, Extents({"N"}));
  EXPECT_EQ(model.inputs()[1].declared, std::nullopt);
}

TEST(DeclaredExtents, StayWithEditsOnly) {
  using namespace onnx_file;
  EXPECT_EQ(Model::from_text("graph t(%x: f32[N]) { return y = %x }").inputs()[0].declared, std::nullopt);
  const Model model = loaded(negating(type_of(kF32, {"?", "3"}), type_of(kF32, {"?", ""})));
  frazil::Patch patch(model, "edit");
  patch.replace("y", patch.op("Abs", {patch.tap("y")}));
  patch.add_output("z", patch.tap("x"));
  const Model edited = patch.commit();
  EXPECT_EQ(edited.inputs()[0].declared, Extents({"?", "3"}));
  EXPECT_EQ(edited.outputs()[0].declared, Extents({"?", ""}));
  EXPECT_EQ(edited.outputs()[1].declared, std::nullopt) << "the file has no output z";
  const Model rows = loaded(negating(type_of(kF32, {"T", "3"}), type_of(kF32, {"T", "3"}))).ragged("T");
  for (const Port& port : rows.inputs()) EXPECT_EQ(port.declared, std::nullopt) << "rows are not requests";
}

}  // namespace
