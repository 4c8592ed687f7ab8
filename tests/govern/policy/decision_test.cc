#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "govern/policy/cases.h"
#include "govern/policy/compare.h"
#include "govern/policy/policy_text.h"
#include "govern/policy/random_expression.h"
#include "govern/policy/review.h"
#include "paths.h"

// Decisions: how rules combine, what errors do, and what reads a policy as a whole.
namespace frazil::test {
namespace {

std::string summary(std::string_view rules, std::string_view json = R"({"tenant": "acme", "priority": 1})") {
  const auto policy = policy_of(rules);
  return summary_of(decide(*policy, Hook::run, json));
}

constexpr const char* kYes = "permit yes on run reason \"\";\n";
constexpr const char* kNo = "forbid no on run when tenant == \"acme\" reason \"\";\n";
constexpr const char* kBadPermit = "permit bad on run when budget_left > 1 reason \"\";\n";
constexpr const char* kBadForbid = "forbid bad on run when budget_left > 1 reason \"\";\n";
constexpr const char* kOther = "permit other on run when tenant == \"x\" reason \"\";\n";

TEST(PolicyDecision, CombinesRulesInAnyOrder) {
  const std::string error = "could not decide: rule 'bad', ";
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "no rule matched"},
      {{kOther}, "no rule matched"},
      {{kYes}, "permitted by 'yes'"},
      {{kYes, kOther}, "permitted by 'yes'"},
      {{kYes, kNo}, "forbidden by 'no'"},
      {{kNo}, "forbidden by 'no'"},
      {{kBadPermit}, error},
      {{kBadPermit, kOther}, error},
      {{kBadPermit, kYes}, "permitted by 'yes'"},
      {{kBadPermit, kNo}, "forbidden by 'no'"},
      {{kBadForbid}, error},
      {{kBadForbid, kYes}, error},
      {{kBadForbid, kOther}, error},
      {{kBadForbid, kNo, kYes}, "forbidden by 'no'"},
  };
  for (const auto& [rules, expected] : cases) {
    std::string forward, backward;
    for (const std::string& rule : rules) forward += rule, backward = rule + backward;
    EXPECT_TRUE(summary(forward).starts_with(expected)) << forward << summary(forward);
    EXPECT_TRUE(summary(backward).starts_with(expected)) << backward << summary(backward);
  }
}

TEST(PolicyDecision, NamesTheErrorWithoutValues) {
  const auto policy = policy_of("forbid f on run\n  when parameters[tenant] == \"x\" reason \"why\";");
  const Decision decision = decide(*policy, Hook::run, R"({"tenant": "secret", "parameters": {}})");
  EXPECT_EQ(decision.cause, Cause::could_not_decide);
  EXPECT_EQ(decision.rule, "f");
  EXPECT_EQ(decision.reason, "why");
  EXPECT_EQ(decision.error, "3:18: there is no key");
}

TEST(PolicyDecision, ShadowRulesDecideNothing) {
  const std::string shadow = "forbid s on run mode shadow when tenant == \"acme\" reason \"\";\n";
  const std::string broken = "forbid t on run mode shadow when budget_left > 1 reason \"\";\n";
  const auto policy = policy_of(kYes + shadow + broken);
  const Decision decision = decide(*policy, Hook::run, R"({"tenant": "acme"})");
  EXPECT_TRUE(decision.permits());
  EXPECT_EQ(
      to_json(decision).dump(),
      R"({"cause":"permitted","decision":"permit","policy":")" + policy->digest() +
          R"(","rule":"yes","serial":1,"shadow":[{"outcome":"match","rule":"s"},{"outcome":"error","rule":"t"}],)" +
          R"("would":"deny"})");
  EXPECT_EQ(decide(*policy, Hook::run, R"({"tenant": "b", "budget_left": 1})").would, std::nullopt);
  EXPECT_EQ(decide(*policy_of("permit p on run mode shadow reason \"\";"), Hook::run, "{}").would, Cause::permitted);
}

