#include <frazil/model.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "error/tool.h"
#include "tensor/npy.h"

// frazil debug, compare and reduce on the example's model.
namespace frazil::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class DebugCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(tool_path())) GTEST_SKIP() << kNoCommand;
  }
  Ended debug(std::string_view script, std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"debug",         digits_model(), "--input",
                                   "image=1x1x8x8", "--script",     folder.write("script", script)};
    words.insert(words.end(), more.begin(), more.end());
    return run_tool(words);
  }
  const TempFolder folder;
};

TEST_F(DebugCommand, AScriptStepsPrintsAndEnds) {
  const Ended ended = debug(
      "# the first exit\n"
      "break stage1/hidden\n"
      "run\n"
      "where\n"
      "print stage1/hidden[0,:3]\n"
      "plot stage1/hidden\n"
      "step\n"
      "next\n"
      "values hidden\n"
      "breaks\n"
      "delete 1\n"
      "continue\n"
      "quit\n");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  for (const char* part :
       {"breakpoint 1: node 'stage1/hidden' (Gemm): 'stage1/hidden'  f32[1,32]", "stage1/hidden[0,:3]  f32[3]",
        "32 elements, 0 NaN, 0 infinite", "node 'stage1/hidden_relu' (Relu)", "ended\n", "probabilities  f32[1,10]"}) {
    EXPECT_THAT(ended.out, HasSubstr(part));
  }
}

TEST_F(DebugCommand, ValuesAreSavedSetAndComputedOn) {
  ASSERT_TRUE(write_npy(folder / "zeros.npy", Tensor::of<float>({1, 10}, std::vector<float>(10, 0))));
  const Ended ended = debug("run\nset stage1/logits " + (folder / "zeros.npy").string() +
                            "\nnext\nsave stage1/softmax " + (folder / "softmax.npy").string() + "\ncontinue\n");
  EXPECT_EQ(ended.exit, 2);  // the value has been removed by a pass, or the run has ended: set begins it anew
  const Ended named = debug("break stage1/logits\nrun\nset stage1/logits " + (folder / "zeros.npy").string() +
                            "\ndelete 1\nbreak stage1/softmax\ncontinue\nsave stage1/softmax " +
                            (folder / "softmax.npy").string() + "\ncontinue\n");
  EXPECT_EQ(named.exit, 0) << named.err << named.out;
  const auto softmax = read_npy(folder / "softmax.npy");
  ASSERT_TRUE(softmax) << softmax.error().text();
  EXPECT_NEAR(softmax->number_at(3), 0.1, 1e-6);
}

TEST_F(DebugCommand, AnErrorInAScriptNamesItsLine) {
  for (const auto& [script, what] : std::initializer_list<std::pair<const char*, const char*>>{
           {"run\nfly\n", "line 2: there is no command 'fly'"},
           {"print probabilities\n", "line 1: value 'probabilities' has not been made in a run"},
           {"break nothing\n", "line 1: break: 'nothing' is not a value"},
           {"run\nstep\n", "line 2: the run has ended"},
           {"print image[0,0,0,9]\n", "line 1:"},
           {"run\nset image none.npy\n", "none.npy"},
           {"save\n", "line 1: save: expected NAME FILE.npy"},
           {"delete 7\n", "line 1: delete: there is no breakpoint '7'"}}) {
    const Ended ended = debug(script);
    EXPECT_EQ(ended.exit, 2) << script;
    EXPECT_THAT(ended.err, HasSubstr(what));
  }
}

