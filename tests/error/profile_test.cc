#include <algorithm>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "error/tool.h"

// The report of `frazil profile` for a model with known iterations and branches.
namespace frazil::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// 1, computed by more than a node that would run on either branch.
Term unit(Body& to, Term x) { return to.op("ReduceMax", {to.op("Sign", {to.op("Abs", {x})})}, {{"keepdims", 0}}); }

/// Starting with v = 0, n times: v + 1 while it is below 3, then v + 2; and a product.
Model counting() {
  GraphBuilder graph("counting");
  Term n = graph.input("n", Dtype::i64, {}), x = graph.input("x", Dtype::f32, {4, 4});
  const auto done = graph.loop(
      n, {}, {graph.scalar(0.0f), x},
      [&](Body& body, std::span<const Term> p) {
        const auto next = body.if_else(
            body.op("Less", {p[2], body.scalar(3.0f)}, {}, "low"),
            [&](Body& side) { return std::vector{side.op("Add", {p[2], unit(side, x)}, {}, "one")}; },
            [&](Body& side) {
              return std::vector{side.op("Add", {side.scalar(1.0f), side.op("Add", {p[2], unit(side, x)})}, {}, "two")};
            },
            "choice");
        return std::vector{body.op("Identity", {p[1]}), next[0], body.op("MatMul", {p[3], x}, {}, "product")};
      },
      0, "count");
  graph.output("v", done[0]);
  graph.output("y", done[1]);
  return graph.build();
}

class Profiler : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(tool_path())) GTEST_SKIP() << kNoCommand;
    counting().save(model_);
  }
  Ended profile(std::vector<std::string> more) const {
    std::vector<std::string> call{"profile", model_, "--input", "n==6", "--input", "x=4x4", "--runs", "4"};
    call.insert(call.end(), more.begin(), more.end());
    return run_tool(call);
  }
  /// The only row whose `key` is `value`.
  static json row(const json& rows, const std::string& value, const char* key = "node") {
    json found;
    for (const json& r : rows) {
      if (r[key] == value) found = found.is_null() ? r : throw std::runtime_error("two rows of " + value);
    }
    return found;
  }
  TempFolder folder_;
  std::string model_ = folder_ / "counting.onnx";
};

TEST_F(Profiler, TellsIterationsAndBranches) {
  const Ended ended = profile({"--json"});
  ASSERT_EQ(ended.exit, 0) << ended.err;
  EXPECT_EQ(std::ranges::count(ended.out, '\n'), 1);
  const json result = json::parse(ended.out);
  EXPECT_EQ(result["tier"], "auto");
  EXPECT_EQ(result["passes"], 4);
  const json loop = row(result["control_flow"], "count"), choice = row(result["control_flow"], "choice");
  EXPECT_EQ(loop["entries"], 1);
  EXPECT_EQ(loop["iterations"], 6);
  EXPECT_EQ(choice["entries"], 6);
  EXPECT_EQ(choice["true"], 3);
  EXPECT_EQ(choice["false"], 3);
  EXPECT_LE(choice["total_us"], loop["total_us"]);
  EXPECT_LE(loop["self_us"], loop["total_us"]);
}

TEST_F(Profiler, TellsWhatNodesCost) {
  const json result = json::parse(profile({"--json"}).out);
  const json product = row(result["nodes"], "product");
  EXPECT_EQ(product["op"], "MatMul");
  EXPECT_EQ(product["calls"], 6);
  EXPECT_EQ(product["flops"], 6 * 2 * 64);
  EXPECT_EQ(product["bytes_read"], 6 * 2 * 64);
  EXPECT_EQ(product["bytes_written"], 6 * 64);
  double shares = 0;
  for (const json& r : result["groups"]) shares += r["share"].get<double>();
  EXPECT_GT(shares, 0);
  EXPECT_LE(shares, 1.0001);
  for (const char* figure : {"peak_gflops", "l2_gbs", "l3_gbs", "memory_gbs"}) EXPECT_GT(result["machine"][figure], 0);
  EXPECT_GT(result["overhead"]["off_ms"], 0);
  EXPECT_GT(result["overhead"]["on_ms"], 0);
}

