#include "govern/report/report.h"

#include <algorithm>
#include <string>
#include <vector>

#include <frazil/frazil.h>
#include <gtest/gtest.h>

#include "govern/report/compare_reports.h"
#include "govern/report/influence.h"
#include "govern/report/selections.h"

// What a report says about all paths of a model.
namespace frazil::govern {
namespace {

/// Returns "key: input input; key: input".
std::string text_of(const Influence& influence) {
  std::string text;
  for (const auto& [key, inputs] : influence) {
    text += (text.empty() ? "" : "; ") + key + ":";
    for (const std::string& input : inputs) text += " " + input;
  }
  return text;
}

TEST(Influence, FollowsValuesAndConditions) {
  struct Case {
    const char* what;
    const char* graph;
    const char* expected;
  };
  const Case cases[] = {
      {"values", "graph g(%a: f32[N], %b: f32[N]) { %y = Neg(%a) %z = Add(%y, %b) return y = %y, z = %z }",
       "output 'y': a; output 'z': a b"},
      {"a condition decides the value", R"(graph g(%a: f32[N], %b: f32[N], %c: bool[]) {
          %y = If(%c) then_branch() { yield %a } else_branch() { yield %b } "pick"
          %z = Neg(%a)
          return y = %y, z = %z })",
       "node 'pick' (If): c; output 'y': a b c; output 'z': a"},
      {"a condition decides what runs inside", R"(graph g(%a: f32[], %c: bool[], %d: bool[]) {
          %y = If(%c) then_branch() {
            %u = If(%d) then_branch() { yield %a } else_branch() { %m = Neg(%a) yield %m } "inner"
            yield %u
          } else_branch() { yield %a } "outer"
          return y = %y })",
       "node 'inner' (If): c d; node 'outer' (If): c; output 'y': a c d"},
      {"a carried value reaches the next iteration", R"(graph g(%a: f32[], %b: f32[], %n: i64[]) {
          %p, %q = Loop(%n, _, %a, %b) body(%i, %k, %s, %t) { %u = Neg(%s) yield %k, %t, %u } "swap"
          %z = Neg(%b)
          return p = %p, z = %z })",
       "node 'swap' (Loop): a b n; output 'p': a b n; output 'z': b"},
      {"an extent is a part of a value", "graph g(%a: f32[N]) { %y = Shape(%a) return y = %y }", "output 'y': a"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(text_of(influence_of(Model::from_text(c.graph))), c.expected) << c.what;
  }
}

TEST(Influence, NamesTheModelsThatAreCalled) {
  const Model model = Model::from_text(R"(graph g(%a: f32[2], %b: f32[2], %c: bool[]) {
      %y = If(%c) then_branch() {
        %u = frazil::Call(%a) {model = "head", version = 3, takes = ["f32[2]"], gives = ["f32[2]"]} yield %u
      } else_branch() { yield %b } "pick"
      return y = %y })",
                                       {}, {.check_calls = false});
  const InputFlow flow(model);
  EXPECT_EQ(text_of(influence_of(flow)), "model:head/3: c; node 'pick' (If): c; output 'y': a b c");
  EXPECT_EQ(text_of(reaches_of(flow)), "model:head/3: a c");
}

TEST(Selections, AreNodesThatCompareInputsWithConstants) {
  struct Case {
    const char* what;
    const char* graph;
    std::vector<std::string> expected;
  };
  const Case cases[] = {
      {"an If",
       R"(graph g(%x: f32[], %t: f32[]) { %s = Greater(%x, f32[] 0.5) "sure"
          %y = If(%s) then_branch() { yield %x } else_branch() { yield %t } "pick" return y = %y })",
       {"node 'pick' (If): node 'sure' (Greater) compares x with f32[] 0.5"}},
      {"inputs compared with each other",
       R"(graph g(%x: f32[], %t: f32[]) { %s = Greater(%x, %t)
          %y = Where(%s, %x, %t) return y = %y })",
       {}},
      {"a mask of two comparisons",
       R"(graph g(%x: f32[N], %id: i64[]) {
          %a = Less(f32[] 3, %x) "low"  %b = Equal(%id, i64[] 77) "who"  %m = And(%a, %b)
          %z = Neg(%x)  %y = Where(%m, %x, %z) "mask" return y = %y })",
       {"node 'mask' (Where): node 'low' (Less) compares x with f32[] 3; node 'who' (Equal) compares id with i64[] "
        "77"}},
      {"an index",
       R"(graph g(%x: f32[N], %id: i64[]) { %s = Equal(%id, i64[] 7) "seven" %i = Cast(%s) {to = i64}
          %y = Gather(%x, %i) "take" return y = %y })",
       {"node 'take' (Gather): node 'seven' (Equal) compares id with i64[] 7"}},
      {"the condition of a loop, also in its body",
       R"(graph g(%x: f32[], %n: i64[]) {
          %y = Loop(%n, _, %x) body(%i, %on, %v) { %w = Add(%v, %v) %go = Less(%w, f32[] 100) "go" yield %go, %w } "grow"
          return y = %y })",
       {"node 'grow' (Loop): node 'go' (Less) compares n, x with f32[] 100"}},
      {"a selection ends what reaches later ones",
       R"(graph g(%x: f32[N], %t: f32[M]) {
          %s = Greater(%x, f32[] 0) "first"  %z = Neg(%x)  %p = Where(%s, %x, %z) "pick"
          %i = Cast(%p) {to = i64}  %y = Gather(%t, %i) return y = %y })",
       {"node 'pick' (Where): node 'first' (Greater) compares x with f32[] 0"}},
  };
  for (const Case& c : cases) {
    std::vector<std::string> found;
    for (const Json& one : selections_of(InputFlow(Model::from_text(c.graph)))) found.push_back(selection_text(one));
    EXPECT_EQ(found, c.expected) << c.what;
  }
}

