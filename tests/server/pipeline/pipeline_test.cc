// Pipelines: what runs, what comes out, and what their files may not say.
#include "server/pipeline/pipeline.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include <gmock/gmock.h>

#include "server/asked.h"
#include "server/request/path_record.h"
#include "server/rest_asked.h"

namespace frazil::test {
namespace {

using server::Http;
using server::PathRecord;
using testing::ElementsAre;
using testing::HasSubstr;

/// Its index is outside of the tensor, whatever comes.
constexpr const char* kBad =
    "graph g(%x: f32[N,2]) { %m = ReduceMax(%x) {keepdims = 0} %z = Mul(%m, f32[] 0) %f = Add(%z, f32[] 7)"
    "%i = Cast(%f) {to = i64} %v = Gather(%x, %i) {axis = 1} %u = Unsqueeze(%v, i64[1] 1) %y = Add(%x, %u) return y = "
    "%y "
    "}";

class Pipelines : public testing::Test {
 protected:
  Pipelines() {
    folder_.add("double", kDouble);
    folder_.add("triple", kTriple);
    folder_.add("slow",
                "graph g(%x: f32[N,2]) { %z = Loop(i64[] 200000000, _, f32[] 0) body(%i, %on, %v) {"
                "%b = Add(%v, f32[] 1) %c = Cos(%b) yield %on, %c } %y = Add(%x, %z) return y = %y }");
  }
  void serve(const std::string& steps) {
    folder_.write("p.yaml", "inputs: {x: 'f32[N,2]'}\nsteps:\n" + steps + "outputs: {y: out.y}\n");
    server::ServiceOptions options = options_of(folder_);
    options.workers = 2;
    service_.emplace(options);
  }
  server::Outcome run(std::initializer_list<float> x, std::map<std::string, server::Parameter> parameters = {},
                      std::optional<std::uint64_t> timeout_us = {}) {
    path_ = std::make_shared<PathRecord>(server::Clock::now());
    return ask(*service_, {.model = "p",
                           .inputs = {{"x", row(x)}},
                           .parameters = std::move(parameters),
                           .timeout_us = timeout_us,
                           .path = path_})
        .get();
  }
  /// "node:taken" of the steps that chose.
  std::vector<std::string> chosen() const {
    std::vector<std::string> texts;
    for (const auto& step : path_->steps()) {
      if (step.kind != "run") texts.push_back(step.node + ":" + step.taken);
    }
    return texts;
  }
  Folder folder_;
  std::optional<server::Service> service_;
  std::shared_ptr<PathRecord> path_;
};

TEST_F(Pipelines, RunModelsOneAfterTheOther) {
  serve("  - {name: a, model: double, inputs: {x: x}}\n  - {name: out, model: triple, inputs: {x: a.y}}\n");
  EXPECT_THAT(floats_of(run({1, 2})), ElementsAre(6, 12));
  const auto steps = path_->steps();
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].node + steps[0].model + steps[0].version, "adouble1");
}

constexpr const char* kSwitch =
    "  - name: out\n    switch:\n"
    "      - {name: small, when: \"max(x) < param('limit', 10)\", model: double, inputs: {x: x}}\n"
    "      - {name: large, model: triple, inputs: {x: x}}\n";

TEST_F(Pipelines, TakeTheFirstCaseThatHolds) {
  serve(kSwitch);
  EXPECT_THAT(floats_of(run({1, 2})), ElementsAre(2, 4));
  EXPECT_THAT(chosen(), ElementsAre("out:small"));
  EXPECT_THAT(path_->steps()[0].why, HasSubstr("max(x) < param('limit', 10) is true for 2"));
  EXPECT_THAT(floats_of(run({1, 20})), ElementsAre(3, 60));
  EXPECT_THAT(floats_of(run({1, 20}, {{"limit", std::int64_t{21}}})), ElementsAre(2, 40))
      << "parameters of the request";
}

TEST_F(Pipelines, RunAnExpensiveModelOnlyWhereTheCheapOneIsNotSure) {
  serve(
      "  - {name: a, model: double, inputs: {x: x}}\n  - name: out\n    switch:\n"
      "      - {name: sure, when: max(a.y) >= 8, results: {y: a.y}}\n"
      "      - name: unsure\n        steps: [{name: b, model: triple, inputs: {x: a.y}}]\n        results: {y: b.y}\n");
  EXPECT_THAT(floats_of(run({4, 0})), ElementsAre(8, 0));
  EXPECT_THAT(floats_of(run({1, 0})), ElementsAre(6, 0));
}

