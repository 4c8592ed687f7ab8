#include "govern/report/observed.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "govern/base/error.h"
#include "govern/report/pipeline_report.h"

// Recorded paths and costs against reports.
namespace frazil::govern {
namespace {

Json bounded_report(const char* digest) {
  return {{"digest", digest},           {"operators", Json::array()}, {"models", Json::array()},
          {"unbounded", Json::array()}, {"worst_operations", 10},     {"worst_cost_ns", 1000},
          {"worst_memory_bytes", 1},    {"worst_output_bytes", 8},    {"draws", false}};
}

RouteNode observed_run(const std::string& name, const std::string& model) {
  return {.name = name, .kind = "run", .model = model, .version = "1"};
}
RouteNode observed_branching(const std::string& name, const std::string& kind, std::vector<RouteNode> one,
                             std::vector<RouteNode> two) {
  RouteNode made{.name = name, .kind = kind};
  made.branches = {{.rule = "", .nodes = std::move(one), .name = "one"},
                   {.rule = "", .nodes = std::move(two), .name = "two"}};
  return made;
}

/// route: switch(one: a; two: loop of 3 with b), then a call of the pipeline q: fallback(one: a, two: b).
Json observed_pipeline() {
  std::vector<CalledReport> called = {{"a", "1", bounded_report("sha256:a")}, {"b", "1", bounded_report("sha256:b")}};
  called.push_back(
      {"q", "1",
       report_of({"q",
                  "sha256:q",
                  {observed_branching("try", "fallback", {observed_run("f", "a")}, {observed_run("g", "b")})}},
                 called)});
  RouteNode loop{.name = "again", .kind = "loop", .most = 3};
  loop.branches = {{.rule = "", .nodes = {observed_run("in.loop", "b")}, .name = "again"}};
  return report_of({"p",
                    "sha256:p",
                    {observed_branching("route", "switch", {observed_run("s", "a")}, {loop}), observed_run("q", "q")}},
                   called);
}

TEST(Observed, APathIsWithinTheReportOrNamesWhatIsNot) {
  struct Case {
    const char* what;
    const char* steps;  ///< JSON
    const char* expected;
  };
  const Case cases[] = {
      {"one branch",
       R"([{"node":"route","kind":"switch","taken":"one"},{"node":"s","kind":"run","model":"a","version":"1"}])", ""},
      {"no steps at all", "[]", ""},
      {"the inner nodes of a called pipeline",
       R"([{"node":"q.try","kind":"fallback","taken":"one"},{"node":"q.f","kind":"run","model":"a","version":"1"},
           {"node":"q.try","kind":"fallback","taken":"two"},{"node":"q.g","kind":"run","model":"b","version":"1"}])",
       ""},
      {"a model that the report lacks", R"([{"node":"q.try","kind":"fallback","taken":"one"},
                                            {"node":"q.f","kind":"run","model":"c","version":"1"}])",
       "node 'q.f': it ran 'c' version '1', in the report it is 'a' version '1'"},
      {"another version",
       R"([{"node":"route","kind":"switch","taken":"one"},{"node":"s","kind":"run","model":"a","version":"2"}])",
       "node 's': it ran 'a' version '2', in the report it is 'a' version '1'"},
      {"an unknown node", R"([{"node":"other","kind":"http"}])", "node 'other': the report has no such node"},
      {"an unknown node of a called pipeline", R"([{"node":"q.h","kind":"run"}])",
       "node 'q.h': the report has no such node"},
      {"an unknown branch", R"([{"node":"route","kind":"switch","taken":"three"}])", "node 'route': it took 'three'"},
      {"another kind", R"([{"node":"route","kind":"split","taken":"one"}])",
       "node 'route': it is a split, in the report a switch"},
      {"a node in a branch that was not taken",
       R"([{"node":"route","kind":"switch","taken":"one"},{"node":"in.loop","kind":"run","model":"b","version":"1"}])",
       "node 'in.loop': it ran although 'route' did not take 'two'"},
      {"the same where steps were not recorded",
       R"([{"kind":"left out","taken":"5 steps"},{"node":"in.loop","kind":"run","model":"b","version":"1"}])", ""},
      {"as many iterations as allowed", R"([{"node":"route","kind":"switch","taken":"two"},
                                             {"node":"again","kind":"loop","taken":"3 iterations"}])",
       ""},
      {"more iterations", R"([{"node":"route","kind":"switch","taken":"two"},
                              {"node":"again","kind":"loop","taken":"4 iterations"}])",
       "node 'again': it ran 4 iterations, at most 3 are allowed"},
      {"a node that ran too often",
       R"([{"node":"route","kind":"switch","taken":"one"},{"node":"s","kind":"run","model":"a","version":"1"},
           {"node":"s","kind":"run","model":"a","version":"1"}])",
       "node 's': it ran 2 times, at most 1 are allowed"},
  };
  const PathCheck check(observed_pipeline(), "p", "1");
  for (const Case& c : cases) {
    const Json steps = parse_json(c.steps, "steps");
    std::string text;
    for (const std::string& line : check.outside(observed_steps(steps))) text += (text.empty() ? "" : "; ") + line;
    EXPECT_EQ(text, c.expected) << c.what;
  }
}

TEST(Observed, AModelRunsItselfOnly) {
  const PathCheck check(bounded_report("sha256:a"), "a", "1");
  const ObservedStep own{.node = "", .kind = "run", .model = "a", .version = "1", .taken = ""};
  EXPECT_TRUE(check.outside({{own}}).empty());
  ObservedStep other = own;
  other.version = "2";
  EXPECT_EQ(check.outside({{own, other}}).size(), 1U);
}

TEST(Observed, OperationsAndBytesAreBoundsAndTimeIsNot) {
  const PathCheck check(bounded_report("sha256:a"), "a", "1");
  EXPECT_TRUE(check.beyond({.operations = 10, .output_bytes = 8, .nanoseconds = 5000}).empty());
  EXPECT_TRUE(check.is_slow({.operations = {}, .output_bytes = {}, .nanoseconds = 5000}));
  EXPECT_FALSE(check.is_slow({.operations = {}, .output_bytes = {}, .nanoseconds = 1000}));
  const auto lines = check.beyond({.operations = 11, .output_bytes = 9, .nanoseconds = {}});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], "operations: 11, at most 10 are allowed");
}

TEST(Observed, ManyViolationsAndHostileTextsStayShort) {
  const PathCheck check(observed_pipeline(), "p", "1");
  const std::string long_name(100'000, '.');
  std::vector<ObservedStep> steps;
  for (int i = 0; i < 1000; ++i)
    steps.push_back({.node = long_name, .kind = "run", .model = "a\nb", .version = "", .taken = ""});
  const auto lines = check.outside(steps);
  EXPECT_EQ(lines.size(), 20U);
  EXPECT_LT(lines[0].size(), 200U);
  EXPECT_THROW(PathCheck(Json{{"paths", 1}}, "p", "1"), Error);
}

}  // namespace
}  // namespace frazil::govern
