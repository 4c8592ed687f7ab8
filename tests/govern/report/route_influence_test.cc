#include "govern/report/route_influence.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "govern/report/route_order.h"

// What may influence the routes of a pipeline, and what every path passes.
namespace frazil::govern {
namespace {

using Port = RouteNode::Port;

/// Values of the pipelines below: the inputs x (0) and t (1), then what nodes make.
constexpr std::size_t kX = 0, kT = 1;

/// A report of a model with the inputs x and t: y follows from x, w from both.
Json model_report() {
  return {{"digest", "sha256:m"},
          {"operators", Json::array({{{"domain", ""}, {"name", "Add"}, {"opset", 18}, {"count", 1}}})},
          {"models", Json::array()},
          {"draws", false},
          {"unbounded", Json::array()},
          {"worst_operations", 1},
          {"worst_cost_ns", 1},
          {"worst_memory_bytes", 1},
          {"worst_output_bytes", 1},
          {"influence", {{"output 'y'", {"x"}}, {"output 'w'", {"t", "x"}}}},
          {"reaches", Json::object()}};
}
Json random_report() {
  Json report = model_report();
  report["draws"] = true;
  return report;
}

std::vector<CalledReport> flow_models() {
  return {{"a", "1", model_report()},
          {"b", "1", model_report()},
          {"c", "1", model_report()},
          {"dice", "1", random_report()}};
}

RouteNode flow_run(const std::string& name, const std::string& model, std::size_t x, std::size_t y) {
  return {.name = name, .kind = "run", .model = model, .version = "1", .inputs = {{"x", x}}, .outputs = {{"y", y}}};
}
RouteNode flow_host(const std::string& name, const std::string& kind, const std::string& at, std::size_t x,
                    std::size_t y) {
  return {.name = name, .kind = kind, .endpoint = at, .inputs = {{"x", x}}, .outputs = {{"y", y}}};
}
RouteNode::Branch flow_branch(std::vector<RouteNode> nodes, std::size_t result, RouteFormula when = {}) {
  return {.rule = "", .nodes = std::move(nodes), .name = "b", .when = std::move(when), .results = {result}};
}
RouteNode flow_choice(const std::string& kind, std::vector<RouteNode::Branch> branches, std::size_t result) {
  return {.name = kind, .kind = kind, .branches = std::move(branches), .outputs = {{"", result}}};
}
Route flow_route(std::vector<RouteNode> nodes, std::size_t output) {
  return {"p", "sha256:p", std::move(nodes), {{"x", kX}, {"t", kT}}, {{"y", output}}};
}

std::string flow_listed(const Json& names) {
  std::string text;
  for (const Json& name : names) text += (text.empty() ? "" : " ") + name.get<std::string>();
  return text;
}

struct ExpectedSources {
  const char* key;
  const char* sources;
};
struct InfluenceCase {
  const char* what;
  std::vector<RouteNode> nodes;
  std::size_t output;
  std::vector<ExpectedSources> influence;
  std::vector<ExpectedSources> reaches = {};
};

RouteNode loop_of(bool with_condition) {
  RouteNode loop{.name = "loop", .kind = "loop", .most = 3};
  loop.branches = {flow_branch({flow_run("s", "a", 10, 11)}, 11)};
  loop.carried = {{kX, 10, 11}, {kT, 12, 10}};
  loop.count = {13};
  if (with_condition) loop.decision = {.values = {12}, .parameters = {"n"}};
  loop.repeats_always = !with_condition;
  return loop;
}

const std::vector<InfluenceCase>& influence_cases() {
  static const std::vector<InfluenceCase> cases = {
      {"a call passes on what influences each output",
       {flow_run("s", "a", kX, 10)},
       10,
       {{"output 'y'", "tensor:x"}, {"model:a/1", ""}},
       {{"model:a/1", "tensor:x"}}},
      {"an input that the call does not give has the state of earlier requests",
       {{.name = "s", .kind = "run", .model = "a", .version = "1", .inputs = {{"x", kX}}, .outputs = {{"w", 10}}}},
       10,
       {{"output 'y'", "state tensor:x"}}},
      {"a random operator draws", {flow_run("s", "dice", kX, 10)}, 10, {{"output 'y'", "chance tensor:x"}}},
      {"the condition of a case flows to what runs under it, and to later cases",
       {flow_choice("switch",
                    {flow_branch({flow_run("s", "a", kX, 10)}, 10, {.values = {kT}, .parameters = {}}),
                     flow_branch({flow_run("u", "b", kX, 11)}, 11, {.values = {}, .parameters = {"tier"}}),
                     flow_branch({flow_run("v", "c", kX, 12)}, 12)},
                    13)},
       13,
       {{"model:a/1", "tensor:t"},
        {"model:b/1", "parameter:tier tensor:t"},
        {"model:c/1", "parameter:tier tensor:t"},
        {"node 'switch'", "parameter:tier tensor:t"},
        {"output 'y'", "parameter:tier tensor:t tensor:x"}},
       {{"model:a/1", "tensor:t tensor:x"}}},
      {"a fallback depends on what may fail, and on time",
       {flow_choice("fallback",
                    {flow_branch({flow_run("s", "a", kX, 10)}, 10), flow_branch({flow_run("u", "b", kT, 11)}, 11)},
                    12)},
       12,
       {{"model:a/1", "clock"},
        {"model:b/1", "clock state tensor:x"},
        {"output 'y'", "clock state tensor:t tensor:x"}}},
      {"a failure that is caught decides whether the steps after it run",
       {flow_choice(
           "fallback",
           {flow_branch({flow_run("s", "a", kX, 10), flow_run("u", "b", kT, 11), flow_run("v", "c", kT, 12)}, 12),
            flow_branch({}, kT)},
           13)},
       13,
       {{"model:b/1", "clock state tensor:x"}, {"model:c/1", "clock state tensor:t tensor:x"}}},
      {"a race depends on chance and time",
       {flow_choice(
           "race", {flow_branch({flow_run("s", "a", kX, 10)}, 10), flow_branch({flow_run("u", "b", kX, 11)}, 11)}, 12)},
       12,
       {{"model:b/1", "chance clock"}, {"output 'y'", "chance clock state tensor:x"}}},
      {"an ensemble runs all of its blocks, and combines those that succeed",
       {flow_choice("ensemble",
                    {flow_branch({flow_run("s", "a", kX, 10)}, 10), flow_branch({flow_run("u", "b", kT, 11)}, 11)},
                    12)},
       12,
       {{"model:b/1", ""}, {"output 'y'", "clock state tensor:t tensor:x"}}},
      {"carried values and the condition reach all iterations",
       {loop_of(true)},
       11,
       {{"model:a/1", "parameter:n tensor:t tensor:x"},
        {"node 'loop'", "parameter:n tensor:t tensor:x"},
        {"output 'y'", "parameter:n tensor:t tensor:x"}}},
      {"a loop without a condition decides nothing",
       {loop_of(false)},
       11,
       {{"model:a/1", ""}, {"node 'loop'", ""}, {"output 'y'", "tensor:x"}}},
      {"answers of others are sources",
       {flow_host("f", "features", "redis://r/p/v", kX, 10), flow_host("h", "http", "http://h/m", 10, 11),
        flow_host("k", "code", "k.py:f", 11, 12)},
       12,
       {{"output 'y'", "clock code feature:f.y http tensor:x"}, {"endpoint:http://h/m", ""}, {"code:k.py:f", ""}},
       {{"endpoint:http://h/m", "clock feature:f.y tensor:x"}}},
  };
  return cases;
}

TEST(RouteInfluence, FollowsValuesConditionsAndFailures) {
  for (const InfluenceCase& c : influence_cases()) {
    const RouteInfluence found = influence_of(flow_route(c.nodes, c.output), flow_models());
    for (const ExpectedSources& one : c.influence) {
      ASSERT_TRUE(found.influence.contains(one.key)) << c.what << ": " << one.key;
      EXPECT_EQ(flow_listed(found.influence[one.key]), one.sources) << c.what << ": " << one.key;
    }
    for (const ExpectedSources& one : c.reaches) {
      EXPECT_EQ(flow_listed(found.reaches[one.key]), one.sources) << c.what << ": " << one.key << " may get";
    }
  }
}

TEST(RouteInfluence, ASplitDependsOnItsKeyChanceAndGuards) {
  RouteNode split = flow_choice(
      "split", {flow_branch({flow_run("s", "a", kX, 10)}, 10), flow_branch({flow_run("u", "b", kX, 11)}, 11)}, 12);
  split.decision = {.values = {}, .parameters = {"user"}};
  EXPECT_EQ(flow_listed(influence_of(flow_route({split}, 12), flow_models()).influence["model:b/1"]), "parameter:user");
  split.draws = true;
  EXPECT_EQ(flow_listed(influence_of(flow_route({split}, 12), flow_models()).influence["model:b/1"]),
            "chance parameter:user");
  split.branches[1].guarded = true;
  EXPECT_EQ(flow_listed(influence_of(flow_route({split}, 12), flow_models()).influence["model:b/1"]),
            "chance clock parameter:user state");
}

TEST(RouteInfluence, ThoseOfACalledPipelineAreSeenFromTheCaller) {
  Route inner =
      flow_route({flow_choice("switch",
                              {flow_branch({flow_run("s", "a", kX, 10)}, 10, {.values = {kT}, .parameters = {"tier"}}),
                               flow_branch({flow_run("u", "b", kX, 11)}, 11)},
                              12)},
                 12);
  inner.name = "q";
  std::vector<CalledReport> called = flow_models();
  called.push_back({"q", "1", report_of(inner, called)});
  RouteNode call{.name = "q",
                 .kind = "run",
                 .model = "q",
                 .version = "1",
                 .inputs = {{"x", kT}, {"t", kX}},
                 .outputs = {{"y", 10}}};
  const Json report = report_of(flow_route({call}, 10), called);
  EXPECT_EQ(flow_listed(report["influence"]["model:b/1"]), "parameter:tier tensor:x");
  EXPECT_EQ(flow_listed(report["reaches"]["model:b/1"]), "parameter:tier tensor:t tensor:x");
  EXPECT_EQ(flow_listed(report["influence"]["output 'y'"]), "parameter:tier tensor:t tensor:x");
  EXPECT_FALSE(report["influence"].contains("node 'switch'")) << "its nodes are in its own report";
}

// ---- what every path passes ----

/// Returns the targets on every path to a target, without nodes.
std::string passed_before(const std::vector<RouteNode>& nodes, const std::string& target) {
  const RouteOrder order = order_of(flow_route(nodes, kX), flow_models());
  for (const Json& one : order.passes) {
    if (one.at("to") != target) continue;
    std::string text;
    for (const Json& name : one.at("always")) {
      if (name.get<std::string>().starts_with("model:")) text += (text.empty() ? "" : " ") + name.get<std::string>();
    }
    return text;
  }
  return "unreachable";
}

TEST(RouteOrder, KeepsWhatEveryPathPasses) {
  const RouteNode a = flow_run("s", "a", kX, 10), b = flow_run("u", "b", kX, 11), c = flow_run("v", "c", kX, 12);
  const auto two = [&](const char* kind, const std::vector<RouteNode>& first, const std::vector<RouteNode>& second) {
    return flow_choice(kind, {flow_branch(first, 10), flow_branch(second, 10)}, 13);
  };
  RouteNode both = two("ensemble", {a}, {b});
  both.least = 2;
  RouteNode always = loop_of(false), perhaps = loop_of(true);
  struct Case {
    const char* what;
    std::vector<RouteNode> nodes;
    const char* expected;  ///< before c
  };
  const Case cases[] = {
      {"a sequence", {a, b, c}, "model:a/1 model:b/1"},
      {"another path without it", {two("switch", {a, c}, {c})}, ""},
      {"both branches", {two("switch", {a, b}, {b, a}), c}, "model:a/1 model:b/1"},
      {"one branch", {two("switch", {a, b}, {b}), c}, "model:b/1"},
      {"before and in a branch", {a, two("split", {b, c}, {b})}, "model:a/1 model:b/1"},
      {"the block that failed does not count", {two("fallback", {a}, {c})}, ""},
      {"the winner of a race", {two("race", {a, b}, {a}), c}, "model:a/1"},
      {"an ensemble that needs one block", {two("ensemble", {a}, {b}), c}, ""},
      {"an ensemble that needs all blocks", {both, c}, "model:a/1 model:b/1"},
      {"a shadow changes nothing", {flow_choice("shadow", {flow_branch({a}, 10)}, 10), c}, ""},
      {"a loop that may end at once", {perhaps, c}, ""},
      {"a loop that does not", {always, c}, "model:a/1"},
      {"nowhere", {a, b}, "unreachable"},
  };
  for (const Case& one : cases) EXPECT_EQ(passed_before(one.nodes, "model:c/1"), one.expected) << one.what;
}

TEST(RouteOrder, LooksIntoCalledPipelines) {
  Route inner = flow_route({flow_run("s", "a", kX, 10), flow_run("u", "b", 10, 11)}, 11);
  std::vector<CalledReport> called = flow_models();
  called.push_back({"q", "1", report_of(inner, called)});
  const Json report = report_of(flow_route({flow_run("q", "q", kX, 10), flow_run("last", "c", 10, 11)}, 11), called);
  std::string passed;
  for (const Json& one : report["passes"]) {
    if (one["to"] == "model:c/1") passed = flow_listed(one["always"]);
  }
  EXPECT_EQ(passed, "model:a/1 model:b/1 model:q/1 node 'q'");
}

}  // namespace
}  // namespace frazil::govern