/// Parts add up to the whole on every tier: what rounding of the text form leaves apart is a thousandth.
TEST_F(Profiler, PartsAddUp) {
  for (const char* tier : {"0", "1", "2", "auto"}) {
    const Ended ended = profile({"--json", "--tier", tier});
    if (ended.err.contains("no code generator")) continue;
    const json result = json::parse(ended.out);
    const auto sum = [](const json& rows) {
      double us = 0;
      for (const json& r : rows) us += r["us"].get<double>();
      return us;
    };
    const double total = result["total_us"], groups = sum(result["groups"]), nodes = sum(result["nodes"]);
    EXPECT_NEAR(nodes, groups, groups / 1000) << tier;
    EXPECT_NEAR(groups + result["between_steps_us"].get<double>(), total, total / 1000) << tier;
    // What is not in the loop is a copy of its first values, at most.
    const json loop = row(result["control_flow"], "count"), choice = row(result["control_flow"], "choice");
    const double product = row(result["nodes"], "product")["us"], inside = loop["self_us"];
    EXPECT_GE(loop["total_us"], (inside + product + choice["total_us"].get<double>()) * 0.999) << tier;
    EXPECT_LE(loop["total_us"], total * 1.001) << tier;
    EXPECT_GT(result["overhead"]["alone_ms"], 0) << tier;
  }
}

TEST_F(Profiler, PrintsTables) {
  const Ended ended = profile({});
  ASSERT_EQ(ended.exit, 0) << ended.err;
  for (const char* part : {"MatMul [matmul]", "between steps", "control flow, per pass", "count  Loop", "choice  If",
                           "machine: ", "counters", "without profiling", "step by step on one thread"}) {
    EXPECT_THAT(ended.out, HasSubstr(part));
  }
}

struct Span {
  json args;
  std::string name;
  double begin, end;
  bool holds(const Span& other) const { return begin <= other.begin && other.end <= end; }
};

std::vector<Span> spans(const json& trace, const std::string& name) {
  std::vector<Span> found;
  for (const json& e : trace["traceEvents"]) {
    if (e["ph"] != "X" || e["name"] != name || e["args"].value("kernel", "") == "copy") continue;
    found.push_back({e["args"], name, e["ts"], e["ts"].get<double>() + e["dur"].get<double>() + 1e-3});
  }
  return found;
}

TEST_F(Profiler, TracesNest) {
  const std::string file = folder_ / "trace.json";
  const Ended ended = profile({"--trace", file});
  ASSERT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("trace: "));
  const json trace = json::parse(content_of(file));
  const auto requests = spans(trace, "request"), loops = spans(trace, "count"), rounds = spans(trace, "iteration"),
             choices = spans(trace, "choice"), products = spans(trace, "product");
  ASSERT_EQ(requests.size(), 4u);
  ASSERT_EQ(loops.size(), 4u);
  ASSERT_EQ(rounds.size(), 24u);
  ASSERT_EQ(choices.size(), 24u);
  ASSERT_EQ(products.size(), 24u);
  for (std::size_t i = 0; i < loops.size(); ++i) {
    EXPECT_TRUE(requests[i].holds(loops[i]));
    EXPECT_EQ(loops[i].args["iterations"], 6);
  }
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    EXPECT_TRUE(loops[i / 6].holds(rounds[i]));
    EXPECT_EQ(rounds[i].args["number"], i % 6);
    EXPECT_TRUE(rounds[i].holds(choices[i])) << i;
    EXPECT_EQ(choices[i].args["predicate"], i % 6 < 3) << i;
    EXPECT_TRUE(rounds[i].holds(products[i])) << i;
  }
}

TEST_F(Profiler, TracesAreBounded) {
  const std::string file = folder_ / "trace.json";
  const Ended ended = profile({"--trace", file, "--trace-events", "20", "--tier", "0", "--json"});
  ASSERT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("were dropped"));
  EXPECT_EQ(json::parse(ended.out)["trace"]["events"], 20);
  const json trace = json::parse(content_of(file));
  EXPECT_EQ(spans(trace, "request").size(), 1u);
  EXPECT_LE(trace["traceEvents"].size(), 22u);
  EXPECT_GT(trace["otherData"]["dropped"], 0);
}

/// A loop without iterations is entered; nothing in it runs.
TEST_F(Profiler, LoopsOfNoRounds) {
  const Ended ended = run_tool({"profile", model_, "--input", "n==0", "--input", "x=4x4", "--runs", "2", "--json"});
  const json result = json::parse(ended.out);
  const json loop = row(result["control_flow"], "count");
  EXPECT_EQ(loop["entries"], 1);
  EXPECT_EQ(loop["iterations"], 0);
  EXPECT_TRUE(row(result["control_flow"], "choice").is_null());
}

}  // namespace
}  // namespace frazil::test
