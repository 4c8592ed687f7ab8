#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error/tool.h"
#include "onnx/model_writer.h"

namespace frazil::test {
namespace {

using testing::HasSubstr;

class Usage : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(tool_path())) GTEST_SKIP() << kNoCommand;
  }
};

struct BadCall {
  std::vector<std::string> arguments;
  std::string names;  ///< what the line on stderr must name
  std::vector<std::string> environment = {};
  int exit = 2;
};

TEST_F(Usage, BadCallsEndWithOneLineThatNamesTheThing) {
  const TempFolder folder;
  const std::string text = folder.write("notes.txt", "This is no model.\n");
  const std::string empty = folder.write("empty.onnx", "");
  const std::string npy = folder.write("bad.npy", "\x93NUMPY");
  const std::string lines = folder.write("lines.jsonl", "\n{\"image\": 3}\n");
  const std::string words = folder.write("words.jsonl", "image\n");
  const std::string model = digits_model(), image = "image=1x1x8x8";
  const BadCall calls[] = {
      {{}, "no command"},
      {{"frobnicate"}, "there is no command 'frobnicate'; see frazil --help"},
      {{"insepct", model}, "there is no command 'insepct'; did you mean 'inspect'?"},
      {{"--bogus"}, "there is no option '--bogus'; see"},
      {{"--verion"}, "did you mean '--version'?"},
      {{"run"}, "MODEL"},
      {{"run", "missing.onnx"}, "'missing.onnx'"},
      {{"run", text}, text},
      {{"run", empty}, empty},
      {{"run", folder / ""}, "directory"},
      {{"run", "/dev/null"}, "/dev/null"},
      {{"run", model}, "input 'image' is missing: expected f32[1,1,8,8]; for random values add --input image=1x1x8x8"},
      {{"run", model, "--bogus"}, "there is no option '--bogus'; see frazil run --help"},
      {{"run", model, "--inpt", image}, "there is no option '--inpt'; did you mean '--input'?"},
      {{"bench", model, "--memory-limt=7"}, "there is no option '--memory-limt'; did you mean '--memory-limit'?"},
      {{"inspect", model, "--plam"}, "there is no option '--plam'; did you mean '--plan'?"},
      {{"compare", model, "--tierr=0"}, "there is no option '--tierr'; did you mean '--tier'?"},
      {{"run", model, model}, "there is an argument too many: '" + model + "'"},
      {{"run", model, "-x"}, "there is no option '-x'"},
      {{"run", "--inptu=x"}, "there is no option '--inptu'; did you mean '--input'?"},
      {{"run", model, "--input"}, "--input"},
      {{"run", model, "--input", "image"}, "'image'"},
      {{"run", model, "--input", "=1x1x8x8"}, "--input"},
      {{"run", model, "--input", "picture=1x1x8x8"}, "'picture'"},
      {{"run", model, "--input", "image=1x1x8"}, "'image'"},
      {{"run", model, "--input", "image=1x1x8x"}, "'1x1x8x'"},
      {{"run", model, "--input", "image=1x1x8x-8"}, "'image'"},
      {{"run", model, "--input", "image=1x1x8x8:5..5"}, "5..5"},
      {{"run", model, "--input", "image=1x1x8x8:5"}, "5"},
      {{"run", model, "--input", "image==frost"}, "'frost'"},
      {{"run", model, "--input", "image=@"}, "'@'"},
      {{"run", model, "--input", "image=@missing"}, "missing"},
      {{"run", model, "--input", "image=" + npy}, npy},
      {{"run", model, "--input", image, "--input", image}, "twice"},
      {{"run", model, "--input", image, "--carry", "stage=picture"}, "'picture'"},
      {{"run", model, "--input", image, "--carry", "picture=image"}, "'picture'"},
      {{"run", model, "--input", image, "--carry", "stage"}, "'stage'"},
      {{"run", model, "--stream", "missing.jsonl"}, "'missing.jsonl'"},
      {{"run", model, "--stream", lines}, "line 2"},
      {{"run", model, "--stream", words}, "line 1"},
      {{"run", model, "--input", image, "--output-dir", text}, text},
      {{"run", model, "--input", image, "--tier", "3"}, "--tier"},
      {{"run", model, "--input", image, "--threads", "many"}, "--threads"},
      {{"run", model, "--input", image, "--threads", "1025"}, "--threads: expected at most 1024, got 1025"},
      {{"bench", model, "--input", image, "--threads", "4294967296"}, "--threads"},
      {{"run", model, "--input", image, "--numerics", "wild"}, "--numerics"},
      {{"run", model, "--input", image, "--deadline", "-1"}, "--deadline"},
      {{"run", model, "--input", image, "--debug", "7"}, "--debug"},
      {{"bench", model, "--input", image, "--runs", "0"}, "--runs"},
      {{"bench", model, "--input", image, "--runs", "1", "--seconds", "1"}, "--seconds"},
      {{"bench", model, "--stream", "/dev/null"}, "--stream"},
      {{"test", "missing"}, "'missing'"},
      {{"test", folder / ""}, "no case"},
      {{"test", folder / "", "--filter", "("}, "--filter"},
      {{"inspect", model, "--text", "--plan"}, "--text"},
      {{"ops", "--json", "--markdown"}, "--json"},
      {{"profile", model, "--input", image, "--tier", "ref"}, "--tier ref"},
      {{"profile", model, "--input", image, "--runs", "0"}, "--runs"},
      {{"profile", model, "--input", image, "--trace", folder / "no/such/folder"}, "no/such/folder"},
      {{"profile", model, "--input", image, "--trace-events", "999999999999"}, "--trace-events"},
      {{"profile", model, "--input", image, "--max-steps", "3"}, "3 steps", {}, 3},
      {{"profile", folder / "none.onnx"}, "none.onnx"},
      {{"ops"}, "FRAZIL_VERIFY", {"FRAZIL_VERIFY=4"}},
      {{"ops"}, "FRAZIL_ISA", {"FRAZIL_ISA=wide"}},
      {{"ops"}, "FRAZIL_THREADS", {"FRAZIL_THREADS=-1"}},
      {{"run", model, "--input", image}, "FRAZIL_THREADS", {"FRAZIL_THREADS=many"}},
      {{"run", model, "--input", image}, "FRAZIL_THREADS", {"FRAZIL_THREADS=1025"}},
      {{"run", model, "--input", image, "--max-steps", "3"}, "3 steps", {}, 3},
      {{"run", model, "--input", image, "--memory-limit", "100"}, "100", {}, 3},
      {{"run", model, "--input", image}, "3 steps", {"FRAZIL_MAX_STEPS=3"}, 3},
  };
  for (const BadCall& call : calls) {
    std::string shown;
    for (const std::string& a : call.arguments) shown += a + " ";
    const Ended ended = run_tool(call.arguments, call.environment);
    EXPECT_EQ(ended.exit, call.exit) << shown << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(call.names)) << shown;
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << shown << ended.err;
    EXPECT_TRUE(ended.err.starts_with("frazil: ")) << shown << ended.err;
    EXPECT_EQ(ended.out, "") << shown;
  }
}

