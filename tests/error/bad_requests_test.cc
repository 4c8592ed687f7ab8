// Requests that do not fit the graph's inputs in name, kind, element type, rank, extents or symbols; on both tiers and
// through the command.
#include "error/refusals.h"
#include "error/tool.h"
#include "onnx/model_writer.h"

namespace frazil::test {
namespace {

using testing::HasSubstr;

struct Request {
  std::string_view params;   ///< of a graph that returns its first input
  std::string_view inputs;   ///< bindings; inputs not listed are absent
  std::string_view reasons;  ///< one of these parts must be in the message; "" means that the run succeeds
};

Both ask(const Request& request) {
  std::string name(request.params.substr(0, request.params.find(':')));
  const auto bindings = parse_bindings(request.inputs);
  if (!bindings) {
    ADD_FAILURE() << request.inputs << ": " << bindings.error().text();
    return {};
  }
  return attempt(fmt::format("graph g({}) {{\n  %copy = Identity({})\n  return y = %copy\n}}", request.params, name),
                 *bindings);
}

TEST(BadRequests, AreRefusedOnBothTiersAlike) {
  const std::string_view two = "%a: f32[N], %b: f32[N,2]", product = "%a: f32[N], %b: f32[2*N], %c: f32[N + 1,2*N]";
  const Request requests[] = {
      {two, "a = f32[3] 1, b = f32[3,2] 1", ""},
      {two, "a = f32[0] [], b = f32[0,2] []", ""},
      {two, "a = f32[3] 1", "input 'b'"},
      {two, "", "input 'a'"},
      {two, "a = f32[3] 1, b = none", "input 'b'"},
      {two, "a = f64[3] 1, b = f32[3,2] 1", "input 'a'"},
      {two, "a = string[1] [\"\\xff\\n\"], b = f32[1,2] 1", "input 'a'"},
      {two, "a = f32[] 1, b = f32[3,2] 1", "input 'a'"},
      {two, "a = f32[1,3] 1, b = f32[3,2] 1", "input 'a'"},
      {two, "a = f32[3] 1, b = f32[3,3] 1", "input 'b'"},
      {two, "a = f32[3] 1, b = f32[4,2] 1", "input 'b'"},
      {two, "a = f32[0] [], b = f32[1,2] 1", "input 'b'"},
      {two, "a = seq(f32[3] 1), b = f32[3,2] 1", "input 'a'"},
      {two, "a = seq(), b = f32[3,2] 1", "input 'a'"},
      {product, "a = f32[3] 1, b = f32[6] 1, c = f32[4,6] 1", ""},
      {product, "a = f32[3] 1, b = f32[5] 1, c = f32[4,6] 1", "input 'b'"},
      {product, "a = f32[3] 1, b = f32[6] 1, c = f32[3,6] 1", "input 'c'"},
      {product, "a = f32[3] 1, b = f32[6] 1, c = f32[4,5] 1", "input 'c'"},
      {product, "a = f32[0] [], b = f32[0] [], c = f32[1,0] []", ""},
      {"%a: f32[N,N]", "a = f32[2,2] 1", ""},
      {"%a: f32[N,N]", "a = f32[2,3] 1", "input 'a'"},
      {"%a: f32[...]", "a = f32[2,3] 1", ""},
      {"%a: f32[...]", "a = i32[2,3] 1", "input 'a'"},
      {"%a: f32[...]", "a = seq(f32[] 1)", "input 'a'"},
      {"%a: seq<f32[...]>", "a = seq(f32[1] 1, f32[2,2] 1)", ""},
      {"%a: seq<f32[...]>", "a = seq()", ""},
      {"%a: seq<f32[...]>", "a = f32[1] 1", "input 'a'"},
      {"%a: seq<f32[...]>", "", "input 'a'"},
      {"%a: seq<f32[...]>", "a = seq(i64[1] 1)", "input 'a'"},
      {"%a: seq<f32[...]>", "a = seq(f32[1] 1, string[1] [\"x\"])", "input 'a'"},
      {"%a: seq<f32[2]>", "a = seq(f32[2] 1)", ""},
      {"%a: seq<f32[2]>", "a = seq(f32[2,1] 1)", "input 'a'"},
      {"%a: seq<f32[2]>", "a = seq(f32[3] 1)", "input 'a'"},
      {"%a: opt<f32[2]>", "a = f32[2] 1", ""},
      {"%a: opt<f32[2]>", "", ""},
      {"%a: opt<f32[2]>", "a = i64[2] 1", "input 'a'"},
      {"%a: opt<f32[2]>", "a = f32[2,2] 1", "input 'a'"},
      {"%a: opt<f32[2]>", "a = seq(f32[2] 1)", "input 'a'"},
      {"%a: opt<seq<f32[2]>>", "a = f32[2] 1", "input 'a'"},
      {"%a: f32[2], %k: i64[1] = [5]", "a = f32[2] 1", ""},
      {"%a: f32[2], %k: i64[1] = [5]", "a = f32[2] 1, k = i32[1] 1", "input 'k'"},
      {"%a: f32[2], %k: i64[1] = [5]", "a = f32[2] 1, k = i64[2] 1", "input 'k'"},
  };
  for (const Request& request : requests) {
    SCOPED_TRACE(fmt::format("({}) given ({})", request.params, request.inputs));
    const Both both = ask(request);
    if (request.reasons.empty()) {
      expect_served(both);
      continue;
    }
    for (const Attempt* a : {&both.tier0, &both.ref}) {
      EXPECT_FALSE(a->ok);
      if (a->ok) continue;
      expect_plain(*a);
      EXPECT_EQ(name_of(a->code), name_of(Code::bad_input)) << a->message;
      EXPECT_TRUE(has_one_of(a->message, request.reasons)) << shown(*a);
    }
  }
}

TEST(BadRequests, TooManyInputs) {
  const Graph graph = graph_of("graph g(%a: f32[2]) { return y = %a }");
  const std::vector<Datum> values(2, Datum(Tensor::of<float>({2}, {1, 2})));
  for (const bool reference : {false, true}) {
    const Attempt a = run_once(graph, values, reference);
    EXPECT_FALSE(a.ok);
    EXPECT_EQ(exit_class(a), 2);
    EXPECT_THAT(a.message, HasSubstr("got 2"));
  }
}

/// A session accepts a valid request after each invalid one.
TEST(BadRequests, LeaveTheSessionUsable) {
  const Graph graph = graph_of("graph g(%x: f32[N], %i: i64[]) { %y = Gather(%x, %i) return y = %y }");
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  for (const char* bad :
       {"x = f32[3] 1, i = i64[] 3", "x = f32[0] [], i = i64[] 0", "x = f32[3] 1", "x = i8[3] 1, i = i64[] 0"}) {
    EXPECT_FALSE(tier.session->run(in_order(graph, bad))) << bad;
    EXPECT_TRUE(tier.session->run(in_order(graph, "x = f32[3] 1, i = i64[] 2"))) << bad;
  }
}

class BadSpecs : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(tool_path())) GTEST_SKIP() << kNoCommand;
  }
  TempFolder folder_;
};

