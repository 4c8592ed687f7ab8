#include "govern/gate/policy_diff.h"

#include <map>
#include <random>

#include <gmock/gmock.h>

#include "govern/audit/audit_testing.h"
#include "govern/audit/blobs.h"
#include "govern/gate/decision_log.h"
#include "govern/policy/policy_text.h"

// Inputs of decisions in the audit log, and what another policy would have decided.
namespace frazil::test {
namespace {

namespace audit = govern::audit_testing;
using testing::ElementsAre;
using testing::HasSubstr;
using Change = PolicyDiff::Change;

Json parsed(std::string_view text) { return parse_json(text, "input"); }

TEST(KeptInputs, LeaveOutWhatDiffersBetweenRequests) {
  const struct {
    Hook hook;
    const char *input, *kept;
  } cases[] = {{Hook::run,
                R"({"tenant":"a","model":"m","version":"1","digest":"d","priority":2,"parameters":{"k":"v"},
           "forecast":{"cost_ns":5,"memory":6},"budget_left":7})",
                R"({"tenant":"a","model":"m","version":"1","digest":"d"})"},
               {Hook::file,
                R"({"path":"p","format":"onnx","digest":"d","bytes":9,"signature":{"valid":false,"state":"missing"},
           "operators":[{"domain":"","name":"Add","opset":13}]})",
                R"({"path":"p","format":"onnx","digest":"d","bytes":9,"signature":{"valid":false,"state":"missing"},
           "operators":[{"domain":"","name":"Add","opset":13}]})"},
               {Hook::edit,
                R"({"approvals":{"count":0,"approvers":[]},"within_envelope":true,"diff":{"added_operators":["A"]}})",
                R"({"approvals":{"count":0,"approvers":[]},"within_envelope":true,"diff":{"added_operators":["A"]}})"},
               {Hook::config, R"({"user":"u","changes":[{"path":"a","old":"1"}],"lowered":{"witness":true}})",
                R"({"user":"u","changes":[{"path":"a","old":"1"}],"lowered":{"witness":true}})"}};
  for (const auto& one : cases) {
    const Input input = Input::from_json(one.hook, parsed(one.input), "input");
    const Json expected = {{"hook", name_of(one.hook)}, {"input", parsed(one.kept)}};
    EXPECT_EQ(kept_input(input), expected);
    const Input again = Input::from_json(one.hook, parsed(one.kept), "input");
    EXPECT_EQ(decision_digest(input), decision_digest(again));
  }
}

/// Makes policies and inputs of hook `run`.
class RandomRuns {
 public:
  explicit RandomRuns(std::uint64_t seed) : random_(seed) {}

  std::string condition(int size) {
    if (size > 0 && below(4) == 0) return "!(" + condition(size - 1) + ")";
    if (size > 0) return "(" + condition(size / 2) + (below(2) == 0 ? " && " : " || ") + condition(size / 2) + ")";
    const std::vector<std::string> atoms = {"true",
                                            "tenant == \"" + tenant() + "\"",
                                            "model == \"m" + digit() + "\"",
                                            "version == \"" + digit() + "\"",
                                            "1 / int(version) > 0",
                                            "priority > " + digit(),
                                            "has(budget_left)",
                                            "has(budget_left) && budget_left < " + digit(),
                                            "budget_left < " + digit(),
                                            "forecast.cost_ns < " + digit(),
                                            "has(parameters.k)",
                                            "parameters[\"k\"] == \"" + digit() + "\""};
    return atoms[below(atoms.size())];
  }
  std::shared_ptr<const Policy> policy() {
    std::string rules;
    for (std::uint64_t i = 0, count = 1 + below(5); i < count; ++i) {
      rules += fmt::format("{} r{} on run {}when {} reason \"r\";\n", below(3) == 0 ? "forbid" : "permit", i,
                           below(8) == 0 ? "mode shadow " : "", condition(static_cast<int>(below(3))));
    }
    try {
      return policy_of(rules);
    } catch (const Error&) {
      return policy();  // a condition is an error for every input
    }
  }
  Json input() {
    Json json = {{"tenant", tenant()},          {"model", "m" + digit()},
                 {"version", digit()},          {"digest", "d"},
                 {"priority", below(3)},        {"forecast", {{"cost_ns", below(3)}, {"memory", 1}}},
                 {"parameters", Json::object()}};
    if (below(2) == 0) json["parameters"]["k"] = digit();
    if (below(2) == 0) json["budget_left"] = below(3);
    return json;
  }
  std::uint64_t below(std::uint64_t count) { return random_() % count; }

