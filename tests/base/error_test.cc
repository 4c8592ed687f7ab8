#include "base/value/error.h"

#include <gtest/gtest.h>

namespace frazil {
namespace {

Fault in(std::string_view context, Fault fault) { return within(context, std::move(fault)).error(); }
Fault at(const char* node, Fault fault) { return at_node(node, std::move(fault)).error(); }

TEST(FaultTest, PartsAreJoinedOutermostFirst) {
  const Fault plain{Code::bad_model, "bad shape"}, inner = at("node 'a' (Add)", plain);
  const struct {
    Fault fault;
    const char *text, *node;
  } cases[] = {
      {plain, "bad shape", ""},
      {in("input 'x': ", plain), "input 'x': bad shape", ""},
      {inner, "node 'a' (Add): bad shape", "node 'a' (Add)"},
      {at("node 'a' (Add)", in("input 'x': ", plain)), "node 'a' (Add): input 'x': bad shape", "node 'a' (Add)"},
      {in("m.onnx: ", inner), "m.onnx: node 'a' (Add): bad shape", "node 'a' (Add)"},
      {at("node 'a' (Add)", inner), "node 'a' (Add): bad shape", "node 'a' (Add)"},
      {at("", inner), "node 'a' (Add): bad shape", "node 'a' (Add)"},
      {at("node 'f' (If)", inner), "node 'f' (If): node 'a' (Add): bad shape", "node 'a' (Add)"},
      {in("m.onnx: ", at("node 'f' (If)", inner)), "m.onnx: node 'f' (If): node 'a' (Add): bad shape",
       "node 'a' (Add)"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(c.fault.text(), c.text);
    EXPECT_EQ(c.fault.node, c.node);
    EXPECT_EQ(c.fault.code, Code::bad_model);
  }
}

TEST(FaultTest, IsPrintedOnOneLine) {
  Fault fault = at("node 'a\nb' (Add)", {Code::bad_input, "got\ttwo"});
  fault.context = "x\r: ";
  EXPECT_EQ(printable(fault).text(), "x\\r: node 'a\\nb' (Add): got\\ttwo");
}

}  // namespace
}  // namespace frazil
