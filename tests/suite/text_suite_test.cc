#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/frz.h"
#include "paths.h"
#include "suite/tiers.h"

// Every `; run` line of the text cases, on every tier. Other expectations of this folder's cases are checked, too.
namespace frazil::test {
namespace {

using ::testing::HasSubstr;

void expect_outputs(const FrzRun& run, const Graph& graph, const std::vector<Datum>& got) {
  for (const auto& [name, want] : run.outputs) {
    const auto at = std::ranges::find(graph.output_names(), name);
    ASSERT_NE(at, graph.output_names().end()) << "no output '" << name << "'";
    const auto what = difference(got[static_cast<std::size_t>(at - graph.output_names().begin())], want, run.tolerance);
    EXPECT_FALSE(what) << name << ": " << *what;
  }
}

void expect_outcome(const FrzRun& run, const Graph& graph, const Result<std::vector<Datum>>& got) {
  if (run.error) {
    ASSERT_FALSE(got) << "expected the error '" << *run.error << "'";
    EXPECT_THAT(got.error().text(), HasSubstr(*run.error));
  } else {
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_EQ(run.outputs.size(), graph.output_names().size());
    expect_outputs(run, graph, *got);
  }
}

Result<std::vector<Datum>> run_with(PassSet passes, const Graph& graph, const std::vector<Datum>& inputs) {
  FRAZIL_TRY(const auto made, Executable::make(std::make_shared<const Graph>(graph), {.passes = passes, .verify = 1}));
  return made->open()->run(inputs);
}

/// On every tier, and on tier 0 without any pass and without each pass that changed the graph.
void expect_run(const FrzRun& run, const Graph& graph, const std::vector<PassSet>& sets) {
  const std::vector<Datum> inputs = in_order(graph, run.inputs);
  expect_outcome(run, graph, run_tiers(graph, inputs, run.tolerance));
  for (const PassSet set : sets) {
    SCOPED_TRACE("passes " + str(set));
    expect_outcome(run, graph, run_with(set, graph, inputs));
  }
}

std::vector<PassSet> sets_to_try(const Graph& graph) {
  std::vector<PassSet> sets{PassSet::none()};
  const auto made = Executable::make(std::make_shared<const Graph>(graph));  // where it cannot be made, no set helps
  if (made) std::ranges::copy(sets_without_a_pass(**made), std::back_inserter(sets));
  return sets;
}

void expect_refused_text(const FrzCase& c) {
  link_operators();
  const auto graph = parse(c.text);
  ASSERT_FALSE(graph) << print(*graph);
  EXPECT_THAT(graph.error().text(), HasSubstr(*c.error));
}

std::vector<FrzCase> cases_with_runs() {
  std::vector<FrzCase> cases;
  for (const char* folder : {"ir", "suite"}) {
    auto read = read_frz_folder(source_dir() / "tests" / folder);
    EXPECT_TRUE(read) << read.error().text();
    if (read) std::ranges::move(*read, std::back_inserter(cases));
  }
  std::erase_if(cases, [](const FrzCase& c) { return c.runs.empty() && !c.error; });
  return cases;
}

class TextSuite : public ::testing::TestWithParam<FrzCase> {};

TEST_P(TextSuite, RunsAsWritten) {
  const FrzCase& c = GetParam();
  if (c.error) return expect_refused_text(c);
  const Graph graph = graph_of(c.text);
  for (const std::string& part : c.prints) EXPECT_THAT(print(graph), HasSubstr(part));
  const std::vector<PassSet> sets = sets_to_try(graph);
  for (const FrzRun& run : c.runs) {
    SCOPED_TRACE(fmt::format("{}:{}: {}: run {}", c.file, run.line, c.name, run.text));
    expect_run(run, graph, sets);
  }
}

/// "control_a_carried_value_that_grows_74".
std::string test_name(const ::testing::TestParamInfo<FrzCase>& info) {
  std::string name = fmt::format("{}_{}", info.param.file.substr(0, info.param.file.find('.')), info.param.name);
  std::ranges::replace_if(name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return fmt::format("{}_{}", name, info.param.line);
}

INSTANTIATE_TEST_SUITE_P(Cases, TextSuite, ::testing::ValuesIn(cases_with_runs()), test_name);

}  // namespace
}  // namespace frazil::test
