#include <algorithm>
#include <string>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using frazil::Array;
using frazil::OperatorInfo;

OperatorInfo find(const std::string& name) {
  for (OperatorInfo& info : frazil::operators()) {
    if (info.full_name() == name) return info;
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(Operators, HaveTheirPortsAndAttributes) {
  const OperatorInfo conv = find("Conv");
  ASSERT_EQ(conv.inputs.size(), 3);
  EXPECT_EQ(conv.inputs[2].use, OperatorInfo::Use::optional);
  EXPECT_EQ(conv.inputs[0].variable, conv.outputs[0].variable);
  EXPECT_THAT(conv.inputs[0].types, testing::Contains(frazil::Dtype::f16));
  const auto group = std::ranges::find(conv.attributes, "group", &OperatorInfo::Field::name);
  ASSERT_NE(group, conv.attributes.end());
  EXPECT_EQ(group->kind, OperatorInfo::Kind::integer);
  ASSERT_TRUE(group->value);
  EXPECT_EQ(std::get<std::int64_t>(group->value->value()), 1);
  EXPECT_TRUE(find("Cast").attributes[0].required || find("Cast").attributes[1].required);
  EXPECT_EQ(find("Concat").inputs[0].use, OperatorInfo::Use::variadic);
  EXPECT_THAT(find("If").bodies, testing::ElementsAre("then_branch", "else_branch"));
  EXPECT_EQ(find("ai.onnx.ml.Scaler").domain, "ai.onnx.ml");
}

}  // namespace
