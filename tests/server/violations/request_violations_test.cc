// Models that rules forbid, reached by each way through a pipeline or a call; and requests that rules forbid.
#include <frazil/frazil.h>

#include "server/http_test_client.h"
#include "server/rest_asked.h"
#include "server/service/request_policy.h"
#include "server/violations/served.h"

namespace frazil::test {
namespace {

std::string calling(const std::string& name, const std::string& more = "") {
  return "graph c(%x: f32[N,2]) { %y = frazil::Call(%x) {model = \"" + name +
         R"(", takes = ["f32[N,2]"], gives = ["f32[N,2]"])" + more + "} \"call\" return y = %y }";
}

std::string call_of(const std::string& name, const std::string& model) {
  return "{name: " + name + ", model: " + model + ", inputs: {x: x}}";
}
/// Returns the step 'out' of a kind whose blocks are a list.
std::string block_list(const std::string& kind, const std::string& blocks) {
  return "  - name: out\n    " + kind + ": [" + blocks + "]\n";
}
std::string split(const std::string& first, const std::string& second) {
  return "  - name: out\n    split: {arms: [" + first + ", " + second + "]}\n";
}
std::string arm(const std::string& name, const std::string& model, const std::string& share) {
  return "{name: " + name + ", share: " + share + ", model: " + model + ", inputs: {x: x}}";
}

/// A way to a model M: the steps of a pipeline.
struct Way {
  std::string name, by;
  std::string (*steps)(const std::string& model);
  std::map<std::string, std::string> choices = {};
};

const Way kWays[] = {
    {"step", "call", [](const std::string& m) { return "  - " + call_of("out", m) + "\n"; }},
    {"version", "call", [](const std::string& m) { return "  - " + call_of("out", m + "/1") + "\n"; }},
    {"switch", "call", [](const std::string& m) { return block_list("switch", call_of("only", m)); }},
    {"split", "split", [](const std::string& m) { return split(arm("a", m, "1"), arm("b", "other", "0")); }},
    {"share0",
     "split",
     [](const std::string& m) { return split(arm("a", "other", "1"), arm("b", m, "0")); },
     {{"out", "b"}}},
    {"fallback", "fallback",
     [](const std::string& m) { return block_list("fallback", call_of("a", "fails") + ", " + call_of("b", m)); }},
    {"race", "race", [](const std::string& m) { return block_list("race", call_of("a", m)); }},
    {"ensemble", "ensemble",
     [](const std::string& m) { return "  - name: out\n    ensemble: {blocks: [" + call_of("a", m) + "]}\n"; }},
    {"nested", "split",
     [](const std::string& m) {
       return "  - name: out\n    split: {arms: [{name: a, share: 1, steps: [" + call_of("s", m) +
              "], results: {y: s.y}}]}\n";
     }},
    {"loop", "call",
     [](const std::string& m) {
       return "  - name: out\n    loop: {start: {y: x}, most: 1, steps: [{name: s, model: " + m +
              ", inputs: {x: y}}], next: {y: s.y}}\n";
     }},
};

class RequestViolations : public Seeded {
 protected:
  RequestViolations() {
    add("small", kDouble);
    add("large/1", kTriple);
    add("large/2", "graph g(%x: f32[N,2]) { %y = Mul(%x, f32[] 5) return y = %y }");
    add("other", "graph g(%x: f32[N,2]) { %y = Abs(%x) return y = %y }");
    add("fails", kFails);
    add("versions/1", kTriple);
    add("versions/2", kDouble);
    for (const std::string model : {"small", "large"}) {
      for (const Way& way : kWays) add_pipeline(way.name + "_" + model, way.steps(model));
      add_pipeline("inner_" + model, "  - " + call_of("out", model) + "\n");
      add_pipeline("outer_" + model, "  - " + call_of("out", "inner_" + model) + "\n");
      add("call_" + model, calling(model));
      add("fixed_" + model, calling(model, ", version = 1"));
      add("twice_" + model, calling("call_" + model));
      add_pipeline("deep_" + model, "  - " + call_of("out", "call_" + model) + "\n");
    }
    serve();
  }
  std::string run_by(const std::string& tenant, const std::string& model,
                     const std::map<std::string, std::string>& choices = {}) const {
    return run({.tenant = tenant, .model = model, .choices = choices});
  }
  std::string digest(const std::string& model) const { return service_->models().find(model, "1")->digest(); }
};

