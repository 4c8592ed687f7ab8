#include "govern/report/pipeline_report.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "govern/base/error.h"

// How the bounds of a pipeline follow from those of its models.
namespace frazil::govern {
namespace {

Json report_with(double cost, double memory) {
  return {{"digest", "sha256:" + std::to_string(cost)},
          {"operators", Json::array({{{"domain", ""}, {"name", "Add"}, {"opset", 18}, {"count", 2}}})},
          {"worst_operations", cost},
          {"worst_cost_ns", cost},
          {"worst_memory_bytes", memory},
          {"worst_output_bytes", 1},
          {"models", Json::array()},
          {"draws", false},
          {"unbounded", Json::array()}};
}

RouteNode run(const std::string& model) {
  return {.name = "run_" + model, .kind = "run", .model = model, .version = "1", .endpoint = "", .branches = {}};
}
RouteNode node(const std::string& kind, std::vector<std::vector<RouteNode>> branches, std::int64_t most = 1) {
  RouteNode made{.name = kind, .kind = kind, .model = "", .version = "", .endpoint = "", .most = most, .branches = {}};
  for (auto& nodes : branches) made.branches.push_back({"", std::move(nodes)});
  return made;
}

std::vector<CalledReport> models() {
  return {{"a", "1", report_with(10, 100)}, {"b", "1", report_with(7, 300)}, {"c", "1", report_with(1, 50)}};
}

TEST(PipelineReport, CombinesBounds) {
  struct Case {
    const char* what;
    std::vector<RouteNode> nodes;
    double cost, memory, paths;
  };
  const Case cases[] = {
      {"nothing", {}, 0, 0, 1},
      {"a sequence adds work, and frees memory", {run("a"), run("b")}, 17, 300, 1},
      {"a switch takes one branch", {node("switch", {{run("a")}, {run("b"), run("c")}, {}})}, 10, 300, 3},
      {"a split too", {node("split", {{run("a")}, {run("b")}})}, 10, 300, 2},
      {"a fallback may run all", {node("fallback", {{run("a")}, {run("b")}})}, 17, 300, 1},
      {"a race runs all at the same time", {node("race", {{run("a")}, {run("b")}})}, 17, 400, 1},
      {"an ensemble too", {node("ensemble", {{run("a")}, {run("b")}, {run("c")}})}, 18, 450, 1},
      {"a loop repeats its body", {node("loop", {{run("b")}}, 5)}, 35, 300, 6},
      {"paths multiply",
       {node("switch", {{run("a")}, {run("c")}}), node("switch", {{run("a")}, {run("c")}})},
       20,
       100,
       4},
      {"a loop of choices", {node("loop", {{node("switch", {{run("a")}, {run("c")}})}}, 3)}, 30, 100, 15},
  };
  for (const Case& c : cases) {
    const Json report = report_of({"p", "sha256:p", c.nodes}, models());
    EXPECT_EQ(report["worst_cost_ns"], c.cost) << c.what;
    EXPECT_EQ(report["worst_memory_bytes"], c.memory) << c.what;
    EXPECT_EQ(report["paths"], c.paths) << c.what;
  }
}

TEST(PipelineReport, CountsVeryManyPathsByStructure) {
  std::vector<RouteNode> nodes;
  for (int i = 0; i < 40; ++i) nodes.push_back(node("switch", {{run("a")}, {run("b")}}));
  EXPECT_EQ(report_of({"p", "", nodes}, models())["paths"], 0x1p40);
  EXPECT_EQ(report_of({"p", "", {node("loop", {nodes}, 1'000'000)}}, models())["paths"], 1e300);
}

TEST(PipelineReport, ListsAllThatAnyBranchReaches) {
  RouteNode http{
      .name = "ask", .kind = "http", .model = "", .version = "", .endpoint = "http://host/x", .branches = {}};
  std::vector<CalledReport> called = models();
  called[2].report["worst_cost_ns"] = nullptr;
  called[2].report["unbounded"].push_back({{"of", "work"}, {"where", "node 'n' (Loop)"}, {"why", "no bound"}});
  const Json inner =
      report_of({"q", "sha256:q", {node("split", {{run("a")}, {http}})}}, called);  // a is not counted twice
  called.push_back({"q", "1", inner});
  const Json report =
      report_of({"p", "sha256:p", {run("a"), run("q"), node("fallback", {{run("b")}, {run("c")}})}}, called);
  EXPECT_EQ(report["models"].dump(),
            R"([{"digest":"sha256:10.000000","name":"a","version":"1"},{"digest":"sha256:7.000000","name":"b",)"
            R"("version":"1"},{"digest":"sha256:1.000000","name":"c","version":"1"},)"
            R"({"digest":"sha256:q","name":"q","version":"1"}])");
  EXPECT_EQ(report["endpoints"].dump(), R"([{"host":"host","kind":"http","node":"run_q.ask","path":"/x"}])");
  EXPECT_TRUE(report["worst_cost_ns"].is_null());
  EXPECT_EQ(report["unbounded"][0]["where"], "model 'c': node 'n' (Loop)");
  EXPECT_EQ(report["operators"].dump(), R"([{"count":6,"domain":"","name":"Add","opset":18}])");
}

TEST(PipelineReport, AModelWithoutAReportIsAnError) { EXPECT_THROW(report_of({"p", "", {run("d")}}, models()), Error); }

}  // namespace
}  // namespace frazil::govern