TEST(PolicyDecision, HooksWithoutRulesAreClosed) {
  const auto policy = policy_of(kYes);
  for (const HookInfo& row : hooks()) {
    EXPECT_EQ(policy->decide(Input(row.hook)).permits(), row.hook == Hook::run) << row.name;
  }
}

TEST(PolicyDecision, ChecksInputs) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"({"tenat": "a"})",
       "input: there is no field 'tenat'; the fields are tenant, model, version, digest, priority, "
       "parameters, forecast, budget_left"},
      {R"({"priority": 1.5})", "input.priority: expected int, got number"},
      {R"({"priority": 9223372036854775808})", "input.priority: expected int, got number"},
      {R"({"forecast": {"memory": "1"}})", "input.forecast.memory: expected int, got string"},
      {R"({"parameters": {"a": 1}})", "input.parameters['a']: expected string, got number"},
      {R"([])", "input: expected an object, got array"},
  };
  for (const auto& [json, expected] : cases) {
    EXPECT_EQ(error_of([&] { Input::from_json(Hook::run, parse_json(json, "x"), "input"); }), expected);
  }
  const Json many = {{"tenant", std::string(257, 'a')}};
  EXPECT_EQ(error_of([&] { Input::from_json(Hook::run, many, "input"); }),
            "input.tenant: 257 bytes, but at most 256 are declared");
}

TEST(PolicyInput, IsFilledWithoutJson) {
  const auto policy = policy_of(
      "permit p on run when tenant == \"acme\" && forecast.memory < 10 && parameters.size == "
      "\"small\" && has(forecast) && !has(forecast.cost_ns) reason \"\";");
  const FieldId tenant = field_of(Hook::run, "tenant"), memory = field_of(Hook::run, "forecast.memory"),
                parameters = field_of(Hook::run, "parameters");
  const std::vector<std::pair<std::string_view, std::string_view>> entries = {{"size", "small"}};
  Input input(Hook::run);
  for (int round = 0; round < 3; ++round) {
    input.set(tenant, "acme");
    input.set(memory, std::int64_t{9});
    input.set(parameters, entries);
    EXPECT_EQ(summary_of(policy->decide(input)), "permitted by 'p'");
    input.clear();
    EXPECT_EQ(policy->decide(input).cause, Cause::no_rule);
  }
  const auto open = policy_of(kYes);
  input.set(tenant, std::int64_t{1});
  EXPECT_EQ(summary_of(open->decide(input)), "could not decide: field 'tenant': expected string, got another type");
  input.clear();
  EXPECT_TRUE(open->decide(input).permits());
  input.set(tenant, std::string_view(std::string(300, 'a')));
  EXPECT_EQ(summary_of(open->decide(input)),
            "could not decide: field 'tenant': 300 bytes, but at most 256 are declared");
  input.clear();
  input.set(field_of(Hook::admin, "user"), "acme");
  EXPECT_EQ(summary_of(open->decide(input)), "could not decide: a field of another hook");
  EXPECT_EQ(error_of([] { field_of(Hook::run, "tenat"); }), "hook 'run' has no field 'tenat'");
}

TEST(PolicyCache, KnowsWhichHooksReadTheRequest) {
  const auto policy = policy_of(
      "permit a on run when tenant == \"a\" reason \"\";\n"
      "permit b on dispatch when tenant == \"a\" reason \"\";\n");
  EXPECT_FALSE(policy->reads_request(Hook::run));
  EXPECT_FALSE(policy->reads_request(Hook::dispatch));
  for (const char* condition : {"priority == 1", "has(parameters.a)", "has(budget_left)", "forecast.memory < 1"}) {
    EXPECT_TRUE(policy_of(fmt::format("permit a on run when {} reason \"\";", condition))->reads_request(Hook::run))
        << condition;
  }
  EXPECT_FALSE(policy_of("permit a on run when false && priority == 1 reason \"\";")->reads_request(Hook::run));
}

