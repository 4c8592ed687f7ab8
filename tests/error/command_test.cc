#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "error/tool.h"
#include "tensor/npy.h"
#include "tensor/onnx_proto.h"

namespace frazil::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class Command : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(tool_path())) GTEST_SKIP() << kNoCommand;
  }
};

TEST_F(Command, RunPrintsEveryOutput) {
  const Ended ended = run_tool({"run", digits_model(), "--input", "image=1x1x8x8"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  for (const char* part : {"probabilities", "f32[1,10]", "label", "stage", "steps", "i64[1]"}) {
    EXPECT_THAT(ended.out, HasSubstr(part));
  }
}

TEST_F(Command, JsonIsAloneOnStdout) {
  const Ended ended = run_tool({"run", digits_model(), "--input", "image=1x1x8x8", "--json"});
  const json result = json::parse(ended.out);
  EXPECT_EQ(result["tier"], "auto");
  const json& outputs = result["requests"][0]["outputs"];
  EXPECT_EQ(outputs[0]["name"], "probabilities");
  EXPECT_EQ(outputs[0]["shape"], json::array({1, 10}));
  EXPECT_NEAR(outputs[0]["mean"].get<double>(), 0.1, 1e-5);
}

TEST_F(Command, TheSeedDecidesRandomInputs) {
  const auto run = [](std::string seed, std::string tier) {
    return run_tool({"run", digits_model(), "--input", "image=1x1x8x8", "--seed", seed, "--tier", tier}).out;
  };
  EXPECT_EQ(run("1", "0"), run("1", "auto"));
  EXPECT_NE(run("1", "0"), run("2", "0"));
  EXPECT_THAT(run("1", "ref"), HasSubstr("f32[1,10]"));
}

TEST_F(Command, OutputFoldersHoldNpyFiles) {
  const TempFolder folder;
  const std::string out = folder / "deep/out";
  const Ended ended = run_tool({"run", digits_model(), "--input", "image==0.5", "--output-dir", out});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  const auto label = read_npy(out + "/label.npy");
  ASSERT_TRUE(label) << label.error().text();
  EXPECT_EQ(label->type_str(), "i64[1]");
  EXPECT_TRUE(read_npy(out + "/probabilities.npy"));
}

TEST_F(Command, StreamsRunLineByLine) {
  const TempFolder folder;
  ASSERT_TRUE(write_npy(folder / "ones.npy", Tensor::of<float>({1, 1, 8, 8}, std::vector<float>(64, 1))));
  const std::string stream = folder.write("s.jsonl", "{\"image\": \"=0\"}\n\n{}\n{\"image\": \"ones.npy\"}\n");
  const std::string out = folder / "out";
  const Ended ended =
      run_tool({"run", digits_model(), "--input", "image==1", "--stream", stream, "--output-dir", out, "--json"});
  ASSERT_EQ(ended.exit, 0) << ended.err;
  EXPECT_EQ(json::parse(ended.out)["requests"].size(), 3);
  const auto first = read_npy(out + "/probabilities.0.npy"), second = read_npy(out + "/probabilities.1.npy"),
             third = read_npy(out + "/probabilities.2.npy");
  ASSERT_TRUE(first && second && third);
  EXPECT_FALSE(identical(*first, *second));
  EXPECT_TRUE(identical(*second, *third));
}

/// An ONNX file of one node Neg, or of another operator of ai.onnx with a name of 3 letters.
std::string model_of(const std::string& op) {
  const std::string node = "\x0a\x01x\x12\x01y\x22\x03" + op;
  const std::string graph = std::string("\x0a") + static_cast<char>(node.size()) + node;
  return std::string("\x08\x09\x42\x02\x10\x0d\x3a") + static_cast<char>(graph.size()) + graph;
}

TEST_F(Command, CoverageNamesMissingOperators) {
  const TempFolder folder;
  const std::string known = folder.write("known.onnx", model_of("Neg"));
  const Ended all = run_tool({"ops", "--coverage", known});
  EXPECT_EQ(all.exit, 0) << all.err;
  EXPECT_THAT(all.out, HasSubstr("total: 1 model, 1 node: all operators available"));
  folder.write("unknown.onnx", model_of("Xyz"));
  const Ended some = run_tool({"ops", "--coverage", folder / "", "--json"});
  EXPECT_EQ(some.exit, 1) << some.err;
  const json result = json::parse(some.out);
  EXPECT_EQ(result["models"].size(), 2);
  EXPECT_EQ(result["nodes"], 2);
  const json missing = {{{"domain", ""}, {"name", "Xyz"}, {"opset", 13}, {"nodes", 1}, {"models", 1}}};
  EXPECT_EQ(result["missing"], missing);
}

TEST_F(Command, CoverageReportsDamagedModelsAndGoesOn) {
  const TempFolder folder;
  folder.write("a.onnx", "no model");
  folder.write("b.onnx", model_of("Xyz"));
  const Ended ended = run_tool({"ops", "--coverage", folder / ""});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.out, HasSubstr("  Xyz (opset 13): 1 node\n"));
  EXPECT_THAT(ended.err, HasSubstr("a.onnx: the model is damaged or cut short"));
  EXPECT_EQ(run_tool({"ops", "--coverage", folder / "none"}).exit, 2);
  const TempFolder empty;
  const Ended none = run_tool({"ops", "--coverage", empty / ""});
  EXPECT_EQ(none.exit, 2);
  EXPECT_THAT(none.err, HasSubstr("no model found"));
}

TEST_F(Command, CoverageReadsSubgraphsAndFunctions) {
  const Ended ended = run_tool({"ops", "--coverage", digits_model(), "--json"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_GT(json::parse(ended.out)["nodes"].get<int>(), 10);
}

TEST_F(Command, BenchReportsTheContractedFields) {
  const TempFolder folder;
  const std::string stream = folder.write("s.jsonl", "{}\n{\"image\": \"=0\"}\n");
  for (bool streaming : {false, true}) {
    std::vector<std::string> call{"bench", digits_model(), "--input", "image=1x1x8x8", "--runs", "4", "--warmup", "1"};
    if (streaming) call.insert(call.end(), {"--stream", stream});
    const Ended ended = run_tool(call);
    ASSERT_EQ(ended.exit, 0) << ended.err;
    const json result = json::parse(ended.out);
    std::set<std::string> keys;
    for (const auto& [key, value] : result.items()) keys.insert(key);
    EXPECT_EQ(keys, (std::set<std::string>{"load_ms", "first_ms", "median_ms", "min_ms", "p99_ms", "runs", "total_ms",
                                           "peak_mb", "tier"}));
    EXPECT_EQ(result["runs"], 4);
    EXPECT_LE(result["min_ms"], result["median_ms"]);
    EXPECT_LE(result["median_ms"], result["p99_ms"]);
    EXPECT_GT(result["peak_mb"], 1);
  }
}

/// A test case of the digits model whose expected label is `label`.
void write_case(const std::filesystem::path& at, std::int64_t label, std::string_view out) {
  std::filesystem::create_directories(at / "test_data_set_0");
  std::filesystem::copy_file(digits_model(), at / "model.onnx");
  const auto write = [&](const std::string& name, const Tensor& tensor) {
    std::ofstream(at / "test_data_set_0" / name, std::ios::binary) << tensor_to_proto(tensor).value();
  };
  write("input_0.pb", Tensor::of<float>({1, 1, 8, 8}, std::vector<float>(64, 0.5f)));
  const char* names[] = {"probabilities", "label", "stage", "steps"};
  for (int i = 0; i < 4; ++i) {
    write("output_" + std::to_string(i) + ".pb", read_npy(std::string(out) + "/" + names[i] + ".npy").value());
  }
  if (label >= 0) write("output_1.pb", Tensor::of<std::int64_t>({1}, {label}));
}

TEST_F(Command, TestCountsPassesFailuresAndSkips) {
  const TempFolder folder;
  const std::string out = folder / "out";
  ASSERT_EQ(run_tool({"run", digits_model(), "--input", "image==0.5", "--output-dir", out}).exit, 0);
  write_case(folder / "cases/good", -1, out);
  EXPECT_EQ(run_tool({"test", folder / "cases"}).out, "1 passed, 0 failed, 0 skipped\n");

  write_case(folder / "cases/nested/wrong", 77, out);
  write_case(folder / "cases/empty", -1, out);
  std::filesystem::remove(folder / "cases/empty/test_data_set_0/output_0.pb");
  write_case(folder / "cases/broken", -1, out);
  std::filesystem::resize_file(folder / "cases/broken/model.onnx", 1000);
  const Ended ended = run_tool({"test", folder / "cases"});
  EXPECT_EQ(ended.exit, 1);
  EXPECT_TRUE(ended.out.ends_with("\n1 passed, 2 failed, 1 skipped\n")) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("wrong: output 'label'"));
  EXPECT_THAT(ended.out, HasSubstr("broken: "));
  EXPECT_THAT(ended.out, HasSubstr("SKIP "));

  const Ended filtered = run_tool({"test", folder / "cases", "--filter", "good$", "--json"});
  EXPECT_EQ(filtered.exit, 0);
  EXPECT_EQ(json::parse(filtered.out)["passed"], 1);
}

TEST_F(Command, ConvertWritesAModelThatRunsAlike) {
  const TempFolder folder;
  const std::string whole = folder / "whole.onnx", split = folder / "split.onnx";
  const Ended first = run_tool({"convert", digits_model(), whole});
  ASSERT_EQ(first.exit, 0) << first.err;
  EXPECT_EQ(first.out, "");
  const Ended second = run_tool({"convert", whole, split, "--external-data", "256"});
  ASSERT_EQ(second.exit, 0) << second.err;
  EXPECT_GT(std::filesystem::file_size(split + ".data"), 256u);
  const auto run = [](const std::string& model) { return run_tool({"run", model, "--input", "image==0.5"}).out; };
  EXPECT_THAT(run(digits_model()), HasSubstr("probabilities"));
  EXPECT_EQ(run(whole), run(digits_model()));
  EXPECT_EQ(run(split), run(digits_model()));
}

TEST_F(Command, ConvertTellsWhatItCannotWrite) {
  const TempFolder folder;
  const std::string out = folder / "out.onnx";
  const std::vector<std::vector<std::string>> wrong = {{"convert", digits_model(), out, "--opset", "1"},
                                                       {"convert", digits_model(), out, "--opset", "77"},
                                                       {"convert", digits_model(), out, "--opset", "x"},
                                                       {"convert", digits_model(), out, "--external-data", "-1"},
                                                       {"convert", digits_model(), folder / "no/such/folder"},
                                                       {"convert", folder / "none.onnx", out},
                                                       {"convert", digits_model()}};
  for (const auto& arguments : wrong) {
    const Ended ended = run_tool(arguments);
    EXPECT_EQ(ended.exit, 2) << testing::PrintToString(arguments);
    EXPECT_THAT(ended.err, testing::StartsWith("frazil: "));
    EXPECT_FALSE(std::filesystem::exists(out));
  }
}

TEST_F(Command, TuneSavesATableThatRunsUse) {
  const TempFolder folder;
  const std::string table = folder / "table";
  const Ended ended = run_tool({"tune", digits_model(), "--output", table, "--json"});
  ASSERT_EQ(ended.exit, 0) << ended.err;
  const json result = json::parse(ended.out);
  EXPECT_GT(result["constants"]["product"].get<double>(), 0);
  EXPECT_GT(result["checks"].size(), result["constants"].size());
  EXPECT_GT(result["models"][0]["tuned_ms"].get<double>(), 0);
  const std::vector<std::string> run{"run", digits_model(), "--input", "image==0.5"};
  if (result["file"].is_null())
    GTEST_SKIP() << "the example took longer with the measured table, so that none was saved";
  EXPECT_EQ(result["file"], table);
  EXPECT_EQ(run_tool(run, {"FRAZIL_TUNING=" + table}).exit, 0);
  std::ofstream(table, std::ios::app) << "more";
  const Ended damaged = run_tool(run, {"FRAZIL_TUNING=" + table});
  EXPECT_EQ(damaged.exit, 2);
  EXPECT_THAT(damaged.err, HasSubstr("FRAZIL_TUNING: " + table + ": it is cut off"));
}

/// Before it measures anything.
TEST_F(Command, TuneMakesNoFolder) {
  const TempFolder folder;
  const Ended ended = run_tool({"tune", "--output", folder / "none/table"});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("there is no folder '" + (folder / "none").string() + "'"));
  EXPECT_FALSE(std::filesystem::exists(folder / "none"));
}

TEST_F(Command, TuneNamesAModelThatItCannotRead) {
  const TempFolder folder;
  const Ended ended = run_tool({"tune", folder / "none.onnx", "--output", folder / "table"});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("none.onnx"));
  EXPECT_FALSE(std::filesystem::exists(folder / "table"));
}

TEST_F(Command, ListsNameEveryOperatorAndKnob) {
  const json ops = json::parse(run_tool({"ops", "--json"}).out)["operators"];
  EXPECT_GT(ops.size(), 100);
  for (const json& op : ops) {
    EXPECT_GE(op["since"], 1);
    EXPECT_NE(op["doc"], "") << op["name"];
    EXPECT_NE(op["form"], "");
  }
  EXPECT_THAT(run_tool({"knobs", "--markdown"}).out, HasSubstr("| `FRAZIL_VERIFY` | integer in 0..3 | 0 |"));
}

}  // namespace
}  // namespace frazil::test