TEST(Selections, AHiddenTriggerIsADifferenceFromTheApprovedReport) {
  const auto report = [](const char* limit, const char* more) {
    const std::string text = std::string("graph g(%x: f32[4], %id: i64[]) { %s = Greater(%x, f32[] ") + limit +
                             ") \"sure\" %z = Neg(%x) %m = Where(%s, %x, %z) \"mask\" " + more + " }";
    return report_of(Model::from_text(text), {});
  };
  constexpr const char* kPlain = "return y = %m";
  EXPECT_TRUE(differences(report("0.5", kPlain), report("0.5", kPlain)).empty());
  const std::vector<std::string> changed = {
      "+ selections: node 'mask' (Where): node 'sure' (Greater) compares x with f32[] 0.25",
      "- selections: node 'mask' (Where): node 'sure' (Greater) compares x with f32[] 0.5"};
  EXPECT_EQ(differences(report("0.5", kPlain), report("0.25", kPlain)), changed);
  const auto added = differences(report("0.5", kPlain), report("0.5", R"(%w = Equal(%id, i64[] 4711) "trigger"
      %y = Where(%w, %z, %m) "switch" return y = %y)"));
  EXPECT_NE(std::ranges::find(added,
                              "+ selections: node 'switch' (Where): node 'trigger' (Equal) compares id with "
                              "i64[] 4711"),
            added.end());
  EXPECT_NE(std::ranges::find(added, "+ influence: output 'y': id"), added.end());
}

constexpr const char* kRouter = R"(graph router(%x: f32[N,4], %n: i64[]) {
  %h = Loop(%n, _, %x) body(%i, %k, %s) { %t = Neg(%s) yield %k, %t } "refine"
  %y = Add(%h, %h)
  return y = %y })";

TEST(Report, IsCanonicalAndComplete) {
  const Model model = Model::from_text(kRouter);
  const Json report = report_of(model, {.extents = {{"N", {1, 8}}, {"n", {0, 3}}, {"elsewhere", {1, 2}}}});
  const std::string expected =
      R"x({"code":[],"digest":")x" + model.digest() +
      R"x(","draws":false,"endpoints":[],"extents":{"N":[1,8],"n":[0,3]},)x" +
      R"x("influence":{"node 'refine' (Loop)":["n","x"],"output 'y'":["n","x"]},"max_steps":null,"models":[],"name":"router",)x" +
      R"x("operators":[{"count":1,"domain":"","name":"Add","opset":null},)x" +
      R"x({"count":1,"domain":"","name":"Loop","opset":null},{"count":1,"domain":"","name":"Neg","opset":null}],)x" +
      R"x("reaches":{},"selections":[],"unbounded":[],"worst_cost_ns":)x" + canonical(report["worst_cost_ns"]) +
      R"x(,"worst_memory_bytes":)x" + report["worst_memory_bytes"].dump() +
      R"x(,"worst_operations":128,"worst_output_bytes":128})x";
  EXPECT_EQ(canonical(report), expected);
  const Json again = report_of(Model::from_text(kRouter), {.extents = {{"N", {1, 8}}, {"n", {0, 3}}}});
  EXPECT_EQ(digest_of_report(report), digest_of_report(again));
}

TEST(Report, WhatHasNoBoundIsNullAndHasAReason) {
  const Json report = report_of(Model::from_text(kRouter), {.extents = {{"N", {1, 8}}}});
  EXPECT_TRUE(report["worst_cost_ns"].is_null());
  EXPECT_TRUE(report["worst_operations"].is_null());
  const std::string expected =
      R"x([{"of":"work","where":"node 'refine' (Loop)","why":"the value of input 'n' has no upper bound"}])x";
  EXPECT_EQ(report["unbounded"].dump(), expected);
}

}  // namespace
}  // namespace frazil::govern