TEST(PolicyVersion, HasASerialAnExpiryAndADigest) {
  const auto policy = Policy::read("policy \"a\" serial 12 until \"2027-06-30T00:00:00Z\";", "p");
  EXPECT_EQ(policy->serial(), 12u);
  EXPECT_EQ(policy->until(), 1814313600);
  EXPECT_FALSE(policy->has_expired(1814313599));
  EXPECT_TRUE(policy->has_expired(1814313600));
  EXPECT_EQ(policy->digest(), "sha256:5bd19ef059d7ce6c050bca998532fafa812c895082255b8bcd4dce538c4d14c1");
}

std::vector<std::string> findings_of(std::string_view rules) {
  std::vector<std::string> texts;
  for (const PolicyFinding& f : review(*policy_of(rules))) texts.push_back(fmt::format("{}: {}", f.at.line, f.text));
  return texts;
}

TEST(PolicyReview, FindsWhatHasNoEffect) {
  using testing::ElementsAre;
  EXPECT_THAT(findings_of("const a = 1;\nconst b = 1;\npermit p on run when priority == b reason \"\";"),
              ElementsAre("2: constant 'a' is not used"));
  EXPECT_THAT(findings_of("permit p on run when 1 > 2 && priority == 1 reason \"\";"),
              ElementsAre("2: rule 'p' never matches on 'run': its condition is false for every input"));
  EXPECT_THAT(findings_of("permit p on run when priority == 1 && tenant == \"a\" reason \"\";\n"
                          "permit q on run when tenant == \"a\" reason \"\";"),
              ElementsAre("2: rule 'p' has no effect on 'run': 'q' matches whatever it matches"));
  EXPECT_THAT(
      findings_of("permit p on run when priority == 1 reason \"\";\npermit q on run when priority == 1 reason \"\";"),
      ElementsAre("3: rule 'q' has no effect on 'run': 'p' matches whatever it matches"));
  EXPECT_THAT(findings_of("permit p on run, dispatch when tenant == \"a\" reason \"\";\nforbid f on run reason \"\";"),
              ElementsAre("2: rule 'p' cannot permit on 'run': 'f' forbids whatever it matches"));
  EXPECT_THAT(findings_of("forbid f on run when priority == 1 && tenant == \"a\" reason \"\";\npermit p on run when "
                          "tenant == \"a\" reason \"\";\nforbid s on run mode shadow reason \"\";"),
              ElementsAre());
}

TEST(PolicyCases, SayWhatDiffers) {
  const auto policy = policy_of(std::string(kYes) + kNo + kBadPermit +
                                "case \"1\" on run with {\"tenant\": \"acme\"} expect deny by no;\n"
                                "case \"2\" on run with {\"tenant\": \"b\"} expect deny;\n"
                                "case \"3\" on run with {\"tenant\": \"b\"} expect permit by no;\n"
                                "case \"4\" on run with {} expect deny;\n"
                                "case \"5\" on run with {} expect error by no;\n"
                                "case \"6\" on admin with {} expect deny;\n");
  std::vector<std::string> differences;
  for (const CaseResult& result : run_cases(*policy)) differences.push_back(result.difference);
  EXPECT_THAT(differences,
              testing::ElementsAre(
                  "", "expected deny, got permitted by 'yes'", "expected permit by 'no', got permitted by 'yes'",
                  "expected deny, got could not decide: rule 'no', 3:23: field 'tenant' is absent", "", ""));
}

TEST(PolicyCases, OfTheExamplePass) {
  const auto policy = Policy::read_file((source_dir() / "examples/policies/models.policy").string());
  EXPECT_GE(policy->cases().size(), 10u);
  for (const CaseResult& result : run_cases(*policy)) EXPECT_EQ(result.difference, "") << result.test->name;
  EXPECT_TRUE(review(*policy).empty());
}

