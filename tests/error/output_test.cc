#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "error/terminal.h"

namespace frazil::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class Output : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(tool_path())) GTEST_SKIP() << kNoCommand;
  }
};

const std::vector<std::string> kBench{"bench", digits_model(), "--input", "image=1x1x8x8", "--runs",
                                      "3",     "--warmup",     "0",       "--tier",        "0"};

/// Returns the last line, without a progress line on the same terminal.
std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  text.erase(0, text.rfind('\n') + 1);
  return text.substr(text.rfind('\x1b') == std::string::npos ? 0 : text.find('{'));
}

TEST_F(Output, BenchPrintsATableOnATerminal) {
  const Ended table = run_tool_on_terminal(kBench, 80);
  ASSERT_EQ(table.exit, 0) << table.out;
  for (const char* row : {"load ", "first request ", "median ", "min ", "p99 ", "requests/s ", "runs ", "peak memory ",
                          "tier ", " ms", " MB"}) {
    EXPECT_THAT(table.out, HasSubstr(row));
  }
  EXPECT_THAT(table.out, Not(HasSubstr("{")));
}

TEST_F(Output, BenchPrintsJsonElsewhereAndOnRequest) {
  std::vector<std::string> call = kBench;
  call.push_back("--json");
  for (const Ended& ended : {run_tool(kBench), run_tool(call), run_tool_on_terminal(call, 80)}) {
    ASSERT_EQ(ended.exit, 0) << ended.err;
    const json result = json::parse(last_line(ended.out));
    EXPECT_EQ(result["runs"], 3);
    EXPECT_EQ(result.size(), 9);
  }
}

/// One object, alone on the last line.
TEST_F(Output, JsonOfEveryCommand) {
  const TempFolder folder;
  const std::string model = digits_model(), image = "image=1x1x8x8", package = folder / "model.frzc";
  const std::vector<std::string> calls[] = {
      {"run", model, "--input", image, "--json"},
      {"bench", model, "--input", image, "--runs", "1", "--json"},
      {"profile", model, "--input", image, "--runs", "1", "--json"},
      {"test", folder / "case", "--json"},
      {"test", folder / "case", "--list", "--json"},
      {"inspect", model, "--json"},
      {"ops", "--json"},
      {"knobs", "--json"},
      {"passes", "--json"},
      {"compile", model, "-o", package, "--json"},
      {"compare", model, "--input", image, "--json"},
  };
  std::filesystem::create_directories(folder / "case/test_data_set_0");
  std::filesystem::copy_file(model, folder / "case/model.onnx");
  for (const auto& call : calls) {
    const Ended ended = run_tool(call);
    EXPECT_EQ(ended.exit, 0) << call[0] << ended.err;
    const json result = json::parse(last_line(ended.out), nullptr, false);
    EXPECT_TRUE(result.is_object()) << call[0] << ended.out;
    EXPECT_EQ(std::ranges::count(ended.out, '\n'), 1) << call[0];
  }
}

TEST_F(Output, ModelsOfStandardInputRun) {
  const TempFolder folder;
  const std::string out = folder / "out", model = digits_model(), tool = tool_path();
  const std::string arguments = " --input image==0.5 > '" + out + "'";
  const std::string expected = run_tool({"run", model, "--input", "image==0.5"}).out;
  for (const std::string name : {"-", "/dev/stdin"}) {
    for (const std::string& call :
         {"cat '" + model + "' | '" + tool + "' run " + name, "'" + tool + "' run " + name + " < '" + model + "'"}) {
      ASSERT_EQ(std::system((call + arguments).c_str()), 0) << call;
      EXPECT_EQ(content_of(out), expected) << call;
    }
    const std::string bench = "cat '" + model + "' | '" + tool + "' bench " + name + " --runs 1" + arguments;
    ASSERT_EQ(std::system(bench.c_str()), 0);
    EXPECT_EQ(json::parse(content_of(out))["runs"], 1);
  }
}

TEST_F(Output, StandardInputHasOnePurpose) {
  const TempFolder folder;
  const std::string err = folder / "err";
  for (const std::string purpose : {"--stream -", "--stream /dev/stdin"}) {
    const std::string call =
        "'" + tool_path().string() + "' run - " + purpose + " < '" + digits_model() + "' 2> '" + err + "'";
    EXPECT_EQ(WEXITSTATUS(std::system(call.c_str())), 2);
    EXPECT_EQ(content_of(err), "frazil: " + purpose + ": standard input is read already, as the model\n");
  }
}

class WithoutCodeGenerator : public Output {
 protected:
  static Ended run(std::vector<std::string> call, const std::string& jit = "on") {
    return run_tool(call, {"FRAZIL_CODE_GENERATOR=/missing.so", "FRAZIL_CODE_CACHE=off", "FRAZIL_JIT=" + jit});
  }
  const std::vector<std::string> call_{"run", digits_model(), "--input", "image==0.5", "--tier"};
  std::vector<std::string> on_tier(const char* tier) const {
    std::vector<std::string> call = call_;
    call.emplace_back(tier);
    return call;
  }
};

TEST_F(WithoutCodeGenerator, VersionAndInspectReportIt) {
  const Ended version = run({"--version"});
  EXPECT_THAT(version.out, HasSubstr("\ncode generator: none: "));
  EXPECT_EQ(version.err, "");
  const Ended tiers = run({"inspect", digits_model(), "--tiers"});
  EXPECT_THAT(tiers.out, HasSubstr("1, 2 not available: "));
  EXPECT_THAT(tiers.out, HasSubstr("auto 0, as no code is generated"));
  EXPECT_EQ(tiers.err, "");
}

TEST_F(WithoutCodeGenerator, TierAutoWarnsOnce) {
  std::vector<std::string> bench{"bench", digits_model(), "--input", "image==0.5", "--seconds", "0.05"};
  for (const std::vector<std::string>& call : {on_tier("auto"), bench}) {
    const Ended ended = run(call);
    EXPECT_EQ(ended.exit, 0);
    EXPECT_THAT(ended.err, HasSubstr("warning tier auto generates no code: "));
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  }
  EXPECT_EQ(run(on_tier("0")).err, "");
  EXPECT_EQ(run(on_tier("ref")).err, "");
  EXPECT_EQ(run(on_tier("auto"), "off").err, "");
  EXPECT_EQ(run(on_tier("auto")).out, run(on_tier("0")).out);
}

TEST_F(WithoutCodeGenerator, CompiledTiersAreRefused) {
  for (const char* tier : {"1", "2"}) {
    const Ended ended = run(on_tier(tier));
    EXPECT_EQ(ended.exit, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_TRUE(ended.err.starts_with("frazil: ")) << ended.err;
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  }
}

/// An error stays the only line.
TEST_F(WithoutCodeGenerator, ErrorsOfTierAutoAreOneLine) {
  const Ended ended = run({"run", digits_model()});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
}

}  // namespace
}  // namespace frazil::test
