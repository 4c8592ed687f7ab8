#include "govern/sign/approval.h"

#include <functional>

#include "sign_testing.h"

namespace frazil::govern::sign_test::of_approval {
namespace {

constexpr Moment kNow = 1'800'000'000;
constexpr Moment kHour = 3600;

std::string digest(char digit) { return "sha256:" + std::string(64, digit); }

ApprovalSubject subject() {
  return {.model = "router",
          .definition = digest('1'),
          .parent = digest('2'),
          .files = {{"model.onnx", digest('3')}},
          .report = digest('4'),
          .envelope = digest('5'),
          .policy = digest('6'),
          .environment = "production"};
}

Approval approval_of(const std::string& name, const std::string& role) {
  return {.kind = Approval::Kind::usual,
          .subject = subject(),
          .approver = name,
          .role = role,
          .issued = kNow - kHour,
          .not_after = kNow + kHour};
}

const SigningKey& key_of(const std::string& person) { return key_named(person, KeyKind::ed25519); }

/// alice: risk; bob: risk and ml; carol: ml; dave: ops. bob has two keys.
std::vector<Person> persons() {
  return {{.key = key_of("alice").public_key(), .name = "alice", .roles = {"risk"}},
          {.key = key_of("bob").public_key(), .name = "bob", .roles = {"risk", "ml"}},
          {.key = key_of("bob's other").public_key(), .name = "bob", .roles = {"risk", "ml"}},
          {.key = key_of("carol").public_key(), .name = "carol", .roles = {"ml"}},
          {.key = key_of("dave").public_key(), .name = "dave", .roles = {"ops"}}};
}

ApprovalRule rule_of(std::size_t threshold, std::vector<std::string> roles = {}) {
  return {.threshold = threshold,
          .roles = std::move(roles),
          .author = "carol",
          .emergency_seconds = 4 * kHour,
          .emergency_roles = {"ops"}};
}

/// One approval: who signs, and what differs from a valid one.
struct Given {
  std::string key, name, role;
  std::function<void(Approval&)> change = nullptr;
};

ApprovalResult decide(const std::vector<Given>& given, const ApprovalRule& rule,
                      const ApprovalSubject& of = subject()) {
  std::vector<std::string> approvals;
  for (const Given& one : given) {
    Approval approval = approval_of(one.name, one.role);
    if (one.change) one.change(approval);
    approvals.push_back(sign_approval(approval, key_of(one.key)));
  }
  return check_approvals(of, approvals, persons(), rule, kNow);
}

TEST(Approvals, NeedDistinctPersonsInRoles) {
  struct Case {
    const char* name;
    std::vector<Given> given;
    ApprovalRule rule;
    std::vector<std::string> reasons;  ///< empty: approved
  };
  const Given alice{"alice", "alice", "risk"}, bob{"bob", "bob", "risk"}, bob_ml{"bob", "bob", "ml"};
  const std::vector<Case> cases = {
      {"two persons", {alice, bob}, rule_of(2), {}},
      {"one person", {alice}, rule_of(2), {"1 persons approved, expected at least 2"}},
      {"nobody", {}, rule_of(1), {"0 persons approved, expected at least 1"}},
      {"one person twice", {bob, bob_ml}, rule_of(2), {"1 persons approved, expected at least 2"}},
      {"one person with two keys",
       {bob, {"bob's other", "bob", "risk"}},
       rule_of(2),
       {"1 persons approved, expected at least 2"}},
      {"the author",
       {alice, {"carol", "carol", "ml"}},
       rule_of(2),
       {"approval 2: 'carol' is the author", "1 persons approved, expected at least 2"}},
      {"the roles", {alice, bob_ml}, rule_of(2, {"risk", "ml"}), {}},
      {"one role is missing",
       {alice, bob},
       rule_of(2, {"risk", "ml"}),
       {"expected a person for each of the roles risk, ml"}},
      {"one person does not have two roles",
       {bob, bob_ml, {"dave", "dave", "ops"}},
       rule_of(2, {"risk", "ml"}),
       {"expected a person for each of the roles risk, ml"}},
      {"a person moves to the other role", {bob, bob_ml, alice}, rule_of(2, {"risk", "ml"}), {}},
      {"a role that is needed twice", {alice, bob}, rule_of(2, {"risk", "risk"}), {}},
      {"a role that the person lacks",
       {bob, {"alice", "alice", "ml"}},
       rule_of(2),
       {"approval 2: 'alice' does not have the role 'ml'", "1 persons approved, expected at least 2"}},
      {"the name of somebody else",
       {bob, {"dave", "alice", "risk"}},
       rule_of(2),
       {"approval 2: it names 'alice', but the key is of 'dave'", "1 persons approved, expected at least 2"}},
      {"a stranger's key",
       {bob, {"eve", "alice", "risk"}},
       rule_of(2),
       {"approval 2: it has valid signatures of 0 of the 5 trusted keys, expected at least 1",
        "1 persons approved, expected at least 2"}},
  };
  for (const Case& one : cases) {
    const ApprovalResult result = decide(one.given, one.rule);
    EXPECT_EQ(result.reasons, one.reasons) << one.name;
    EXPECT_EQ(result.approved, one.reasons.empty()) << one.name;
    EXPECT_FALSE(result.emergency) << one.name;
  }
  EXPECT_EQ(decide({alice, bob}, rule_of(2)).approvers, (std::vector<std::string>{"alice", "bob"}));
}

TEST(Approvals, HoldForExactlyOneSubject) {
  struct Case {
    std::function<void(ApprovalSubject&)> change;
    std::string reason;
  };
  const auto differs = [](const char* name, const std::string& is, const std::string& expected) {
    return std::string("approval 1: its ") + name + " is " + is + ", expected " + expected;
  };
  const std::vector<Case> cases = {
      {[](auto& s) { s.model = "other"; }, differs("model", "other", "router")},
      {[](auto& s) { s.definition = digest('a'); }, differs("definition", digest('a'), digest('1'))},
      {[](auto& s) { s.parent = digest('a'); }, differs("parent", digest('a'), digest('2'))},
      {[](auto& s) { s.parent = ""; }, differs("parent", "none", digest('2'))},
      {[](auto& s) { s.report = digest('a'); }, differs("report", digest('a'), digest('4'))},
      {[](auto& s) { s.envelope = ""; }, differs("envelope", "none", digest('5'))},
      {[](auto& s) { s.policy = digest('a'); }, differs("policy", digest('a'), digest('6'))},
      {[](auto& s) { s.environment = "staging"; }, differs("environment", "staging", "production")},
      {[](auto& s) { s.files["extra"] = digest('a'); }, "approval 1: its files are not those of the model"},
      {[](auto& s) { s.files["model.onnx"] = digest('a'); }, "approval 1: its files are not those of the model"},
      {[](auto& s) { s.files.clear(); }, "approval 1: its files are not those of the model"},
  };
  for (const Case& one : cases) {
    const ApprovalResult result =
        decide({{"alice", "alice", "risk", [&](Approval& a) { one.change(a.subject); }}}, rule_of(1));
    EXPECT_FALSE(result.approved) << one.reason;
    EXPECT_EQ(result.reasons.at(0), one.reason);
  }
  // A definition without a parent, for which nothing but the definition is approved.
  ApprovalSubject first = subject();
  first.parent = first.report = first.envelope = first.policy = "";
  EXPECT_TRUE(
      decide({{"alice", "alice", "risk", [&](Approval& a) { a.subject = first; }}}, rule_of(1), first).approved);
}

TEST(Approvals, AreValidForATime) {
  struct Case {
    Moment issued, not_after;
    const char* reason;
  };
  const std::vector<Case> cases = {
      {kNow, kNow, ""},
      {kNow - kHour, kNow - 1, "approval 1: it expired at 2027-01-15T07:59:59Z"},
      {kNow + 300, kNow + kHour, ""},
      {kNow + 301, kNow + kHour, "approval 1: it is issued later than now"},
  };
  for (const Case& one : cases) {
    const auto change = [&](Approval& a) { a.issued = one.issued, a.not_after = one.not_after; };
    const ApprovalResult result = decide({{"alice", "alice", "risk", change}}, rule_of(1));
    EXPECT_EQ(result.approved, *one.reason == 0);
    EXPECT_EQ(result.reasons.empty() ? "" : result.reasons[0], one.reason);
  }
}

TEST(Approvals, AnEmergencyIsAKindOfItsOwn) {
  struct Case {
    const char* name;
    Given given;
    Moment life, longest;
    const char* reason;  ///< empty: approved
  };
  const std::vector<Case> cases = {
      {"a person on duty", {"dave", "dave", "ops"}, 4 * kHour, 4 * kHour, ""},
      {"too long",
       {"dave", "dave", "ops"},
       4 * kHour + 1,
       4 * kHour,
       "approval 1: it is valid for 14401 s, expected at most 14400 s"},
      {"another role",
       {"alice", "alice", "risk"},
       kHour,
       4 * kHour,
       "approval 1: the role 'risk' may not approve in an emergency"},
      {"not allowed", {"dave", "dave", "ops"}, kHour, 0, "approval 1: the rule has no emergency approvals"},
      {"a stranger",
       {"eve", "dave", "ops"},
       kHour,
       4 * kHour,
       "approval 1: it has valid signatures of 0 of the 5 trusted keys, expected at least 1"},
  };
  for (const Case& one : cases) {
    Given given = one.given;
    given.change = [&](Approval& a) {
      a.kind = Approval::Kind::emergency;
      a.issued = kNow, a.not_after = kNow + one.life;
    };
    ApprovalRule rule = rule_of(2);
    rule.emergency_seconds = one.longest;
    const ApprovalResult result = decide({given}, rule);
    EXPECT_EQ(result.approved, *one.reason == 0) << one.name;
    EXPECT_EQ(result.emergency, result.approved) << one.name;
    if (*one.reason != 0) EXPECT_EQ(result.reasons.at(0), one.reason) << one.name;
  }
}

TEST(Approvals, ADamagedOneDoesNotCount) {
  const std::string good = sign_approval(approval_of("alice", "risk"), key_of("alice"));
  std::string changed = good;
  changed[changed.find("payload\":\"") + 40] ^= 1;
  const std::string other_type = canonical(json_of([] {
    Envelope envelope{
        .payload_type = std::string(kInTotoType), .payload = R"({"predicateType":"x"})", .signatures = {}};
    add_signature(envelope, key_of("alice"));
    return envelope;
  }()));
  for (const std::string& bad : {changed, std::string("{}"), std::string(), other_type}) {
    EXPECT_FALSE(check_approvals(subject(), std::vector{bad}, persons(), rule_of(1), kNow).approved) << bad;
    EXPECT_TRUE(check_approvals(subject(), std::vector{bad, good}, persons(), rule_of(1), kNow).approved) << bad;
  }
}

TEST(Approvals, IncompleteOnesAreNotSigned) {
  const std::vector<std::pair<std::function<void(Approval&)>, const char*>> cases = {
      {[](Approval& a) { a.subject.definition = ""; },
       "approval: 'definition': expected a digest 'sha256:' with 64 hexadecimal digits, got ''"},
      {[](Approval& a) { a.subject.report = "4711"; },
       "approval: 'report': expected a digest 'sha256:' with 64 hexadecimal digits, got '4711'"},
      {[](Approval& a) { a.subject.environment = ""; }, "approval: 'environment' is empty"},
      {[](Approval& a) { a.approver = ""; }, "approval: 'approver' is empty"},
      {[](Approval& a) { a.not_after = a.issued - 1; }, "approval: it expires before it is issued"},
  };
  for (const auto& [change, expected] : cases) {
    Approval approval = approval_of("alice", "risk");
    change(approval);
    EXPECT_EQ(error_of([&] { (void)sign_approval(approval, key_of("alice")); }), expected);
  }
  const auto decide_with = [](const ApprovalRule& rule) {
    return error_of([&] { (void)check_approvals(subject(), {}, persons(), rule, kNow); });
  };
  EXPECT_EQ(decide_with(rule_of(0)), "approval rule: a threshold of 0 approves all: expected at least 1");
  EXPECT_EQ(decide_with({.threshold = 1, .roles = {}, .author = ""}), "approval rule: the author is not named");
}

TEST(Persons, AreReadFromAFile) {
  const std::string pem = Json(key_of("alice").public_key().pem()).dump();
  const auto read = [&](const std::string& text) { return read_persons(text, "persons"); };
  const auto one = [&](const std::string& name, const std::string& roles) {
    return R"({"name":")" + name + R"(","roles":)" + roles + R"(,"key":)" + pem + "}";
  };
  const auto found = read(R"({"persons":[)" + one("alice", R"(["risk"])") + "]}");
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].key, key_of("alice").public_key());
  EXPECT_EQ(found[0].roles, std::set<std::string>{"risk"});
  EXPECT_EQ(error_of([&] { (void)read(R"({"persons":[)" + one("a", "[]") + "," + one("b", "[]") + "]}"); }),
            "persons: persons 'a' and 'b' have one key");
  EXPECT_EQ(error_of([&] { (void)read(R"({"persons":[{"name":"a","roles":[],"key":"x"}]})"); }),
            "persons: person 'a': expected a public key or a certificate in PEM form");
}

}  // namespace
}  // namespace frazil::govern::sign_test::of_approval