TEST(PolicyCompare, ListsDecisionsThatChange) {
  const auto before = policy_of(kYes), after = policy_of(std::string(kYes) + kNo);
  std::vector<Asked> questions;
  for (const char* line :
       {R"({"hook": "run", "input": {"tenant": "acme"}, "count": 3})", R"({"hook": "run", "input": {"tenant": "b"}})",
        R"({"hook": "admin", "input": {}})", R"({"hook": "run", "input": {}})"}) {
    questions.push_back(asked_of(parse_json(line, "line"), "line"));
  }
  const std::vector<DecisionChange> changes = compare(*before, *after, questions);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].index, 0u);
  EXPECT_EQ(summary_of(changes[0].after), "forbidden by 'no'");
  EXPECT_EQ(changes[1].index, 3u);
  EXPECT_EQ(changes[1].after.cause, Cause::could_not_decide);
  EXPECT_EQ(error_of([] { asked_of(parse_json(R"({"hook": "x", "input": {}})", "line 1"), "line 1"); }),
            "line 1: there is no hook 'x'");
}

// Faults in deciding.

/// A policy that permits the input of load_input(), after steps of every kind.
constexpr const char* kLong =
    "const allowed = [\"Add\", \"MatMul\", \"Relu\"];\n"
    "permit p on load when report.operators.all(op, op in allowed) && report.models.exists(m, m + \"!\" == \"a/1!\")\n"
    "  && string(report.worst_memory) + \"0\" == \"100\" && size(report.code) == 0 && "
    "signature.signer.contains(\"e\")\n"
    "  && (report.bounded ? report.worst_memory * 2 / 4 < 100 : false) && [model, version] + [\"x\"] != [] reason "
    "\"\";\n"
    "forbid f on load when !report.bounded || model.startsWith(\"x\") || int(version) > 5 || "
    "has(report.worst_cost_ns)\n"
    "  reason \"\";\n";
constexpr const char* kLoadInput =
    R"({"model": "m", "version": "1", "signature": {"signer": "release"}, "report": {"operators": ["Add", "MatMul"],
        "models": ["b/1", "a/1"], "code": [], "worst_memory": 10, "bounded": true}})";

TEST(PolicyFaults, AStepThatFailsNeverPermits) {
  const auto policy = policy_of(kLong);
  const Input input = Input::from_json(Hook::load, parse_json(kLoadInput, "input"), "input");
  ASSERT_EQ(summary_of(policy->decide(input)), "permitted by 'p'");
  std::uint64_t faults = 1;
  for (; !policy->decide(input, {.max_steps = faults}).permits(); ++faults) {
    EXPECT_EQ(summary_of(policy->decide(input, {.max_steps = faults})),
              "could not decide: the limit of steps was reached");
    ASSERT_LT(faults, 1000u);
  }
  EXPECT_GE(faults, 50u);
  for (std::uint64_t steps = faults; steps < faults + 100; ++steps) {
    EXPECT_TRUE(policy->decide(input, {.max_steps = steps}).permits());
  }
}

TEST(PolicyFaults, AnAllocationThatFailsNeverPermits) {
  const auto policy = policy_of(kLong);
  const Input input = Input::from_json(Hook::load, parse_json(kLoadInput, "input"), "input");
  std::size_t bytes = 0;
  for (; !policy->decide(input, {.max_memory = bytes}).permits(); ++bytes) {
    EXPECT_EQ(summary_of(policy->decide(input, {.max_memory = bytes})), "could not decide: out of memory");
    ASSERT_LT(bytes, 10000u);
  }
  EXPECT_GT(bytes, 50u);
}

TEST(PolicyFaults, AMissingFieldNeverPermits) {
  const auto policy = policy_of(kLong);
  const Json whole = parse_json(kLoadInput, "input");
  int faults = 0;
  const auto without = [&](const Json& json) {
    ++faults;
    EXPECT_FALSE(policy->decide(Input::from_json(Hook::load, json, "input")).permits()) << json.dump();
  };
  for (const auto& [name, value] : whole.items()) {
    Json json = whole;
    json.erase(name);
    without(json);
    if (!value.is_object()) continue;
    for (const auto& [field, ignored] : value.items()) {
      Json part = whole;
      part[name].erase(field);
      without(part);
    }
  }
  EXPECT_EQ(faults, 10);
}

