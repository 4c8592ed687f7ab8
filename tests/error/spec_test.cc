// Values made by --input, --carry and --output-dir, tested through the command.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error/tool.h"
#include "onnx/model_writer.h"
#include "tensor/npy.h"

namespace frazil::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

class Specs : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(tool_path())) GTEST_SKIP() << kNoCommand;
  }

  /// y = x of the given type.
  std::string same(Elem elem, const std::vector<std::string>& dims) {
    const Message g = graph({.nodes = {{"Identity", {"x"}, {"y"}}},
                             .inputs = {value("x", tensor_type(elem, dims))},
                             .outputs = {value("y", tensor_type(elem, dims))}});
    return folder_.write("same.onnx", model(g));
  }
  /// The value made by a spec; the run must succeed.
  Tensor made(Elem elem, const std::vector<std::string>& dims, const std::string& spec, std::string seed = "0") {
    const Ended ended =
        run_tool({"run", same(elem, dims), "--input", "x=" + spec, "--seed", seed, "--output-dir", folder_ / "out"});
    EXPECT_EQ(ended.exit, 0) << spec << ": " << ended.err;
    auto tensor = read_npy(folder_ / "out/y.npy");
    EXPECT_TRUE(tensor) << spec;
    return tensor ? *tensor : Tensor();
  }
  TempFolder folder_;
};

TEST_F(Specs, DimsGiveRandomValuesOfTheDeclaredType) {
  const Tensor floats = made(Elem::f32, {"N", "M"}, "100x100");
  double sum = 0, squares = 0;
  for (const float v : floats.as<float>()) sum += v, squares += v * v;
  EXPECT_NEAR(sum / 1e4, 0, 0.05);
  EXPECT_NEAR(std::sqrt(squares / 1e4), 1, 0.05);
  EXPECT_THAT(made(Elem::i32, {"N"}, "500").as<std::int32_t>(), Each(AllOf(Ge(0), Le(1))));
  EXPECT_EQ(made(Elem::f32, {"N", "3"}, "0x3").count(), 0);
  EXPECT_EQ(made(Elem::f64, {}, "scalar").type_str(), "f64[]");
  EXPECT_EQ(made(Elem::boolean, {"N"}, "7").type_str(), "bool[7]");
}

TEST_F(Specs, RangesAreHalfOpen) {
  const Tensor ids = made(Elem::i64, {"N"}, "4000:-2..3");
  EXPECT_THAT(ids.as<std::int64_t>(), Each(AllOf(Ge(-2), Le(2))));
  EXPECT_THAT(ids.as<std::int64_t>(), testing::IsSupersetOf({-2, -1, 0, 1, 2}));
  EXPECT_THAT(made(Elem::u8, {"N"}, "1000:250..256").as<std::uint8_t>(), Each(Ge(250)));
  EXPECT_THAT(made(Elem::f32, {"N"}, "1000:1.5..2").as<float>(), Each(AllOf(Ge(1.5f), testing::Lt(2.0f))));
  const Ended ended = run_tool({"run", same(Elem::u8, {"N"}), "--input", "x=3:0..257"});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("0..257 is not a range of u8"));
}

TEST_F(Specs, TheSeedDecidesAndNothingElse) {
  const Tensor once = made(Elem::f32, {"N"}, "10", "5");
  EXPECT_TRUE(identical(once, made(Elem::f32, {"N"}, "10", "5")));
  EXPECT_FALSE(identical(once, made(Elem::f32, {"N"}, "10", "6")));
}

TEST_F(Specs, FillTakesTheDeclaredShapeWithFreeExtentsOfOne) {
  EXPECT_THAT(made(Elem::i64, {}, "=16000").as<std::int64_t>(), ElementsAre(16000));
  EXPECT_EQ(made(Elem::f32, {"N", "3", ""}, "=1").type_str(), "f32[1,3,1]");
  EXPECT_THAT(made(Elem::f32, {"2"}, "=-1e-3").as<float>(), ElementsAre(-1e-3f, -1e-3f));
  EXPECT_THAT(made(Elem::boolean, {"1"}, "=true").as<bool>(), ElementsAre(true));
  EXPECT_THAT(made(Elem::u64, {"1"}, "=18446744073709551615").as<std::uint64_t>(), ElementsAre(~std::uint64_t{0}));
  EXPECT_THAT(made(Elem::string, {"1"}, "=snow").as<std::string>(), ElementsAre("snow"));
  EXPECT_EQ(run_tool({"run", same(Elem::i8, {}), "--input", "x==128"}).exit, 2);
}

TEST_F(Specs, FilesAreReadByWhatTheyHold) {
  ASSERT_TRUE(write_npy(folder_ / "a.npy", Tensor::of<float>({2}, {1, 2})));
  std::filesystem::copy_file(folder_ / "a.npy", folder_ / "plain");
  folder_.write("a.pb", tensor_to_proto(Tensor::of<float>({2}, {3, 4})).value());
  EXPECT_THAT(made(Elem::f32, {"N"}, folder_ / "a.npy").as<float>(), ElementsAre(1, 2));
  EXPECT_THAT(made(Elem::f32, {"N"}, "@" + (folder_ / "plain").string()).as<float>(), ElementsAre(1, 2));
  EXPECT_THAT(made(Elem::f32, {"N"}, folder_ / "a.pb").as<float>(), ElementsAre(3, 4));
}

