#include <fstream>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error/tool.h"

// The command `frazil report --against`.
namespace frazil::test {
namespace {

using testing::HasSubstr;

class ReportCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(tool_path())) GTEST_SKIP() << kNoCommand;
  }
  std::string save(const std::string& name, const std::string& limit, const std::string& op) const {
    const std::string path = (folder_ / name).string();
    api::Model::from_text("graph g(%x: f32[4]) { %s = Greater(%x, f32[] " + limit + ") \"sure\" %z = " + op +
                          "(%x) %y = Where(%s, %x, %z) \"mask\" return y = %y }")
        .save(path);
    return path;
  }

  TempFolder folder_;
};

TEST_F(ReportCommand, ComparesWithAnApprovedReportOrAnotherModel) {
  const std::string approved = save("approved.onnx", "0.5", "Neg"), same = save("same.onnx", "0.5", "Neg"),
                    other = save("other.onnx", "0.25", "Exp");
  const std::string report = folder_.write("approved.json", run_tool({"report", approved, "--json"}).out);
  for (const std::string& against : {approved, report}) {
    const Ended equal = run_tool({"report", same, "--against", against});
    EXPECT_EQ(equal.exit, 0) << equal.err;
    EXPECT_EQ(equal.out, "the reports are equal\n");
    const Ended different = run_tool({"report", other, "--against", against});
    EXPECT_EQ(different.exit, 1) << different.err;
    EXPECT_THAT(different.out, HasSubstr("+ operators: Exp (1)\n"));
    EXPECT_THAT(different.out, HasSubstr("- operators: Neg (1)\n"));
    EXPECT_THAT(different.out, HasSubstr("+ selections: node 'mask' (Where): node 'sure' (Greater) compares x with "
                                         "f32[] 0.25\n"));
  }
}

TEST_F(ReportCommand, RefusesAFileThatIsNoReport) {
  const std::string model = save("m.onnx", "1", "Neg");
  for (const char* const text : {"[]", "{\"a\": 1}", "{", ""}) {
    const Ended ended = run_tool({"report", model, "--against", folder_.write("bad.json", text)});
    EXPECT_EQ(ended.exit, 2) << text;
    EXPECT_THAT(ended.err, HasSubstr("bad.json")) << text;
  }
}

}  // namespace
}  // namespace frazil::test