TEST_F(BadSpecs, OfTheCommandEndWithOneLine) {
  const Message g = graph({.nodes = {{"Add", {"x", "y"}, {"sum"}},
                                     {"SequenceConstruct", {"x"}, {"s"}},
                                     {"Unsqueeze", {"x", "zero"}, {"row"}},
                                     {"Cast", {"x"}, {"whole"}, {attr("to", 6)}}},
                           .inputs = {f32("x", {"N"}), f32("y", {"N"})},
                           .outputs = {f32("sum", {"N"}), value("s", sequence_type(unranked_type(Elem::f32))),
                                       value("row"), value("whole")},
                           .initializers = {initializer("zero", Tensor::of<std::int64_t>({1}, {0}))}});
  const std::string path = folder_.write("add.onnx", model(g));
  const std::string cut = folder_.write("cut.npy", std::string("\x93NUMPY\x01\x00\x76\x00{'descr'", 18));
  const std::string line = folder_.write("line.npy", std::string("\x93NUMPY\x01\x00\x0c\x00{'a\nb\xff': 1}", 22));
  const std::string proto = folder_.write("bad.pb", "\xff\xff\xff\xff");
  const std::string utf8 = folder_.write("utf8.jsonl", "{\"x\": \"=1\", \"\xff\": \"=1\"}\n");
  const std::string deep = folder_.write("deep.jsonl", std::string(100'000, '[') + "\n");
  const std::string two = folder_.write("two.jsonl", "{}\n{}\n");
  const std::string twice = folder_.write("twice.jsonl", "{\"x\": \"3\", \"x\": \"4\"}\n{\"x\": \"3\"}\n");
  const struct {
    std::vector<std::string> arguments;
    std::string part;
    int exit = 2;
  } calls[] = {
      {{"--input", "x=3", "--input", "y=4"}, "'y'"},
      {{"--input", "x=3"}, "'y'"},
      {{"--input", "x=3", "--input", "y=3", "--input", "z=3"}, "'z'"},
      {{"--input", "x=3x1", "--input", "y=3"}, "'x'"},
      {{"--input", "x=", "--input", "y=3"}, "'x'"},
      {{"--input", "x==", "--input", "y=3"}, "'x'"},
      {{"--input", "x=3x", "--input", "y=3"}, "'3x'"},
      {{"--input", "x=-3", "--input", "y=3"}, "'-3'"},
      {{"--input", "x=3.5", "--input", "y=3"}, "'3.5'"},
      {{"--input", "x=99999999999999999999", "--input", "y=3"}, "99999999999999999999"},
      {{"--input", "x=4611686018427387904", "--input", "y=3"}, "limit", 3},
      {{"--input", "x=1000000000000", "--input", "y=3"}, "limit", 3},
      {{"--input", "x=3:..", "--input", "y=3"}, "'3:..'"},
      {{"--input", "x=3:a..b", "--input", "y=3"}, "a"},
      {{"--input", "x=3:2..1", "--input", "y=3"}, "2..1"},
      {{"--input", "x=3:nan..1", "--input", "y=3"}, "nan"},
      {{"--input", "x==1e999", "--input", "y=3"}, "1e999"},
      {{"--input", "x=" + cut, "--input", "y=3"}, "cut.npy"},
      {{"--input", "x=" + line, "--input", "y=3"}, "unknown key"},
      {{"--input", "x=" + proto, "--input", "y=3"}, "bad.pb"},
      {{"--input", "x=" + (folder_ / "").string() + ".npy", "--input", "y=3"}, ".npy"},
      {{"--input", std::string("x\xff\n=3"), "--input", "y=3"}, "no input"},
      {{"--input", std::string("x==\xff\n"), "--input", "y=3"}, "'x'"},
      {{"--input", "x=3", "--input", "y=3", "--carry", "s=x", "--stream", two},
       "output 's' is seq<f32[N]>, input 'x' takes f32[N]"},
      {{"--input", "x=3", "--input", "y=3", "--carry", "row=x"}, "output 'row' is f32[1,N], input 'x' takes f32[N]"},
      {{"--input", "x=3", "--input", "y=3", "--carry", "whole=x"}, "output 'whole' is i32[N], input 'x' takes f32[N]"},
      {{"--input", "x=3", "--input", "y=3", "--carry", "sum=x", "--carry", "sum=x"}, "'x'"},
      {{"--input", "x=3", "--input", "y=3", "--carry", "=x"}, "'=x'"},
      {{"--input", "x=3", "--input", "y=3", "--carry", "sum="}, "''"},
      {{"--stream", utf8, "--input", "y=3"}, "line 1"},
      {{"--stream", deep, "--input", "y=3"}, "line 1"},
      {{"--stream", twice, "--input", "y=3"}, "line 1: input 'x' is given twice"},
      {{"--stream", folder_ / ""}, "--stream"},
  };
  for (const auto& call : calls) {
    std::vector<std::string> all{"run", path};
    all.insert(all.end(), call.arguments.begin(), call.arguments.end());
    std::string shown;
    for (const std::string& a : call.arguments) shown += a + " ";
    for (const char* tier : {"0", "ref"}) {
      std::vector<std::string> with = all;
      with.insert(with.end(), {"--tier", tier});
      const Ended ended = run_tool(with);
      EXPECT_EQ(ended.exit, call.exit) << shown << tier << ": " << ended.err;
      EXPECT_THAT(ended.err, HasSubstr(call.part)) << shown << tier;
      EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << shown << tier << ": " << ended.err;
      EXPECT_TRUE(ended.err.starts_with("frazil: ")) << shown << tier << ": " << ended.err;
    }
  }
}

/// libtiff is opened at run time. In this test its file has the wrong format.
TEST_F(BadSpecs, ATiffFileWithoutItsLibraryNamesNodeAndPackage) {
  const std::string_view file = "II*\0\x08\0\0\0\0\0";
  const Tensor bytes = Tensor::of<std::uint8_t>({10}, {reinterpret_cast<const std::uint8_t*>(file.data()), 10});
  const std::string input = folder_.write("image.pb", tensor_to_proto(bytes).value());
  const std::string path =
      folder_.write("decode.onnx", model(graph({.nodes = {{"ImageDecoder", {"b"}, {"y"}, {}, "decode"}},
                                                .inputs = {value("b", tensor_type(Elem::u8, {"N"}))},
                                                .outputs = {value("y")}})));
  folder_.write("libtiff.so.6", "no library");
  const Ended ended = run_tool({"run", path, "--input", "b=" + input}, {"LD_LIBRARY_PATH=" + (folder_ / "").string()});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("node 'decode' (ImageDecoder): "));
  if (ended.err.find("this build cannot read TIFF files") != std::string::npos) return;  // built without libtiff
  EXPECT_THAT(ended.err, HasSubstr("TIFF files need libtiff 4.5 or newer, which cannot be opened: "));
  EXPECT_THAT(ended.err, HasSubstr("; install libtiff6\n"));
}

}  // namespace
}  // namespace frazil::test
