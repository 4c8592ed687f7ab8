// Labels of personal values: what they reach in models and pipelines.
#include <random>

#include <gmock/gmock.h>

#include "server/asked.h"
#include "server/request/path_record.h"
#include "server/service/label_values.h"

namespace frazil::test {
namespace {

using server::PathRecord;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr const char* kMix =
    "graph g(%u: f32[N,2], %v: f32[N,2]) { %p = Add(%u, %v) %q = Add(%v, f32[] 1) return p = %p, q = %q }";
constexpr const char* kChoose =
    "graph g(%u: f32[2], %v: f32[2]) { %m = ReduceMax(%u) {keepdims = 0} %c = Less(%m, f32[] 10)"
    "%r = If(%c) then_branch() { %a = Neg(%v) yield %a } else_branch() { %b = Exp(%v) yield %b } return r = %r }";

class ValueLabels : public testing::Test {
 protected:
  ValueLabels() {
    folder_.add("double", kDouble);
    folder_.add("triple", kTriple);
    folder_.add("mix", kMix);
    folder_.add("choose", kChoose);
    folder_.add("talk", kTalk);
  }
  void pipeline(const std::string& name, const std::string& steps, const std::string& outputs) const {
    folder_.write(name + ".yaml", "inputs: {a: 'f32[N,2]', b: 'f32[N,2]', c: 'f32[N,2]'}\nsteps:\n" + steps +
                                      "outputs: {" + outputs + "}\n");
  }
  void serve(std::vector<std::string> personal, std::vector<std::string> shown = {}) {
    server::ServiceOptions options = options_of(folder_);
    options.config.governance.personal = std::move(personal);
    options.config.governance.shown = std::move(shown);
    options.config.models["talk"].sequences.states = {{.input = "said", .output = "all"}};
    service_.emplace(options);
  }
  const server::Labels& labels(const std::string& model) const {
    return *service_->models().find(model, "")->governance().labels;
  }

  Folder folder_;
  std::optional<server::Service> service_;
};

TEST_F(ValueLabels, FollowAModel) {
  const struct {
    std::vector<std::string> personal, shown;
    const char* model;
    std::set<std::string, std::less<>> values;
  } cases[] = {{{"u"}, {}, "mix", {"u", "p"}},
               {{"v"}, {}, "mix", {"v", "p", "q"}},
               {{"u"}, {"p"}, "mix", {"u"}},
               {{"u"}, {}, "choose", {"u", "r"}},
               {{"x"}, {}, "talk", {"x", "said", "sum", "all"}},
               {{"*"}, {}, "mix", {"u", "v", "p", "q"}},
               {{"*"}, {"q"}, "mix", {"u", "v", "p"}},
               {{"other"}, {}, "mix", {}}};
  for (const auto& c : cases) {
    serve(c.personal, c.shown);
    EXPECT_EQ(labels(c.model).values, c.values) << c.model;
    EXPECT_EQ(labels(c.model).any, !c.values.empty());
  }
}

TEST_F(ValueLabels, FollowAPipeline) {
  const std::string call = "  - {name: m, model: mix, inputs: {u: a, v: b}}\n";
  const auto route = [](const std::string& when) {
    return "  - name: s\n    switch:\n      - {name: one, when: \"" + when +
           "\", model: double, inputs: {x: c}}\n      - {name: two, model: triple, inputs: {x: c}}\n";
  };
  const struct {
    std::string steps, outputs;
    std::vector<std::string> shown;
    std::set<std::string, std::less<>> values, open;
  } cases[] = {
      {call, "y: m.p, z: m.q", {}, {"a", "y"}, {}},
      {call + route("max(m.q) < 1"), "y: s.y", {}, {"a"}, {"s", "s.one", "s.two"}},
      {call + route("max(m.p) < 1"), "y: s.y", {}, {"a", "y"}, {}},
      {call + route("max(m.p) < 1"), "y: s.y", {"max of m.p"}, {"a"}, {"s", "s.one", "s.two"}},
      {call + route("argmax(m.p) < 1 and sum(m.p) < 1"), "y: s.y", {"argmax of m.p"}, {"a", "y"}, {}},
      {call + route("param('age', 0) < 1"), "y: s.y", {}, {"a", "y"}, {}},
      {call + route("size(m.p, 0) < 9"), "y: s.y", {}, {"a"}, {"s", "s.one", "s.two"}},
      {"  - name: l\n    loop:\n      start: {v: b, w: a}\n      most: 3\n      steps:\n"
       "        - {name: i, model: mix, inputs: {u: w, v: v}}\n      next: {v: i.p}\n",
       "y: l.v",
       {},
       {"a", "y"},
       {"l"}},
      {"  - name: l\n    loop:\n      start: {v: b}\n      while: max(v) < 9\n      most: 3\n      steps:\n"
       "        - {name: i, model: double, inputs: {x: v}}\n      next: {v: i.y}\n"
       "  - {name: m, model: mix, inputs: {u: a, v: l.v}}\n",
       "y: l.v, z: m.p",
       {},
       {"a", "z"},
       {"i", "l"}},
  };
  for (const auto& c : cases) {
    pipeline("p", c.steps, c.outputs);
    serve({"a", "age"}, c.shown);
    EXPECT_EQ(labels("p").values, c.values) << c.steps;
    server::Labels found = labels("p");
    found.open.erase("m");
    EXPECT_EQ(found.open, c.open) << c.steps;
  }
}

TEST_F(ValueLabels, AreDeclaredByModelsAndPipelines) {
  folder_.write("p.yaml",
                "inputs: {a: 'f32[N,2]'}\npersonal: [a]\nsteps:\n  - {name: d, model: double, inputs: {x: a}}\n"
                "outputs: {y: d.y}\n");
  folder_.write("q.yaml",
                "inputs: {a: 'f32[N,2]'}\nsteps:\n  - {name: d, model: triple, inputs: {x: a}}\noutputs: {y: d.y}\n");
  server::ServiceOptions options = options_of(folder_);
  options.config.models["triple"].personal = {"x"};
  service_.emplace(options);
  EXPECT_THAT(labels("p").values, UnorderedElementsAre("a", "y"));
  EXPECT_THAT(labels("q").values, ElementsAre("y"));
  EXPECT_TRUE(labels("q").any);
  EXPECT_THAT(labels("double").values, IsEmpty());
}

/// A random pipeline of calls and switches over three inputs.
class RandomPipeline {
 public:
  explicit RandomPipeline(std::uint64_t seed) : random_(seed) {
    const std::size_t count = 2 + random_() % 6;
    for (std::size_t i = 0; i < count; ++i) add("s" + std::to_string(i));
    for (const char* name : {"x", "y", "z"})
      (outputs += outputs.empty() ? "" : ", ") += std::string(name) + ": " + value();
  }
  std::string steps, outputs;

