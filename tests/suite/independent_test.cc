// An operator of form Opaque is one function shared by all executors, so comparing executors does not test it. Each
// needs a test with independently known results.
#include <deque>
#include <set>

#include <gtest/gtest.h>

#include "ir/frz.h"
#include "ir/op/op.h"
#include "paths.h"
#include "suite/tiers.h"

namespace frazil::test {
namespace {

/// Operators that no text case tests, and the test that does.
struct Elsewhere {
  std::string_view domain, name, test;
};
constexpr Elsewhere kElsewhere[] = {
    {"", "ImageDecoder", "ImageDecoder.ReadsFilesWithoutCompression"},  // its operands are files
#ifdef FRAZIL_RE2
    {"", "RegexFullMatch", "RegexFullMatch.MatchesTheWholeString"},  // not in every build
#else
    {"", "RegexFullMatch", "RegexFullMatch.SaysThatItNeedsRe2"},
#endif
    {"frazil", "Uniform", "Random.SeededDropoutIsNumPys"},  // random
};

/// Operators that a value depends on, including through regions.
std::set<const OpDef*> operators_behind(const Graph& graph, Value result) {
  std::set<const OpDef*> found;
  std::set<std::uint32_t> seen;
  std::deque<Value> open{result};
  while (!open.empty()) {
    const Value value = open.front();
    open.pop_front();
    const auto producer = value ? graph.producer(value) : std::nullopt;
    if (!producer || !seen.insert(producer->id).second) continue;
    const Node& node = graph.node(*producer);
    found.insert(node.op);
    open.insert(open.end(), node.in.begin(), node.in.end());
    for (const BlockId block : node.blocks) {
      const auto& results = graph.block(block).results;
      open.insert(open.end(), results.begin(), results.end());
    }
  }
  return found;
}

/// Whether an expected value contains more than a type: it has elements or items.
bool has_content(const Datum& value) {
  if (value.is_tensor()) return value.tensor().count() > 0;
  if (value.is_sequence()) return !value.sequence().items.empty();
  return value.is_map() && !value.map().items.empty();
}

/// Operators whose results the text cases give as literals.
std::set<const OpDef*> operators_with_literals() {
  std::set<const OpDef*> found;
  for (const char* folder : {"ir", "suite"}) {
    const auto cases = read_frz_folder(source_dir() / "tests" / folder);
    EXPECT_TRUE(cases) << cases.error().text();
    for (const FrzCase& c : cases.value_or(std::vector<FrzCase>())) {
      if (c.runs.empty() || c.error) continue;
      const Graph graph = graph_of(c.text);
      for (const FrzRun& run : c.runs) {
        for (const auto& [name, value] : run.outputs) {
          const auto at = std::ranges::find(graph.output_names(), name) - graph.output_names().begin();
          if (has_content(value))
            found.merge(operators_behind(graph, graph.main().results[static_cast<std::size_t>(at)]));
        }
      }
    }
  }
  return found;
}

bool is_test(std::string_view name) {
  const auto* all = ::testing::UnitTest::GetInstance();
  for (int i = 0; i < all->total_test_suite_count(); ++i) {
    const auto* suite = all->GetTestSuite(i);
    for (int k = 0; k < suite->total_test_count(); ++k) {
      if (name == fmt::format("{}.{}", suite->name(), suite->GetTestInfo(k)->name())) return true;
    }
  }
  return false;
}

TEST(OpaqueOperators, HaveAnIndependentCheck) {
  link_operators();
  std::set<const OpDef*> checked = operators_with_literals();
  for (const auto& [domain, name, test] : kElsewhere) {
    const OpDef* op = OpRegistry::global().find(domain, name);
    EXPECT_TRUE(op != nullptr && std::holds_alternative<Opaque>(op->form)) << name << " is no opaque operator";
    EXPECT_TRUE(is_test(test)) << name << ": there is no test " << test;
    EXPECT_TRUE(checked.insert(op).second) << name << " is in text cases as well";
  }
  for (const OpDef* op : OpRegistry::global().all()) {
    if (!std::holds_alternative<Opaque>(op->form)) continue;
    EXPECT_TRUE(checked.contains(op)) << op->domain << (op->domain.empty() ? "" : "::") << op->name
                                      << ": no case in tests/suite/*.frz has a literal result that depends on it";
  }
}

}  // namespace
}  // namespace frazil::test