 private:
  std::string digit() { return std::to_string(below(3)); }
  std::string tenant() { return below(2) == 0 ? "gold" : "free"; }

  std::mt19937_64 random_;
};

Input of_run(const Json& json) { return Input::from_json(Hook::run, json, "input"); }
Input kept_of(const Input& input) { return of_run(kept_input(input)["input"]); }

TEST(KeptDecisions, AgreeWithDecisionsOnWholeInputs) {
  RandomRuns random(45);
  std::uint64_t known = 0, unknown = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto policy = random.policy();
    const Input whole = of_run(random.input());
    const KnownDecision kept = decide_kept(*policy, kept_of(whole));
    const Decision decision = policy->decide(whole);
    ++(kept.permits ? known : unknown);
    if (!kept.permits) {
      EXPECT_TRUE(policy->reads_request(Hook::run));
      continue;
    }
    EXPECT_EQ(*kept.permits, decision.permits()) << i << " " << kept.text << " / " << decision.rule;
    if (kept.rule_is_known && !decision.rule.empty()) {
      EXPECT_THAT(kept.text, HasSubstr("'" + std::string(decision.rule) + "'")) << i;
    }
  }
  EXPECT_GT(known, 1000u);
  EXPECT_GT(unknown, 300u);
}

TEST(KeptDecisions, NameWhatTheyDependOn) {
  const auto of = [](const char* rules) {
    return decide_kept(*policy_of(rules), of_run({{"tenant", "a"}, {"version", "0"}})).text;
  };
  EXPECT_EQ(of("permit p on run reason \"x\";"), "permitted by 'p'");
  EXPECT_EQ(of("permit p on run reason \"x\"; forbid f on run when priority > 1 reason \"x\";"),
            "depends on the request: 'f'");
  EXPECT_EQ(of("permit p on run reason \"x\"; forbid f on run when has(budget_left) reason \"x\";"),
            "depends on the request: 'f'");
  EXPECT_EQ(of("permit p on run reason \"x\"; forbid f on run when priority > 1 && tenant == \"b\" reason \"x\";"),
            "permitted by 'p'");
  EXPECT_EQ(of("forbid f on run when priority > 1 reason \"x\";"), "no rule matched");
  EXPECT_EQ(of("permit p on run when 1 / int(version) == 1 reason \"x\";"), "could not decide: 'p' failed");
}

/// A log whose requests refer to kept inputs.
class DiffOnLog : public testing::Test {
 protected:
  DiffOnLog() : log_(std::make_shared<AuditLog>(audit::options_of(folder_.path()))), decisions_(log_) {
    log_->append(audit::boot_event());
  }
  std::uint64_t add_request(const Input& input) {
    Json event = audit::request_event("definition 1");
    event["decision"] = decisions_.keep(input);
    return log_->append(std::move(event));
  }
  PolicyDiff diff(const Policy& before, const Policy& after, PolicyDiffOptions options = {}) {
    log_->close();
    options.log = folder_.path();
    return diff_on_log(before, after, options);
  }

  audit::TemporaryFolder folder_;
  std::shared_ptr<AuditLog> log_;
  DecisionLog decisions_;
};