 private:
  std::string value() { return values_[random_() % values_.size()]; }
  void add(const std::string& name) {
    if (random_() % 2 == 0) {
      steps += "  - {name: " + name + ", model: mix, inputs: {u: " + value() + ", v: " + value() + "}}\n";
      values_.insert(values_.end(), {name + ".p", name + ".q"});
      return;
    }
    steps += "  - name: " + name + "\n    switch:\n      - {name: one, when: max(" + value() +
             ") < 8, model: double, inputs: {x: " + value() +
             "}}\n      - {name: two, model: triple, inputs: {x: " + value() + "}}\n";
    values_.push_back(name + ".y");
  }
  std::mt19937_64 random_;
  std::vector<std::string> values_{"a", "b", "c"};
};

TEST_F(ValueLabels, AreCompleteForRandomPipelines) {
  constexpr std::uint64_t kPipelines = 60;
  for (std::uint64_t seed = 0; seed < kPipelines; ++seed) {
    const RandomPipeline made(seed);
    pipeline("p" + std::to_string(seed), made.steps, made.outputs);
  }
  serve({"a"});
  std::size_t unlabelled = 0, open = 0;
  for (std::uint64_t seed = 0; seed < kPipelines; ++seed) {
    const std::string name = "p" + std::to_string(seed);
    std::vector<server::Outcome> outcomes;
    std::vector<std::map<std::string, std::string>> reasons;
    for (const float a : {1.0F, 3.0F, 20.0F}) {
      const auto path = std::make_shared<PathRecord>(server::Clock::now());
      outcomes.push_back(
          ask(*service_,
              {.model = name, .inputs = {{"a", row({a, 0})}, {"b", row({2, 5})}, {"c", row({1, 1})}}, .path = path})
              .get());
      ASSERT_TRUE(outcomes.back()) << outcomes.back().error().what();
      auto& found = reasons.emplace_back();
      for (const auto& step : path->steps()) {
        if (labels(name).shows_reason(step.node)) found[step.node] += step.taken + step.why;
      }
    }
    open += reasons[0].size();
    for (std::size_t i = 1; i < outcomes.size(); ++i) {
      EXPECT_EQ(reasons[i], reasons[0]) << name;
      for (std::size_t k = 0; k < outcomes[i]->outputs.size(); ++k) {
        const auto& [output, value] = outcomes[i]->outputs[k];
        if (labels(name).values.contains(output)) continue;
        ++unlabelled;
        EXPECT_EQ(value.str(), outcomes[0]->outputs[k].second.str()) << name << " " << output;
      }
    }
  }
  EXPECT_GT(unlabelled, 40U);
  EXPECT_GT(open, 60U);
}

}  // namespace
}  // namespace frazil::test
