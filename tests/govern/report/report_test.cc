#include "govern/report/report.h"

#include <string>

#include <frazil/frazil.h>
#include <gtest/gtest.h>

#include "govern/report/influence.h"

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

constexpr const char* kRouter = R"(graph router(%x: f32[N,4], %n: i64[]) {
  %h = Loop(%n, _, %x) body(%i, %k, %s) { %t = Neg(%s) yield %k, %t } "refine"
  %y = Add(%h, %h)
  return y = %y })";

TEST(Report, IsCanonicalAndComplete) {
  const Model model = Model::from_text(kRouter);
  const Json report = report_of(model, {.extents = {{"N", {1, 8}}, {"n", {0, 3}}, {"elsewhere", {1, 2}}}});
  const std::string expected =
      R"x({"code":[],"digest":")x" + model.digest() + R"x(","endpoints":[],"extents":{"N":[1,8],"n":[0,3]},)x" +
      R"x("influence":{"node 'refine' (Loop)":["n","x"],"output 'y'":["n","x"]},"max_steps":null,"models":[],"name":"router",)x" +
      R"x("operators":[{"count":1,"domain":"","name":"Add","opset":null},)x" +
      R"x({"count":1,"domain":"","name":"Loop","opset":null},{"count":1,"domain":"","name":"Neg","opset":null}],)x" +
      R"x("unbounded":[],"worst_cost_ns":)x" + canonical(report["worst_cost_ns"]) + R"x(,"worst_memory_bytes":)x" +
      report["worst_memory_bytes"].dump() + R"x(,"worst_operations":128,"worst_output_bytes":128})x";
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
