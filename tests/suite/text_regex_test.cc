// RegexFullMatch: results when built with RE2, and the error without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/tiers.h"

namespace frazil::test {
namespace {

using ::testing::HasSubstr;

std::string graph_with_pattern(std::string_view pattern) {
  return fmt::format(R"(graph match(%x: string[N]) {{ %y = RegexFullMatch(%x) {{pattern = "{}"}} return y = %y }})",
                     pattern);
}

#ifdef FRAZIL_RE2

struct Match {
  std::string_view pattern, x, y;
};

TEST(RegexFullMatch, MatchesTheWholeString) {
  constexpr Match cases[] = {
      {"[a-z]+(\\\\.[a-z]+)*", R"(["a.b", "a.b.", "", "Ab"])", "[true, false, false, false]"},
      {"", R"(["", " ", "a", "\n"])", "[true, false, false, false]"},
      {"...", R"(["äöü", "ä", "abc", "abcd"])", "[true, false, true, false]"},
      {"(?i)x|y", R"(["X", "y", "xy", "z"])", "[true, true, false, false]"},
      {"(a*)*b", R"(["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aab", "b", "ba"])", "[false, true, true, false]"},
  };
  for (const auto& [pattern, x, y] : cases) {
    SCOPED_TRACE(pattern);
    const Graph graph = graph_of(graph_with_pattern(pattern));
    const auto got = run_tiers(graph, fmt::format("%x = string[4] {}", x));
    ASSERT_TRUE(got) << got.error().text();
    expect_equal(graph, *got, {Datum(parse_literal(fmt::format("bool[4] {}", y)).value())}, kExact);
  }
}

TEST(RegexFullMatch, KeepsTheShape) {
  for (const auto& [x, y] : {std::pair{"string[2,1] [\"a\", \"b\"]", "bool[2,1] [true, false]"},
                             {"string[] \"a\"", "bool[] true"},
                             {"string[0,3] []", "bool[0,3] []"}}) {
    const Graph graph =
        graph_of(R"(graph g(%x: string[...]) { %y = RegexFullMatch(%x) {pattern = "a"} return y = %y })");
    const auto got = run_tiers(graph, fmt::format("%x = {}", x));
    ASSERT_TRUE(got) << got.error().text();
    expect_equal(graph, *got, {Datum(parse_literal(y).value())}, kExact);
  }
}

TEST(RegexFullMatch, RefusesPatterns) {
  link_operators();
  for (const char* pattern : {"(a", "[", "*", "a{2000}", "((a{100}){100}){100}", "\\\\9"}) {
    const auto graph = parse(graph_with_pattern(pattern));
    ASSERT_FALSE(graph) << pattern;
    EXPECT_THAT(graph.error().text(), HasSubstr("attribute 'pattern': "));
    EXPECT_EQ(graph.error().text().find('\n'), std::string::npos);
  }
}

#else

TEST(RegexFullMatch, SaysThatItNeedsRe2) {
  link_operators();
  const auto graph = parse(graph_with_pattern("a"));
  ASSERT_FALSE(graph);
  EXPECT_EQ(name_of(graph.error().code), name_of(Code::unsupported));
  EXPECT_THAT(graph.error().text(), HasSubstr("built without RE2"));
}

#endif

}  // namespace
}  // namespace frazil::test