TEST_F(Specs, TypesThatNumpyLacksBecomePb) {
  const std::string out = folder_ / "out";
  const Ended ended = run_tool({"run", same(Elem::bf16, {"N"}), "--input", "x=3", "--output-dir", out});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  const auto value = read_pb(out + "/y.pb", ProtoKind::tensor);
  ASSERT_TRUE(value) << value.error().text();
  EXPECT_EQ(value->tensor().type_str(), "bf16[3]");
  EXPECT_FALSE(std::filesystem::exists(out + "/y.npy"));
}

TEST_F(Specs, FileNamesArePlainAndCollisionsAnError) {
  const auto write = [&](const std::string& first, const std::string& second) {
    const Message g = graph({.nodes = {{"Abs", {"x"}, {first}}, {"Neg", {"x"}, {second}}},
                             .inputs = {f32("x", {"2"})},
                             .outputs = {f32(first, {"2"}), f32(second, {"2"})}});
    return folder_.write("two.onnx", model(g));
  };
  const std::string out = folder_ / "out";
  EXPECT_EQ(run_tool({"run", write("a/b:0", "../c"), "--input", "x=2", "--output-dir", out}).exit, 0);
  EXPECT_TRUE(std::filesystem::exists(out + "/a_b_0.npy"));
  EXPECT_TRUE(std::filesystem::exists(out + "/.._c.npy"));
  const Ended ended = run_tool({"run", write("a/b", "a:b"), "--input", "x=2", "--output-dir", out});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("'a/b'"), HasSubstr("'a:b'")));
}

TEST_F(Specs, SequencesAreWrittenItemByItem) {
  const Message g = graph({.nodes = {{"SplitToSequence", {"x"}, {"y"}}},
                           .inputs = {f32("x", {"2", "3"})},
                           .outputs = {value("y", sequence_type(unranked_type(Elem::f32)))}});
  const std::string path = folder_.write("split.onnx", model(g)), out = folder_ / "out";
  const Ended ended = run_tool({"run", path, "--input", "x==1", "--output-dir", out});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_TRUE(read_npy(out + "/y[0].npy"));
  EXPECT_TRUE(read_npy(out + "/y[1].npy"));
}

TEST_F(Specs, NamesMayHoldAlmostAnything) {
  const Message g = graph(
      {.nodes = {{"Abs", {"x[0] y:1"}, {"y"}}}, .inputs = {f32("x[0] y:1", {"2"})}, .outputs = {f32("y", {"2"})}});
  EXPECT_EQ(run_tool({"run", folder_.write("odd.onnx", model(g)), "--input", "x[0] y:1=2"}).exit, 0);
}

TEST_F(Specs, CarriedOutputsComeBackAsInputs) {
  const Message g = graph({.nodes = {{"Add", {"state", "x"}, {"next"}}},
                           .inputs = {f32("state", {}), f32("x", {})},
                           .outputs = {f32("next", {})}});
  const std::string path = folder_.write("sum.onnx", model(g)), out = folder_ / "out";
  const std::string stream = folder_.write("s.jsonl", "{}\n{}\n{\"x\": \"=10\"}\n{\"state\": \"=0\"}\n");
  const Ended ended = run_tool({"run", path, "--input", "state==100", "--input", "x==1", "--carry", "next=state",
                                "--stream", stream, "--output-dir", out});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  std::vector<float> sums;
  for (int i = 0; i < 4; ++i) sums.push_back(read_npy(out + "/next." + std::to_string(i) + ".npy")->as<float>()[0]);
  EXPECT_THAT(sums, ElementsAre(101, 102, 112, 1));
}

TEST_F(Specs, CarriedOutputsMayGrow) {
  const Message g = graph({.nodes = {{"Concat", {"past", "x"}, {"present"}, {attr("axis", 1)}}},
                           .inputs = {f32("past", {"2", "T"}), f32("x", {"2", "1"})},
                           .outputs = {f32("present", {"2", "S"})}});
  const std::string path = folder_.write("grow.onnx", model(g)), out = folder_ / "out";
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += "{\"x\": \"=" + std::to_string(i) + "\"}\n";
  const Ended ended = run_tool({"run", path, "--input", "past=2x0", "--carry", "present=past", "--stream",
                                folder_.write("s.jsonl", lines), "--output-dir", out});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  for (int i = 0; i < 40; ++i) {
    const Tensor present = *read_npy(out + "/present." + std::to_string(i) + ".npy");
    ASSERT_THAT(present.sizes(), ElementsAre(2, i + 1));
    for (int k = 0; k < present.count(); ++k) EXPECT_EQ(present.number_at(k), k % (i + 1)) << i;
  }
}

}  // namespace
}  // namespace frazil::test