TEST_F(DebugCommand, BreakpointsOnTheCommandLine) {
  const Ended ended = debug("run\nquit\n", {"--break", "Relu", "--tier", "ref"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("breakpoint 1: node 'stage1/relu' (Relu)"));
}

TEST_F(DebugCommand, CompareFindsNothingBetweenTiers) {
  const Ended ended = run_tool({"compare", digits_model(), "--input", "image=1x1x8x8", "--json"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  const json result = json::parse(ended.out);
  EXPECT_EQ(result["differ"], 0);
  EXPECT_GT(result["compared"], 5);
}

TEST_F(DebugCommand, CompareNamesTheFirstValueThatDiffers) {
  const Ended ended = run_tool({"compare", digits_model(), "--input", "image=1x1x8x8", "--rtol", "0", "--atol", "0",
                                "--of-largest", "0", "--tier-a", "0", "--tier-b", "ref"});
  EXPECT_EQ(ended.exit, 1) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("first: node '"));
}

/// A chain of five values and an output.
std::string chain(const std::string& prefix) {
  std::string text = "graph g(%x: f32[2]) { %" + prefix + "0 = Neg(%x) ";
  for (int i = 1; i < 5; ++i)
    text += fmt::format("%{0}{1} = {3}(%{0}{2}) ", prefix, i, i - 1, i % 2 == 0 ? "Neg" : "Exp");
  return text + "%y = Abs(%" + prefix + "4) return y = %y }";
}

/// Models that have only the input and the result in common are not the same because these agree.
TEST_F(DebugCommand, CompareOfFewValuesIsInconclusive) {
  const std::string a = folder / "a.onnx", b = folder / "b.onnx";
  api::Model::from_text(chain("a")).save(a);
  api::Model::from_text(chain("b")).save(b);
  const Ended same = run_tool({"compare", a, a, "--input", "x=2", "--json"});
  EXPECT_EQ(same.exit, 0) << same.out << same.err;
  EXPECT_EQ(json::parse(same.out)["inconclusive"], false);
  const Ended other = run_tool({"compare", a, b, "--input", "x=2"});
  EXPECT_EQ(other.exit, 1) << other.out << other.err;
  EXPECT_THAT(other.out, HasSubstr(" 0 differ"));
  EXPECT_THAT(other.out, HasSubstr("inconclusive: most values"));
}

/// The hybrid way runs what it has compiled, where there is a code generator.
TEST_F(DebugCommand, CompareMeasuresWays) {
  const Ended ended = run_tool({"compare", "--ways", digits_model(), "--input", "image=1x1x8x8", "--json"});
  if (ended.err.contains("no code generator")) GTEST_SKIP() << "built without a code generator";
  ASSERT_EQ(ended.exit, 0) << ended.err;
  const json ways = json::parse(ended.out)["ways"];
  ASSERT_EQ(ways.size(), 3u);
  const auto compiling = [&](std::size_t i) { return ways[i]["compile_ms"].get<double>(); };
  EXPECT_EQ(compiling(0), 0) << "dynamic";
  EXPECT_GT(compiling(1), 0) << "hybrid";
  EXPECT_GT(compiling(2), 0) << "static";
  for (const json& way : ways) {
    EXPECT_GT(way["p50_ms"].get<double>(), 0);
    EXPECT_LE(way["p50_ms"].get<double>(), way["p99_9_ms"].get<double>());
  }
}

TEST_F(DebugCommand, CompareWithStoredValues) {
  const std::string stored = folder / "stored";
  const std::vector<std::string> given{"--input", "image=1x1x8x8"};
  EXPECT_EQ(run_tool({"run", digits_model(), given[0], given[1], "--output-dir", stored}).exit, 0);
  EXPECT_EQ(run_tool({"compare", digits_model(), stored, given[0], given[1]}).exit, 0);
  ASSERT_TRUE(write_npy(stored + "/label.npy", Tensor::of<std::int64_t>({1}, {77})));
  const Ended ended = run_tool({"compare", digits_model(), stored, given[0], given[1]});
  EXPECT_EQ(ended.exit, 1);
  EXPECT_THAT(ended.out, HasSubstr("value 'label'"));
  EXPECT_EQ(run_tool({"compare", digits_model(), folder / "none", given[0], given[1]}).exit, 2);
}

TEST_F(DebugCommand, ReduceWritesAModelThatFailsAlike) {
  const std::string small = folder / "small.onnx";
  const std::vector<std::string> exact{"--rtol", "0", "--atol", "0", "--of-largest", "0"};
  std::vector<std::string> words{"reduce", digits_model(), "--input", "image=1x1x8x8", "-o", small};
  words.insert(words.end(), exact.begin(), exact.end());
  const Ended ended = run_tool(words);
  ASSERT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr(" nodes fail: value '"));
  EXPECT_THAT(ended.out, HasSubstr("frazil compare " + small));
  EXPECT_TRUE(std::filesystem::exists(small + ".inputs"));
  words = {"reduce", digits_model(), "--input", "image=1x1x8x8", "-o", small};
  const Ended none = run_tool(words);
  EXPECT_EQ(none.exit, 2);
  EXPECT_THAT(none.err, HasSubstr("both ways agree"));
}

}  // namespace
}  // namespace frazil::test