TEST_F(DiffOnLog, GroupsByHookAndRuleAndWeighsByRequests) {
  const auto before = policy_of("permit all on run, file reason \"x\";");
  const auto after = policy_of(
      "permit all on run reason \"x\"; permit files on file reason \"x\";\n"
      "forbid free on run when tenant == \"free\" reason \"x\";\n"
      "forbid poor on run when tenant == \"poor\" && budget_left < 0 reason \"x\";");
  for (const char* tenant : {"free", "gold", "free", "poor"}) add_request(of_run({{"tenant", tenant}, {"model", "m"}}));
  const Input file = Input::from_json(Hook::file, {{"path", "a.onnx"}}, "input");
  decisions_.keep_permitted(file, before->digest(), "all", "m");
  decisions_.keep_permitted(file, before->digest(), "all", "m");  // has its event already
  log_->append(audit::request_event("definition 1", 7));          // the id of another build's decision
  const PolicyDiff found = diff(*before, *after);
  ASSERT_EQ(found.groups.size(), 3u);
  const auto text = [](const PolicyDiff::Group& group) {
    return fmt::format("{}: {} {} -> {} {}/{}/{}", name_of(group.change), name_of(group.hook), group.before,
                       group.after, group.inputs, group.events, group.requests);
  };
  EXPECT_EQ(text(found.groups[0]), "permitted to denied: run permitted by 'all' -> forbidden by 'free' 1/0/2");
  EXPECT_THAT(found.groups[0].entries, ElementsAre(1, 3));
  EXPECT_EQ(text(found.groups[1]), "other rule: file permitted by 'all' -> permitted by 'files' 1/1/0");
  EXPECT_EQ(text(found.groups[2]), "undetermined: run permitted by 'all' -> depends on the request: 'poor' 1/0/1");
  EXPECT_EQ(found.inputs, 4u);
  EXPECT_EQ(found.requests, 4u);
  EXPECT_EQ(found.without_input, 1u);
  EXPECT_TRUE(found.differs());
}

TEST_F(DiffOnLog, EqualsDecidingEachRequest) {
  RandomRuns random(46);
  std::vector<Json> asked;
  for (int i = 0; i < 400; ++i) {
    asked.push_back(random.input());
    add_request(of_run(asked.back()));
  }
  log_->close();
  for (int i = 0; i < 60; ++i) {
    const auto before = random.policy(), after = random.policy();
    std::map<Change, std::uint64_t> expected, found;
    for (const Json& json : asked) {
      const Input input = of_run(json);
      const KnownDecision old = decide_kept(*before, kept_of(input)), now = decide_kept(*after, kept_of(input));
      if (!old.permits || !now.permits) {
        expected[Change::undetermined] += before->digest() == after->digest() ? 0 : 1;
      } else if (before->decide(input).permits() != after->decide(input).permits()) {
        ++expected[*old.permits ? Change::permitted_to_denied : Change::denied_to_permitted];
      }
    }
    const PolicyDiff diff = diff_on_log(*before, *after, {.log = folder_.path()});
    for (const auto& group : diff.groups) {
      if (group.change != Change::other_rule) found[group.change] += group.requests;
    }
    std::erase_if(expected, [](const auto& entry) { return entry.second == 0; });
    EXPECT_EQ(found, expected) << i;
    EXPECT_EQ(diff.requests, asked.size());
  }
}

TEST_F(DiffOnLog, LooksAtATimeOnly) {
  const auto before = policy_of("permit all on run reason \"x\";"),
             after = policy_of("forbid all on run reason \"x\";");
  for (const char* at : {"2026-10-01T00:00:00.000Z", "2026-10-02T00:00:00.000Z", "2026-10-03T00:00:00.000Z"}) {
    Json event = audit::request_event("definition 1");
    event["at"] = at;
    event["decision"] = decisions_.keep(of_run({{"tenant", "a"}}));
    log_->append(std::move(event));
  }
  const auto found = diff(
      *before, *after, {.from = parse_time("2026-10-02T00:00:00.000Z"), .to = parse_time("2026-10-03T00:00:00.000Z")});
  EXPECT_EQ(found.requests, 1u);
}

TEST_F(DiffOnLog, AnInputThatWasRemovedOrChangedIsNotGuessed) {
  const auto before = policy_of("permit all on run reason \"x\";"),
             after = policy_of("forbid all on run reason \"x\";");
  const Input one = of_run({{"tenant", "a"}}), two = of_run({{"tenant", "b"}});
  add_request(one);
  add_request(two);
  remove_blob(folder_.path(), decision_digest(one));
  const auto found = diff(*before, *after);
  EXPECT_EQ(found.requests, 1u);
  EXPECT_EQ(found.without_input, 1u);
  audit::write_text(blob_path(folder_.path(), decision_digest(two)), R"({"hook":"run","input":{"tenant":"c"}})");
  EXPECT_THAT(error_of([&] { diff_on_log(*before, *after, {.log = folder_.path()}); }), HasSubstr("another digest"));
}

}  // namespace
}  // namespace frazil::test