/// 10 ways of a pipeline x 5 rules: by name, digest, tenant, kind of the way and caller.
TEST_F(RequestViolations, AModelIsRefusedByWhateverWayAPipelineRunsIt) {
  std::vector<Violation> all;
  for (const Way& way : kWays) {
    const std::string bad = way.name + "_large", good = way.name + "_small";
    const auto violation = [&, bad] { return run_by("shop", bad, way.choices); };
    const auto by_other_model = [&, good] { return run_by("shop", good, way.choices); };
    const auto by_other_tenant = [&, bad] { return run_by("bank", bad, way.choices); };
    const std::string version = way.name == "version" ? "1" : "2";
    const auto add = [&](const std::string& rule, const auto& sibling) {
      all.push_back({way.name, forbid("dispatch", rule), violation, sibling});
    };
    add(R"(model == "large")", by_other_model);
    add("digest == \"" + service_->models().find("large", version)->digest() + "\"", by_other_model);
    add(R"(model == "large" && tenant == "shop")", by_other_tenant);
    add("model == \"large\" && by == \"" + way.by + "\"", by_other_model);
    add("caller == \"" + bad + "/1\" && model == \"large\"", by_other_model);
  }
  ASSERT_EQ(all.size(), 50U);
  expect_refused(*governor_, all);
}

/// 5 ways through other definitions x 3 rules.
TEST_F(RequestViolations, AModelIsRefusedBehindCallsAndPipelines) {
  std::vector<Violation> all;
  for (const std::string way : {"call", "fixed", "twice", "deep", "outer"}) {
    const std::string caller = way == "twice" || way == "deep" ? "call_large/1"
                               : way == "outer"                ? "inner_large/1"
                                                               : way + "_large/1";
    const auto violation = [&, way] { return run_by("shop", way + "_large"); };
    all.push_back({way, forbid("dispatch", R"(model == "large")"), violation,
                   [&, way] { return run_by("shop", way + "_small"); }});
    all.push_back({way, forbid("dispatch", R"(model == "large" && tenant == "shop")"), violation,
                   [&, way] { return run_by("bank", way + "_large"); }});
    all.push_back({way, forbid("dispatch", "caller == \"" + caller + "\""), violation,
                   [&, way] { return run_by("shop", way + "_small"); }});
  }
  ASSERT_EQ(all.size(), 15U);
  expect_refused(*governor_, all);
}

/// 5 rules for versions that clients, steps and calls name.
TEST_F(RequestViolations, NamedVersionsAreDispatches) {
  const auto client = [&](const std::string& version, const std::string& tenant = "shop") {
    return [this, version, tenant] { return run({.tenant = tenant, .model = "versions", .version = version}); };
  };
  const std::vector<Violation> all = {
      {"client", forbid("dispatch", R"(by == "client" && version == "1")"), client("1"), client("2")},
      {"explicit", forbid("dispatch", R"(by == "client" && explicit_version)"), client("2"), client("")},
      {"tenant", forbid("dispatch", R"(explicit_version && tenant == "shop")"), client("1"), client("1", "bank")},
      {"step", forbid("dispatch", R"(explicit_version && model == "large")"),
       [&] { return run_by("shop", "version_large"); }, [&] { return run_by("shop", "step_large"); }},
      {"call", forbid("dispatch", R"(explicit_version && model == "large")"),
       [&] { return run_by("shop", "fixed_large"); }, [&] { return run_by("shop", "call_large"); }}};
  expect_refused(*governor_, all);
}

