#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using frazil::Array;
using frazil::Debugger;
using frazil::Model;
using ::testing::HasSubstr;

Model add_mul_neg(float factor) {
  return Model::from_text("graph g(%x: f32[N]) { %a = Add(%x, f32[] 1) \"add\" %b = Mul(%a, f32[] " +
                          std::to_string(factor) + ") \"mul\" %c = Neg(%b) \"neg\" return y = %c }");
}

TEST(Debug, StepsReadsAndSets) {
  Debugger debugger(add_mul_neg(2));
  debugger.add_breakpoint("mul");
  const Array x = Array::of<float>({2}, {1, 2});
  auto stop = debugger.run({{"x", x}});
  EXPECT_EQ(stop.why, Debugger::Why::breakpoint);
  EXPECT_EQ(stop.value, "b");
  EXPECT_EQ(stop.node, "mul");
  EXPECT_EQ(stop.op, "Mul");
  EXPECT_EQ(debugger.value("b").values<float>()[1], 6);
  stop = debugger.set("b", Array::of<float>({2}, {10, 20}));
  EXPECT_EQ(stop.value, "b");
  EXPECT_EQ(debugger.next().value, "c");
  EXPECT_EQ(debugger.resume().why, Debugger::Why::ended);
  EXPECT_EQ(debugger.results().at(0).values<float>()[1], -20);
  EXPECT_EQ(debugger.values(), (std::vector<std::string>{"x", "a", "b", "c"}));
}

TEST(Debug, Faults) {
  Debugger debugger(add_mul_neg(2));
  EXPECT_THROW(debugger.step(), frazil::Error);
  EXPECT_THROW(debugger.add_breakpoint("nothing"), frazil::Error);
  EXPECT_THROW(debugger.remove_breakpoint(4), frazil::Error);
  EXPECT_THROW(debugger.value("a"), frazil::Error);
  EXPECT_THROW(debugger.run({{"z", Array::scalar(1.0f)}}), frazil::Error);
  EXPECT_THROW(debugger.run({{"x", Array::scalar(1.0f)}}), frazil::Error);
}

TEST(Debug, ComparesModelsAndTiers) {
  const Array x = Array::of<float>({2}, {1, 2});
  const std::vector<frazil::Named> inputs{{"x", x}};
  const auto same = frazil::compare(add_mul_neg(2), add_mul_neg(2), inputs);
  EXPECT_EQ(same.differ, 0u);
  EXPECT_GE(same.compared, 3u);
  const auto other = frazil::compare(add_mul_neg(2), add_mul_neg(3), inputs, {.b = {}});
  EXPECT_EQ(other.value, "b");
  EXPECT_EQ(other.node, "node 'mul' (Mul)");
  EXPECT_THAT(other.what, HasSubstr("got 4, expected 6"));
}

}  // namespace