/// A pipe cannot be mapped, and its model has no folder.
TEST_F(Usage, ModelsComeThroughPipes) {
  const TempFolder folder;
  const std::string out = folder / "out", model = digits_model();
  for (const char* const name : {"-", "/dev/stdin"}) {
    const std::string call =
        "cat '" + model + "' | '" + tool_path().string() + "' inspect --text " + name + " > '" + out + "'";
    ASSERT_EQ(std::system(call.c_str()), 0) << name;
    EXPECT_EQ(content_of(out), run_tool({"inspect", "--text", model}).out) << name;
  }
  const std::string cut = "head -c 200 '" + model + "' | '" + tool_path().string() + "' inspect - 2> '" + out + "'";
  EXPECT_EQ(WEXITSTATUS(std::system(cut.c_str())), 2);
  EXPECT_EQ(content_of(out), "frazil: /dev/stdin: the model is damaged or cut short\n");
}

TEST_F(Usage, ValuesOfOptionsThatAreNoneAreNamed) {
  const std::vector<std::string> whole{"x", "-1", "1.5", "1e3", "", " ", "99999999999999999999999", "1;2", "nan"};
  const std::vector<std::string> real{"x", "-1", "", "nan", "1;2"}, word{"x", "", "-1", "DEFAULT"};
  const struct {
    const char* option;
    std::vector<std::string> bad;
    std::vector<const char*> commands = {"run", "bench", "test"};
  } options[] = {
      {"--threads", whole},
      {"--memory-limit", whole},
      {"--arena-limit", whole},
      {"--max-elements", whole},
      {"--max-steps", whole},
      {"--max-nodes", whole},
      {"--max-nesting", whole},
      {"--max-name-bytes", whole},
      {"--seed", whole},
      {"--debug", whole},
      {"--deadline", real},
      {"--load-deadline", real},
      {"--tier", word},
      {"--numerics", word},
      {"--warmup", whole, {"bench"}},
      {"--runs", whole, {"bench"}},
      {"--seconds", real, {"bench"}},
      {"--max-nodes", {"x", "-1"}, {"inspect"}},
  };
  const std::string model = digits_model();
  for (const auto& option : options) {
    for (const char* command : option.commands) {
      // One parser serves all commands: the first takes all values, the others show that they have it.
      const std::span<const std::string> bad(option.bad);
      for (const std::string& text : command == option.commands[0] ? bad : bad.first(1)) {
        const Ended ended = run_tool({command, model, std::string(option.option) + "=" + text});
        SCOPED_TRACE(std::string(command) + " " + option.option + "=" + text + ": " + ended.err);
        EXPECT_EQ(ended.exit, 2);
        EXPECT_THAT(ended.err, HasSubstr(option.option));
        EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1);
        EXPECT_TRUE(ended.err.starts_with("frazil: "));
        EXPECT_EQ(ended.out, "");
      }
    }
  }
}