TEST_F(RequestViolations, AShadowIsRefusedWithoutTheRequest) {
  add_pipeline("shadowed", "  - {name: beside, shadow: {share: 1, model: large, inputs: {x: x}}}\n  - " +
                               call_of("out", "small") + "\n");
  service_->models().load("shadowed");
  const auto begun = [&] { return service_->models().find("large", "")->statistics().success.count(); };
  governor_->replace(all_but(forbid("dispatch", R"(by == "shadow" && tenant == "shop")")));
  EXPECT_EQ(run_by("shop", "shadowed"), "permitted");
  EXPECT_EQ(run_by("bank", "shadowed"), "permitted");
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (begun() == 0 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_EQ(begun(), 1U) << "of the bank alone";
}

/// 8 rules x 2 doors.
TEST_F(RequestViolations, RequestsAreRefusedAtAdmission) {
  struct Row {
    const char* rule;
    Request violation, sibling;
  };
  const Request usual{.tenant = "shop", .model = "large"};
  const auto with = [&](auto change) {
    Request request = usual;
    change(request);
    return request;
  };
  const Request by_bank = with([](Request& r) { r.tenant = "bank"; }),
                small = with([](Request& r) { r.model = "small"; });
  const auto sized = [&](const char* name, server::Parameter value) {
    return with([&](Request& r) { r.parameters = {{name, value}}; });
  };
  const Row kRows[] = {
      {R"(model == "large" && tenant == "shop")", usual, by_bank},
      {R"(model == "large")", usual, small},
      {R"(version == "2")", usual, small},
      {R"(has(parameters.size) && parameters.size == "large")", sized("size", "large"), sized("size", "small")},
      {R"(has(parameters.depth) && int(parameters.depth) > 8)", sized("depth", std::int64_t{9}),
       sized("depth", std::int64_t{8})},
      {R"(parameters.exists(k, k.startsWith("debug")))", sized("debug_all", true), sized("size", "large")},
      {R"(has(parameters.share) && parameters.share == "0.5")", sized("share", 0.5), sized("share", 0.25)},
      {R"(has(parameters.plain) && parameters.plain == "true" && tenant != "bank")", sized("plain", true),
       with([](Request& r) {
         r.tenant = "bank";
         r.parameters = {{"plain", true}};
       })},
  };
  std::vector<Violation> all;
  for (const Row& row : kRows) {
    all.push_back(
        {"service", forbid("run", row.rule), [&] { return run(row.violation); }, [&] { return run(row.sibling); }});
    const auto over_rest = [this](const Request& request) {
      std::string parameters;
      for (const auto& [name, value] : request.parameters) {
        const auto* const text = std::get_if<std::string>(&value);
        parameters += "\"" + name + "\":" + (text != nullptr ? "\"" + *text + "\"" : server::text_of_parameter(value));
      }
      const std::string path = "/v2/models/" + request.model + "/infer",
                        authorization = "Bearer " + request.tenant + "-key",
                        body = "{\"parameters\":{" + parameters + "}," + std::string(kOne).substr(1);
      const server::Reply reply =
          reply_to(*service_, {.method = "POST", .path = path, .body = body, .authorization = authorization});
      if (reply.status == server::Http::ok) return std::string("permitted");
      EXPECT_EQ(reply.status, server::Http::forbidden);
      return reply.body;
    };
    all.push_back({"REST", forbid("run", row.rule), [&, over_rest] { return over_rest(row.violation); },
                   [&, over_rest] { return over_rest(row.sibling); }});
  }
  ASSERT_EQ(all.size(), 16U);
  expect_refused(*governor_, all);
}

/// What the hook run is asked with for budgets and forecasts: 3 rules.
TEST_F(RequestViolations, ForecastsAndBudgetsAreFieldsOfARun) {
  const auto decided = [&](const char* model, std::optional<std::int64_t> budget_left) {
    const auto served = service_->models().find(model, "");
    const server::Call call{.identity = identity("shop"), .arrived = server::Clock::now()};
    const server::RunOutlook outlook{.budget_left = [&] { return budget_left; },
                                     .forecast = [] { return govern::RunForecast{.cost_ns = 1}; }};
    const auto refusal = server::refusal_by_policy(call, *served, *governor_, outlook);
    return refusal ? std::string(refusal->what()) : "permitted";
  };
  const std::vector<Violation> all = {
      {"budget", forbid("run", "has(budget_left) && budget_left < 1000"), [&] { return decided("small", 999); },
       [&] { return decided("small", 1000); }},
      {"no budget", forbid("run", "!has(budget_left)"), [&] { return decided("small", {}); },
       [&] { return decided("small", 0); }},
      {"cost", forbid("run", R"(has(forecast.cost_ns) && forecast.cost_ns > 0 && model == "small")"),
       [&] { return decided("small", {}); }, [&] { return decided("large", {}); }}};
  expect_refused(*governor_, all);
}

TEST_F(RequestViolations, APermitIsKeptUntilThePolicyChanges) {
  governor_->replace(all_but(""));
  EXPECT_EQ(run_by("shop", "small"), "permitted");
  const auto& kept = service_->models().find("small", "")->governance().run;
  EXPECT_TRUE(kept.permits(governor_->in_force(), identity("shop").number()));
  EXPECT_FALSE(kept.permits(governor_->in_force(), identity("bank").number()));
  governor_->replace(all_but(forbid("run", R"(tenant == "shop")")));
  EXPECT_FALSE(kept.permits(governor_->in_force(), identity("shop").number()));
  EXPECT_THAT(run_by("shop", "small"), testing::HasSubstr("the policy refuses to run 'small': rule 'seeded'"));
  EXPECT_EQ(run_by("bank", "small"), "permitted");
}

}  // namespace
}  // namespace frazil::test
