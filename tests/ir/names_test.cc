#include "ir/graph/names.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "ops/core/registry.h"

namespace frazil {
namespace {

using testing::HasSubstr;

const char* const kNested = R"(graph g(%x: f32[N], %c: bool[]) {
  %a: f32[N] = Neg(%x) "part/first"
  %r: f32[N] = Loop(i64[] 3, _, %a) body(%i: i64[], %k: bool[], %v: f32[N]) {
    %s: f32[N] = If(%c) then_branch() {
      %1: f32[N] = Abs(%v) "act"
      %2: f32[N] = Neg(%1)
      yield %2
    } else_branch() {
      %t: f32[N] = Exp(%v) "act"
      yield %t
    } "choice"
    yield %k, %s
  }
  %3: f32[N] = If(%c) then_branch() {
    %4: f32[N] = Exp(%r) "act"
    yield %4
  } else_branch() {
    yield %a
  } "choice"
  %values: f32[1], %5: i64[1] = TopK(%3, i64[1] [1]) "top"
  return y = %values, at = %5
}
)";

Graph nested() {
  link_operators();
  auto graph = parse(kNested);
  if (!graph) ADD_FAILURE() << graph.error().text();
  return graph ? std::move(*graph) : Graph{};
}

std::string message_of(const auto& result) { return result ? "" : result.error().text(); }

TEST(Names, EachValueAndNodeIsFoundByTheNameThatIsShown) {
  const Graph graph = nested();
  const Names names(graph);
  std::set<std::string> shown;
  for (std::uint32_t v = 0; v < graph.value_count(); ++v) {
    if (!graph.block_of(Value{v})) continue;
    const std::string name = names.of(Value{v});
    EXPECT_TRUE(shown.insert(name).second) << name;
    EXPECT_EQ(names.value(name).value_or(Value{}), Value{v}) << name;
  }
  for (std::uint32_t n = 0; n < graph.node_count(); ++n) {
    EXPECT_EQ(names.node(names.of(NodeId{n})).value_or(NodeId{}), NodeId{n}) << names.of(NodeId{n});
  }
  for (const auto& [value, text] : value_texts(graph)) EXPECT_EQ(names.value(text).value_or(Value{}), value) << text;
}

struct Case {
  const char* name;
  const char* same;  ///< another name of the value, or the end of the message if it has a blank
};

class NamesOf : public testing::TestWithParam<Case> {};

TEST_P(NamesOf, AValue) {
  const Graph graph = nested();
  const Names names(graph);
  const auto [name, same] = GetParam();
  const auto found = names.value(name);
  if (std::string_view(same).find(' ') != std::string_view::npos) {
    EXPECT_THAT(message_of(found), HasSubstr(same));
  } else {
    ASSERT_TRUE(found) << message_of(found);
    EXPECT_EQ(*found, names.value(same).value()) << names.of(*found);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, NamesOf,
    testing::Values(Case{"y", "%values"}, Case{"at", "top:1"}, Case{"top", "values"}, Case{"part/first", "a"},
                    Case{"node 'part/first' (Neg)", "a"}, Case{"%2", "#4:0"}, Case{"#4", "%2"},
                    Case{"node #4 (Neg)", "%2"}, Case{"#1/choice", "s"}, Case{"#1.body/choice", "s"},
                    Case{"#1/act", "several nodes '#1/act': "}, Case{"#1/choice.then_branch/act", "%1"},
                    Case{"#1/choice.else_branch/act", "t"}, Case{"#1/t", "t"}, Case{"#1/x", "no value or node '#1/x'"},
                    Case{"choice", "several nodes 'choice': "}, Case{"act", "several nodes 'act': "},
                    Case{"part/second", "no value or node"}, Case{"", "no value or node ''"},
                    Case{"%77", "no value or node '%77'"}, Case{"top:2", "node 'top' (TopK) has no output 2"},
                    Case{"#77", "no node #77: a pass has made it"}));

}  // namespace
}  // namespace frazil