TEST_F(Usage, ResultsDoNotDependOnTheNumberOfThreads) {
  const std::vector<std::string> call{"run", digits_model(), "--input", "image=1x1x8x8"};
  const Ended one = run_tool(call);
  EXPECT_EQ(one.exit, 0) << one.err;
  for (const char* threads : {"1", "2", "5", "0"}) {
    std::vector<std::string> with = call;
    with.insert(with.end(), {"--threads", threads});
    EXPECT_EQ(run_tool(with).out, one.out) << threads;
    EXPECT_EQ(run_tool(call, {std::string("FRAZIL_THREADS=") + threads}).out, one.out) << threads;
  }
}

TEST_F(Usage, TheSeedIsThatOfRandomOperatorsWithout) {
  const TempFolder folder;
  const std::string path = folder.write(
      "random.onnx", model(graph({.nodes = {{"RandomNormal", {}, {"y"}, {attr("shape", std::vector<std::int64_t>{4})}}},
                                  .inputs = {},
                                  .outputs = {value("y")}})));
  const auto drawn = [&](const char* seed) { return run_tool({"run", path, "--seed", seed}).out; };
  EXPECT_NE(drawn("1"), "");
  EXPECT_EQ(drawn("1"), drawn("1"));
  EXPECT_NE(drawn("1"), drawn("2"));
}

TEST_F(Usage, ADamagedModelIsOneLine) {
  const std::string whole = content_of(digits_model());
  const TempFolder folder;
  for (std::size_t cut : {std::size_t{1}, std::size_t{100}, whole.size() / 2, whole.size() - 1}) {
    const std::string path = folder.write("cut.onnx", whole.substr(0, cut));
    const Ended ended = run_tool({"run", path, "--input", "image=1x1x8x8"});
    EXPECT_EQ(ended.exit, 2) << cut << ended.err;
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  }
}

TEST_F(Usage, HelpAndListsSucceed) {
  for (const std::vector<std::string>& call :
       std::vector<std::vector<std::string>>{{"--help"},
                                             {"--version"},
                                             {"run", "--help"},
                                             {"bench", "--help"},
                                             {"test", "--help"},
                                             {"inspect", "--help"},
                                             {"ops"},
                                             {"ops", "--markdown"},
                                             {"ops", "--json"},
                                             {"knobs"},
                                             {"knobs", "--markdown"},
                                             {"inspect", digits_model()},
                                             {"inspect", digits_model(), "--text"},
                                             {"inspect", digits_model(), "--dot"},
                                             {"inspect", digits_model(), "--plan"},
                                             {"inspect", digits_model(), "--tiers"},
                                             {"inspect", digits_model(), "--json"}}) {
    const Ended ended = run_tool(call);
    EXPECT_EQ(ended.exit, 0) << call[0] << ended.err;
    EXPECT_NE(ended.out, "") << call[0];
    EXPECT_EQ(ended.err, "") << call[0];
  }
}

}  // namespace
}  // namespace frazil::test