TEST(PolicyFaults, AnErrorInAForbidNeverPermits) {
  const std::vector<const char*> errors = {
      "budget_left > 1",
      "1 / (priority - 1) == 5",
      "1 % (priority - 1) == 5",
      "9223372036854775807 + priority == 5",
      "-9223372036854775807 - priority * 2 == 5",
      "9223372036854775807 * (priority + 1) == 5",
      "-(priority - 2 - 9223372036854775807) == 5",
      "parameters.none == \"\"",
      "parameters[tenant] == \"\"",
      "[tenant][priority] == \"\"",
      "[1, 2, 3][priority - 2] == 5",
      "int(tenant) == 5",
      "double(tenant) == 5.0",
      "int(double(priority) * 1e30) == 5",
      "int(double(priority) / 0.0) == 5",
      "forecast.memory == 5",
      "has(forecast.memory)",
      "{tenant: 1, tenant: 2} == {\"a\": 1}",
      "!(budget_left > 1)",
      "budget_left > 1 || tenant == \"x\"",
      "tenant == \"x\" || budget_left > 1",
      "budget_left > 1 && tenant == \"acme\"",
      "tenant == \"acme\" && budget_left > 1",
      "budget_left > 1 ? true : false",
      "tenant == \"acme\" ? budget_left > 1 : false",
      "parameters.all(k, budget_left > 1)",
      "parameters.exists(k, budget_left > 1)",
      "parameters.exists_one(k, budget_left > 1)",
      "budget_left in [1, 2]",
      "budget_left in []",
      "1 in [budget_left]",
      "string(budget_left) == \"\"",
      "[budget_left] + [1] == [1]",
      "size([budget_left]) == 5",
      "(parameters.none + \"a\").startsWith(\"b\")",
      "tenant.endsWith(parameters.none)",
      "parameters.none.contains(\"a\")",
      "tenant == \"acme\" == (budget_left > 1)",
  };
  for (const char* error : errors) {
    const std::string rules = fmt::format("{}forbid bad on run when {} reason \"\";", kYes, error);
    EXPECT_TRUE(summary(rules, R"({"tenant": "acme", "priority": 1, "parameters": {"a": "b"}})")
                    .starts_with("could not decide: rule 'bad'"))
        << error;
  }
}

// Random policies.

/// Returns a text with a few bytes or words changed.
std::string mutated(std::string text, std::mt19937_64& random) {
  static const std::vector<std::string> kWords = {"(",    ")",        "&&",   "[",  "]", "{",    ":",     "\"",
                                                  "has(", ".all(x, ", "in",   "1",  ";", "case", "when",  "0x",
                                                  "1e",   "\\",       "\xff", "//", "?", "-",    "permit"};
  for (std::uint64_t n = random() % 4; n > 0; --n) {
    const std::size_t at = random() % (text.size() + 1);
    if (random() % 2 == 0) text.erase(at, random() % 5);
    text.insert(std::min(at, text.size()), kWords[random() % kWords.size()]);
  }
  return text;
}

TEST(PolicyRandom, DamagedPoliciesAreReadOrRefused) {
  const std::string whole = kLong + std::string(kNo) + "case \"c\" on run with {\"tenant\": \"a\"} expect deny;\n";
  std::mt19937_64 random(11);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string text = mutated(whole, random);
    const std::string error = error_of_policy(text);
    refused += error == "no error" ? 0 : 1;
    EXPECT_TRUE(error == "no error" || error.starts_with("p:")) << error << "\n" << text;
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 2990);
}

}  // namespace
}  // namespace frazil::test
