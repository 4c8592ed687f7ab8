#include "debug/debugger.h"

#include <gmock/gmock.h>

#include "debug/ways.h"

// A run stops where values are made: at steps, at breakpoints, in bodies; values can be read and set there. The same on
// fused kernels and on the reference executor.
namespace frazil::test {
namespace {

using debug::Debugger;
using debug::Stop;
using debug::Until;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DebuggerTest : public ::testing::TestWithParam<bool> {
 protected:
  void open(std::string_view text) {
    auto made = Debugger::make(parsed(text), ways(GetParam()));
    ASSERT_TRUE(made) << made.error().text();
    debugger = std::move(*made);
  }
  /// "y", "h@2": the value and its iterations; "ended", "failed: why".
  std::string place(const Stop& stop) const {
    if (stop.why == Stop::Why::ended) return "ended";
    if (stop.why == Stop::Why::failed) return "failed: " + stop.fault.text();
    std::string text = debugger->sites()[stop.site].name;
    for (const std::int64_t i : stop.iterations) text += "@" + std::to_string(i);
    return text;
  }
  std::string run(std::string_view bindings, Until until) { return place(debugger->run(inputs(bindings), until)); }
  std::string go(Until until) { return place(debugger->go(until)); }
  std::string value(std::string_view name) {
    const auto value = debugger->value(name);
    return value ? text_of(*value) : value.error().text();
  }
  std::uint32_t stop_at(std::string_view what) {
    const auto number = debugger->add_breakpoint(what);
    EXPECT_TRUE(number) << number.error().text();
    return number.value_or(0);
  }
  std::string set(std::string_view name, std::string_view literal) {
    const auto stop = debugger->set(name, Datum(parse_literal(literal).value()));
    return stop ? place(*stop) : stop.error().text();
  }

  std::unique_ptr<Debugger> debugger;
};

constexpr std::string_view kChain =
    "graph g(%x: f32[N]) { %a = Add(%x, f32[] 1) \"add\" %b = Mul(%a, f32[] 2) \"mul\" %c = Neg(%b) \"neg\" "
    "return y = %c }";

TEST_P(DebuggerTest, StepsThroughAFusedChain) {
  open(kChain);
  EXPECT_EQ(run("x = f32[2] [1, 2]", Until::next_value), "a");
  EXPECT_EQ(value("a"), "f32[2] [2, 3]");
  EXPECT_THAT(value("c"), HasSubstr(GetParam() ? "has not been made yet" : "made yet"));
  EXPECT_EQ(go(Until::next_value), "b");
  EXPECT_EQ(value("b"), "f32[2] [4, 6]");
  EXPECT_EQ(go(Until::next_value), "c");
  EXPECT_EQ(go(Until::next_value), "ended");
  EXPECT_EQ(text_of(debugger->results()[0]), "f32[2] [-4, -6]");
  EXPECT_EQ(value("b"), "f32[2] [4, 6]");
  EXPECT_EQ(value("x"), "f32[2] [1, 2]");
}

TEST_P(DebuggerTest, BreakpointsOfValuesNodesAndOperators) {
  open(kChain);
  const std::uint32_t value = stop_at("b");
  stop_at("neg");
  EXPECT_EQ(run("x = f32[1] [1]", Until::breakpoint), "b");
  EXPECT_EQ(go(Until::breakpoint), "c");
  EXPECT_EQ(go(Until::breakpoint), "ended");
  EXPECT_TRUE(debugger->remove_breakpoint(value));
  EXPECT_FALSE(debugger->remove_breakpoint(value));
  stop_at("Add");
  EXPECT_EQ(run("x = f32[1] [1]", Until::breakpoint), "a");
  EXPECT_EQ(go(Until::breakpoint), "c");
}

TEST_P(DebuggerTest, BreakpointsWithConditions) {
  open("graph g(%x: f32[N]) { %a = Sqrt(%x) \"root\" %b = Mul(%a, f32[] 2) \"mul\" return y = %b }");
  const auto stops = [&](std::string_view what, std::string_view bindings) {
    const std::uint32_t number = stop_at(what);
    const Stop stop = debugger->run(inputs(bindings), Until::breakpoint);
    EXPECT_TRUE(stop.why == Stop::Why::ended || stop.breakpoint == number);
    debugger->remove_breakpoint(number);
    return place(stop);
  };
  EXPECT_EQ(stops("nan", "x = f32[2] [1, -1]"), "a");
  EXPECT_EQ(stops("nan", "x = f32[2] [1, 1]"), "ended");
  EXPECT_EQ(stops("b > 5", "x = f32[2] [1, 9]"), "b");
  EXPECT_EQ(stops("b > 6", "x = f32[2] [1, 9]"), "ended");
  EXPECT_EQ(stops("mul < 0.5", "x = f32[2] [1, 0]"), "b");
  EXPECT_EQ(stops("a shape 3", "x = f32[3] [1, 1, 1]"), "a");
  EXPECT_EQ(stops("a shape 2", "x = f32[3] [1, 1, 1]"), "ended");
  EXPECT_EQ(stops("inf", "x = f32[1] [inf]"), "x");
}

TEST_P(DebuggerTest, WordsThatAreNoBreakpoint) {
  open(kChain);
  for (const char* text : {"", "q", "b >", "b > many", "b shape 1xtwo", "q nan", "b = 3"}) {
    const auto number = debugger->add_breakpoint(text);
    ASSERT_FALSE(number) << text;
    EXPECT_EQ(number.error().code, Code::bad_input);
  }
}

constexpr std::string_view kLoop =
    "graph g(%n: i64[], %x: f32[2]) { %s = Relu(%x) \"start\" "
    "%r = Loop(%n, _, %s) body(%i: i64[], %go: bool[], %h: f32[2]) { %d = Add(%h, f32[] 1) \"more\" "
    "%e = Mul(%d, %d) \"square\" yield %go, %e } \"loop\" %y = Neg(%r) \"end\" return y = %y }";

TEST_P(DebuggerTest, IntoAndOutOfALoop) {
  open(kLoop);
  EXPECT_EQ(run("n = i64[] 2, x = f32[2] [0, 1]", Until::next_value), "s");
  EXPECT_EQ(go(Until::step_into), "d@0");
  EXPECT_THAT(debugger->sites().around(debugger->sites().require("d").value()),
              ElementsAre("node 'loop' (Loop), body"));
  EXPECT_EQ(go(Until::step_over), "e@0");
  EXPECT_EQ(go(Until::next_value), "d@1");
  EXPECT_EQ(value("d"), "f32[2] [2, 5]");
  EXPECT_EQ(go(Until::step_out), "r");
  EXPECT_EQ(value("r"), "f32[2] [4, 25]");
  EXPECT_EQ(go(Until::step_over), "y");
  EXPECT_EQ(go(Until::step_out), "ended");
}

TEST_P(DebuggerTest, OverALoop) {
  open(kLoop);
  EXPECT_EQ(run("n = i64[] 3, x = f32[2] [0, 1]", Until::step_over), "s");
  EXPECT_EQ(go(Until::step_over), "r");
}

TEST_P(DebuggerTest, AValueThatIsSetIsComputedOn) {
  open(kChain);
  EXPECT_EQ(run("x = f32[2] [1, 2]", Until::next_value), "a");
  EXPECT_EQ(go(Until::next_value), "b");
  EXPECT_EQ(set("b", "f32[2] [10, 20]"), "b");
  EXPECT_EQ(value("b"), "f32[2] [10, 20]");
  EXPECT_EQ(go(Until::breakpoint), "ended");
  EXPECT_EQ(text_of(debugger->results()[0]), "f32[2] [-10, -20]");
  // The next run has it, too; an earlier value takes effect in front of it.
  EXPECT_EQ(run("x = f32[2] [1, 2]", Until::breakpoint), "ended");
  EXPECT_EQ(text_of(debugger->results()[0]), "f32[2] [-10, -20]");
}

TEST_P(DebuggerTest, SetInOneIteration) {
  open(kLoop);
  stop_at("e");
  EXPECT_EQ(run("n = i64[] 3, x = f32[2] [0, 0]", Until::breakpoint), "e@0");
  EXPECT_EQ(go(Until::breakpoint), "e@1");
  EXPECT_EQ(value("e"), "f32[2] [4, 4]");
  EXPECT_EQ(set("e", "f32[2] [1, 2]"), "e@1");
  EXPECT_EQ(go(Until::breakpoint), "e@2");
  EXPECT_EQ(value("e"), "f32[2] [4, 9]");
  EXPECT_EQ(go(Until::breakpoint), "ended");
}

TEST_P(DebuggerTest, SettingAnInputBeginsAnew) {
  open(kChain);
  EXPECT_EQ(run("x = f32[2] [1, 2]", Until::next_value), "a");
  EXPECT_EQ(set("x", "f32[2] [5, 6]"), "a");
  EXPECT_EQ(value("a"), "f32[2] [6, 7]");
}

TEST_P(DebuggerTest, WhatCannotBeSet) {
  open(kChain);
  EXPECT_EQ(run("x = f32[2] [1, 2]", Until::next_value), "a");
  EXPECT_EQ(set("a", "f32[3] [1, 2, 3]"), "value 'a' is f32[2], not f32[3]");
  EXPECT_EQ(set("a", "i64[2] [1, 2]"), "value 'a' is f32[2], not i64[2]");
  EXPECT_THAT(set("c", "f32[2] [1, 2]"), HasSubstr("has not been made yet"));
  EXPECT_THAT(set("q", "f32[2] [1, 2]"), HasSubstr("no value or node 'q'"));
  EXPECT_EQ(go(Until::next_value), "b");
}

TEST_P(DebuggerTest, ARunThatFailsTellsWhatItMade) {
  open("graph g(%x: f32[N], %i: i64[]) { %a = Neg(%x) \"neg\" %b = Gather(%a, %i) \"pick\" return y = %b }");
  EXPECT_THAT(run("x = f32[2] [1, 2], i = i64[] 7", Until::breakpoint), HasSubstr("failed: node 'pick' (Gather)"));
  EXPECT_EQ(value("a"), "f32[2] [-1, -2]");
  EXPECT_THAT(value("b"), HasSubstr("has not been made"));
  EXPECT_FALSE(debugger->in_run());
  EXPECT_EQ(run("x = f32[2] [1, 2], i = i64[] 1", Until::breakpoint), "ended");
}

TEST_P(DebuggerTest, AValueThatPassesRemove) {
  open(
      "graph g(%x: f32[2]) { %a = Identity(%x) \"same\" %t = Transpose(%a) \"turn\" %b = Neg(%t) \"neg\" "
      "return y = %b }");
  EXPECT_EQ(run("x = f32[2] [1, 2]", Until::breakpoint), "ended");
  EXPECT_EQ(value("a"), "f32[2] [1, 2]");
  stop_at("same");
  EXPECT_EQ(run("x = f32[2] [1, 2]", Until::breakpoint), "a");
  EXPECT_EQ(value("a"), "f32[2] [1, 2]");
  EXPECT_EQ(go(Until::breakpoint), "ended");
}

TEST_P(DebuggerTest, NodesWithSeveralOutputsAreOneStep) {
  open(
      "graph g(%x: f32[4]) { %a, %b = Split(%x) {num_outputs = 2} \"split\" %c = Neg(%a) \"n\" %d = Neg(%b) \"m\" "
      "return c = %c, d = %d }");
  stop_at("split");
  const Stop stop = debugger->run(inputs("x = f32[4] [1, 2, 3, 4]"), Until::breakpoint);
  EXPECT_EQ(stop.why, Stop::Why::breakpoint);
  EXPECT_EQ(value("a"), "f32[2] [1, 2]");
  EXPECT_EQ(value("m"), value("d"));
}

TEST_P(DebuggerTest, RunsAreLeftInTheMiddle) {
  open(kLoop);
  EXPECT_EQ(run("n = i64[] 1000000, x = f32[2] [0, 0]", Until::next_value), "s");
  EXPECT_EQ(go(Until::step_into), "d@0");
  EXPECT_EQ(run("n = i64[] 1, x = f32[2] [0, 0]", Until::breakpoint), "ended");
  EXPECT_EQ(run("n = i64[] 1000000, x = f32[2] [0, 0]", Until::next_value), "s");
  debugger.reset();
}

INSTANTIATE_TEST_SUITE_P(Tier, DebuggerTest, ::testing::Bool(),
                         [](const auto& reference) { return reference.param ? "Reference" : "Planned"; });

}  // namespace
}  // namespace frazil::test