TEST_F(Pipelines, LoopUntilAFormulaHolds) {
  serve(
      "  - name: out\n    loop:\n      start: {y: x}\n      while: max(y) < 100\n"
      "      steps: [{name: s, model: double, inputs: {x: y}}]\n      next: {y: s.y}\n");
  EXPECT_THAT(floats_of(run({1, 3})), ElementsAre(64, 192));
  EXPECT_THAT(chosen(), ElementsAre("out:6 iterations"));
  EXPECT_THAT(floats_of(run({1, 300})), ElementsAre(1, 300));
}

TEST_F(Pipelines, ManyIterationsDoNotNeedAStack) {
  folder_.add("one", "graph g(%x: f32[N,2]) { %y = Add(%x, f32[] 1) return y = %y }");
  serve(
      "  - name: out\n    loop:\n      start: {y: x}\n      most: 20000\n"
      "      steps: [{name: s, model: one, inputs: {x: y}}]\n      next: {y: s.y}\n");
  EXPECT_THAT(floats_of(run({1, 2})), ElementsAre(20001, 20002));
  const auto steps = path_->steps();
  EXPECT_LE(steps.size(), PathRecord::kMaxSteps) << "nor memory for all steps";
  EXPECT_EQ(steps.back().kind, "loop");
  const auto left_out = std::ranges::find(steps, "left out", &PathRecord::Step::kind);
  ASSERT_NE(left_out, steps.end());
  EXPECT_EQ(left_out->taken, std::to_string(20'001 - (steps.size() - 1)) + " steps");
}

TEST_F(Pipelines, FallBackWhereAModelFails) {
  folder_.add("bad", kBad);
  serve(
      "  - name: out\n    fallback:\n      - {name: first, model: bad, inputs: {x: x}}\n"
      "      - {name: second, model: double, inputs: {x: x}}\n");
  EXPECT_THAT(floats_of(run({1, 2})), ElementsAre(2, 4));
  EXPECT_THAT(chosen(), ElementsAre("out:first", "out:second"));
  EXPECT_THAT(path_->steps().at(2).why, HasSubstr("'first' failed"));
}

TEST_F(Pipelines, DoNotStartWhatCannotEndInTime) {
  serve(
      "  - name: out\n    fallback:\n      - {name: careful, model: slow, inputs: {x: x}}\n"
      "      - {name: quick, model: double, inputs: {x: x}}\n");
  service_->models().find("slow", "")->statistics().run_time.add(std::chrono::seconds(10));
  EXPECT_THAT(floats_of(run({1, 2}, {}, 1'000'000)), ElementsAre(2, 4));
  EXPECT_THAT(path_->steps()[0].why, HasSubstr("'careful' would not end in time"));
}

TEST_F(Pipelines, TheFirstOfARaceEndsTheOthers) {
  serve(
      "  - name: out\n    race:\n      - {name: tortoise, model: slow, inputs: {x: x}}\n"
      "      - {name: hare, model: double, inputs: {x: x}}\n");
  EXPECT_THAT(floats_of(run({1, 2})), ElementsAre(2, 4));
  EXPECT_THAT(chosen(), ElementsAre("out:hare"));
  const auto& slow = service_->models().find("slow", "")->statistics();
  while (slow.fail.count() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(slow.cancelled, 1U);
}

TEST_F(Pipelines, EnsemblesGoOnWithoutWhatFails) {
  const std::string blocks =
      "  - name: out\n    ensemble:\n      combine: mean\n      blocks:\n"
      "        - {name: a, model: double, inputs: {x: x}}\n        - {name: b, model: triple, inputs: {x: x}}\n";
  serve(blocks);
  EXPECT_THAT(floats_of(run({2, 4})), ElementsAre(5, 10));
  folder_.add("bad", kBad);
  serve(blocks + "        - {name: c, model: bad, inputs: {x: x}}\n");
  EXPECT_THAT(floats_of(run({2, 4})), ElementsAre(5, 10));
  EXPECT_THAT(chosen(), ElementsAre("out:2 of 3"));
  serve(blocks + "        - {name: c, model: bad, inputs: {x: x}}\n      least: 3\n");
  EXPECT_FALSE(run({2, 4}));
}

TEST_F(Pipelines, SplitsAreStickyAndHaveTheirShares) {
  serve(
      "  - name: out\n    split:\n      by: param('user', '')\n      arms:\n"
      "        - {name: old, share: 0.8, model: double, inputs: {x: x}}\n"
      "        - {name: new, share: 0.2, model: triple, inputs: {x: x}}\n");
  int fresh = 0;
  constexpr int kUsers = 400;
  for (int user = 0; user < kUsers; ++user) {
    const std::map<std::string, server::Parameter> parameters = {{"user", std::to_string(user)}};
    const auto first = floats_of(run({1, 1}, parameters));
    EXPECT_EQ(floats_of(run({1, 1}, parameters)), first);
    fresh += first.front() == 3 ? 1 : 0;
  }
  EXPECT_NEAR(fresh, kUsers * 0.2, 4 * std::sqrt(kUsers * 0.2 * 0.8));
}

TEST_F(Pipelines, ShadowsSeeTheTrafficAndChangeNothing) {
  serve(
      "  - {name: trial, shadow: {share: 1, model: triple, inputs: {x: x}}}\n"
      "  - {name: out, model: double, inputs: {x: x}}\n");
  EXPECT_THAT(floats_of(run({1, 2})), ElementsAre(2, 4));
  const auto& shadow = service_->models().find("triple", "")->statistics();
  while (shadow.success.count() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_F(Pipelines, OneDeadlineHoldsForAllOfThem) {
  serve("  - {name: a, model: slow, inputs: {x: x}}\n  - {name: out, model: double, inputs: {x: a.y}}\n");
  const auto outcome = run({1, 2}, {}, 200'000);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().status(), Http::timeout);
  EXPECT_THAT(outcome.error().what(), HasSubstr("node 'a'"));
}

TEST_F(Pipelines, HaveAPicture) {
  serve(
      "  - name: out\n    switch:\n"
      "      - {name: small, when: max(x) < 10, model: double, inputs: {x: x}}\n"
      "      - name: large\n        steps:\n          - name: ab\n            split:\n              arms:\n"
      "                - {name: new, share: 1, model: triple, inputs: {x: x}}\n        results: {y: ab.y}\n");
  const auto picture = [&](const char* model, const char* query) {
    const std::string path = std::string("/v2/models/") + model + "/graph";
    return reply_to(*service_, {.method = "GET", .path = path, .query = query});
  };
  const auto text = picture("p", "");
  EXPECT_EQ(text.type, "text/plain");
  EXPECT_THAT(text.body, testing::StartsWith("graph p("));
  for (const char* const part :
       {"frazil.server::Reduce(%in0)", "If(", "\"out.small\"", "frazil.server::Step", "// ab: new\ngraph"}) {
    EXPECT_THAT(text.body, HasSubstr(part));
  }
  EXPECT_EQ(picture("p", "format=text").body, text.body);
  const auto dot = picture("p", "format=dot");
  EXPECT_EQ(dot.type, "text/vnd.graphviz");
  EXPECT_THAT(dot.body, testing::StartsWith("digraph \"p\" {"));
  EXPECT_THAT(dot.body, HasSubstr("// ab: new\ndigraph"));
  EXPECT_THAT(picture("p", "format=svg").body, HasSubstr("query 'format=svg': expected format=text or format=dot"));
  EXPECT_THAT(picture("double", "").body, HasSubstr("model 'double' is not a pipeline"));
  EXPECT_EQ(picture("q", "").status, Http::not_found);
}

TEST_F(Pipelines, AReloadedModelIsUsedByThem) {
  serve("  - {name: out, model: double, inputs: {x: x}}\n");
  EXPECT_THAT(floats_of(run({1, 2})), ElementsAre(2, 4));
  folder_.add("double", kTriple);
  service_->models().load("double");
  EXPECT_THAT(floats_of(run({1, 2})), ElementsAre(3, 6));
  EXPECT_THROW(service_->models().unload("double"), server::Refusal) << "the pipeline needs it";
  folder_.add("double", "graph g(%x: f64[N,2]) { return y = %x }");
  EXPECT_THROW(service_->models().load("double"), server::Refusal) << "the pipeline gives it f32";
  EXPECT_THAT(floats_of(run({1, 2})), ElementsAre(3, 6)) << "what was served is served on";
}

TEST_F(Pipelines, ThoseThatDoNotUseAReloadedModelStayWhatTheyAre) {
  const auto pipeline_of = [&](const std::string& name, const std::string& model) {
    folder_.write(name + ".yaml", "inputs: {x: 'f32[N,2]'}\nsteps: [{name: s, model: " + model +
                                      ", inputs: {x: x}}]\noutputs: {y: s.y}\n");
  };
  pipeline_of("a", "double");
  pipeline_of("b", "triple");
  pipeline_of("over_a", "a");
  folder_.add("versions/1", kDouble);
  pipeline_of("newest", "versions");
  serve("  - {name: out, model: over_a, inputs: {x: x}}\n");
  const auto same_after = [&](const char* loaded) {
    std::map<std::string, std::shared_ptr<const server::Served>> before;
    for (const auto& served : service_->repository()->all()) before[served->name()] = served;
    service_->models().load(loaded);
    std::vector<std::string> same;
    for (const auto& [name, served] : before) {
      if (served->platform() == "frazil_pipeline" && service_->models().find(name, "") == served) same.push_back(name);
    }
    return same;
  };
  EXPECT_THAT(same_after("double"), ElementsAre("b", "newest")) << "p uses it through over_a and a";
  EXPECT_THAT(same_after("triple"), ElementsAre("a", "newest", "over_a", "p"));
  EXPECT_THAT(same_after("over_a"), ElementsAre("a", "b", "newest"));
  folder_.add("versions/2", kTriple);
  EXPECT_THAT(same_after("versions"), ElementsAre("a", "b", "over_a", "p"));
  EXPECT_THAT(floats_of(ask(*service_, {.model = "newest", .inputs = {{"x", row({1, 2})}}}).get()), ElementsAre(3, 6));
  folder_.write("b.yaml", "this is not a pipeline");
  EXPECT_THAT(same_after("double"), ElementsAre("b", "newest")) << "nobody asked for the damaged file";
  EXPECT_THROW(service_->models().load("b"), server::Refusal);
  EXPECT_THROW(service_->models().load("triple"), server::Refusal) << "it would have to be read";
}

struct BadFile {
  const char *steps, *why;
};
class BadFiles : public Pipelines, public testing::WithParamInterface<BadFile> {};

TEST_P(BadFiles, AreRefusedWithThePlace) {
  try {
    serve(GetParam().steps);
    FAIL() << "no error";
  } catch (const api::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(GetParam().why));
    EXPECT_THAT(error.what(), HasSubstr("p.yaml:"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BadFiles,
    testing::Values(
        BadFile{"  - {name: out, model: none, inputs: {x: x}}\n", "there is no model 'none'"},
        BadFile{"  - {name: out, model: double, inputs: {z: x}}\n", "has no input 'z'"},
        BadFile{"  - {name: out, model: double}\n", "input 'x' of model 'double' is missing"},
        BadFile{"  - {name: out, model: double, inputs: {x: q}}\n", "there is no value 'q' here"},
        BadFile{"  - {name: out, model: double, inputs: {x: x}, color: red}\n", "color"},
        BadFile{"  - {name: out, dance: 1}\n", "expected one of model"},
        BadFile{"  - {name: a, model: double, inputs: {x: x}}\n  - {name: a, model: double, inputs: {x: x}}\n",
                "'a' is there already"},
        BadFile{"  - name: out\n    switch:\n      - {name: a, when: 'max(q) > 1', model: double, inputs: {x: x}}\n",
                "there is no value 'q'"},
        BadFile{"  - name: out\n    switch:\n      - {name: a, when: 'max(x) >', model: double, inputs: {x: x}}\n",
                "column 9"},
        BadFile{"  - name: out\n    switch:\n      - {name: a, when: max(x) > 1, model: double, inputs: {x: x}}\n"
                "      - {name: b, results: {z: x}}\n",
                "its results are z: f32[N,2]"},
        BadFile{"  - name: out\n    split: {arms: [{name: a, share: 0.5, model: double, inputs: {x: x}}]}\n",
                "expected 1"},
        BadFile{"  - name: out\n    loop: {start: {y: x}, steps: [], next: {y: y}}\n", "\"while\" or \"most\""},
        BadFile{"  - {name: out, model: p, inputs: {x: x}}\n", "needs itself"}));

/// Returns the value of a formula over p = [0.5, 2, -1] for a request with parameters, or the error.
std::string value_of(const std::string& formula) {
  Folder folder;
  folder.write("p.yaml", "inputs: {p: 'f32[3]', s: 'string[]'}\nsteps:\n  - name: out\n    split:\n      by: \"" +
                             formula +
                             "\"\n      arms: [{name: only, share: 1, results: {y: p}}]\noutputs: {y: out.y}\n");
  const auto path = std::make_shared<PathRecord>(server::Clock::now());
  server::Outcome outcome;
  try {
    server::Service service(options_of(folder));
    outcome =
        ask(service,
            {.model = "p",
             .inputs = {{"p", api::Array::of<float>({3}, {0.5F, 2, -1})}, {"s", api::Array::scalar(std::string("t"))}},
             .parameters = {{"tier", std::string("gold")}, {"on", true}},
             .path = path})
            .get();
  } catch (const api::Error& error) {
    return error.what();
  }
  if (!outcome) return outcome.error().what();
  const std::string why = path->steps().front().why;
  return why.substr(1, why.find("' gives") - 1);
}

TEST(Formulas, HaveTheValuesThatTheyHave) {
  const struct {
    const char *formula, *value;
  } cases[] = {{"1 + 2 * 3", "7"},
               {"(1 + 2) * 3", "9"},
               {"7 - 2 - 1", "4"},
               {"1 / 4", "0.25"},
               {"-2 - -3", "1"},
               {"max(p)", "2"},
               {"min(p)", "-1"},
               {"mean(p) * 2", "1"},
               {"sum(p)", "1.5"},
               {"argmax(p)", "1"},
               {"count(p)", "3"},
               {"size(p, 0)", "3"},
               {"all(p)", "1"},
               {"any(p) + 1", "2"},
               {"1 < 2 and 2 < 1", "0"},
               {"1 < 2 or 2 < 1", "1"},
               {"(1 < 2) + (3 >= 3) + (2 <= 1) + (4 > 5) + (1 != 2)", "3"},
               {"not 1 == 2", "1"},
               {"param('tier', 'free') == 'gold'", "1"},
               {"param('tier', 'free') != 'gold' or 'a' == 'b'", "0"},
               {"param('tier', 'free')", "gold"},
               {"param('none', 'free') and 'x'", "1"},
               {"not ''", "1"},
               {"param('age', 18)", "18"},
               {"param('on', 0)", "1"},
               {"size(p, 0) == 1 and item(p) > 0", "0"},
               {"size(p, 0) == 3 or item(p) > 0", "1"}};
  for (const auto& c : cases) EXPECT_EQ(value_of(c.formula), c.value) << c.formula;
}

TEST(Formulas, NameWhatIsWrong) {
  const struct {
    const char *formula, *why;
  } cases[] = {{"notable(p)", "column 9: there is no function 'notable'"},
               {"1 +", "column 4: the formula ends too early"},
               {"max(q)", "column 6: there is no value 'q'"},
               {"max(s)", "column 6: 's' is a tensor of texts, not of numbers"},
               {"(1", "column 3: expected ')'"},
               {"'a", "column 1: the text has no end"},
               {"1 2", "column 3: expected an operator"},
               {"'a' + 1", "column 5: '+' needs numbers, not a text"},
               {"1 + - 'a'", "'-' needs a number, not a text"},
               {"'a' < 'b'", "column 5: texts are compared by == and != only"},
               {"param('tier', 'x') == 1", "column 20: a text is compared with a number"},
               {"size(p, 'x')", "the axis is a text: expected a number"},
               {"item(p)", "item of a tensor with 3 elements"},
               {"size(p, 1)", "size: the tensor has no axis 1"},
               {"param('tier', 2)", "parameter 'tier': expected a number"},
               {"param('on', 'x')", "parameter 'on': expected a text"}};
  for (const auto& c : cases) EXPECT_THAT(value_of(c.formula), HasSubstr(c.why)) << c.formula;
}

}  // namespace
}  // namespace frazil::test
