#include "govern/gate/change_evidence.h"

#include <functional>

#include <gmock/gmock.h>

#include "govern/base/digest.h"
#include "govern/gate/policy_source.h"
#include "govern/report/report.h"
#include "govern/sign/sign_testing.h"

// Approvals and envelopes of changes, and signed policies: what counts, and what does not.
namespace frazil::govern::of_evidence {
namespace {

using sign_test::error_of, sign_test::key_named;
using testing::ElementsAre;
using testing::HasSubstr;

const SigningKey& key_of(const std::string& name) { return key_named(name, KeyKind::ed25519); }
std::string digest(char digit) { return "sha256:" + std::string(64, digit); }

/// alice and bob may sign everything, bob with two keys; carol has no role for documents.
std::vector<Person> persons() {
  const std::set<std::string> all = {"risk", "policy", "envelope"};
  return {{key_of("alice").public_key(), "alice", all},
          {key_of("bob").public_key(), "bob", all},
          {key_of("bob's other").public_key(), "bob", all},
          {key_of("carol").public_key(), "carol", {"ml"}}};
}

Json report() {
  return {{"name", "m"},
          {"digest", digest('1')},
          {"operators", {{{"domain", ""}, {"name", "Add"}, {"opset", nullptr}, {"count", 1}}}},
          {"models", Json::array()},
          {"endpoints", Json::array()},
          {"code", Json::array()},
          {"max_steps", nullptr},
          {"extents", Json::object()},
          {"worst_cost_ns", 10},
          {"worst_memory_bytes", 10},
          {"influence", Json::object()}};
}

class Evidence : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_.path("approvals")); }

  ChangeSubject subject() const {
    return {.model = "m",
            .definition = digest('1'),
            .parent = digest('2'),
            .files = std::map<std::string, std::string>{{"model.onnx", digest('3')}},
            .policy = digest('6'),
            .author = "carol"};
  }
  Approval approval(const std::string& name, const std::string& role) const {
    return {.kind = Approval::Kind::usual,
            .subject = {.model = "m",
                        .definition = digest('1'),
                        .parent = digest('2'),
                        .files = {{"model.onnx", digest('3')}},
                        .report = digest_of_report(report()),
                        .policy = digest('6'),
                        .environment = "production"},
            .approver = name,
            .role = role,
            .issued = moment_now() - 60,
            .not_after = moment_now() + 3600};
  }
  void give(const std::string& file, const std::string& key, const Approval& approval) const {
    folder_.write("approvals/" + file, sign_approval(approval, key_of(key)));
  }
  ChangeEvidence evidence() const {
    return ChangeEvidence({.trusted = persons(), .approvals = folder_.path("approvals"), .environment = "production"});
  }

  sign_test::TemporaryFolder folder_;
};

TEST_F(Evidence, CountsDistinctPersonsWhoApprovedExactlyThis) {
  give("1.approval", "alice", approval("alice", "risk"));
  give("2.approval", "bob", approval("bob", "risk"));
  const ChangeProof proof = evidence().of(subject(), report());
  EXPECT_EQ(proof.approvals.dump(),
            R"({"approvers":["alice","bob"],"count":2,"includes_author":false,"roles":["risk"]})");
  EXPECT_FALSE(proof.about.contains("not_counted"));
  ASSERT_EQ(proof.events.size(), 2u);
  EXPECT_EQ(proof.events[0]["approver"], key_of("alice").public_key().id());
}

TEST_F(Evidence, DoesNotCountOthersAndSaysWhy) {
  const struct {
    const char *key, *name, *role;
    std::function<void(Approval&)> change;
    const char* reason;
  } cases[] = {
      {"carol", "carol", "ml", nullptr, "'carol' is the author"},
      {"alice", "alice", "risk", [](Approval& a) { a.not_after = moment_now() - 1; }, "it expired at "},
      {"alice", "alice", "risk", [](Approval& a) { a.subject.parent = digest('9'); }, "its parent is sha256:999"},
      {"alice", "alice", "risk", [](Approval& a) { a.subject.report = ""; }, "its report is none, expected sha256:"},
      {"alice", "alice", "risk", [](Approval& a) { a.subject.policy = digest('9'); }, "its policy is sha256:999"},
      {"alice", "alice", "risk", [](Approval& a) { a.subject.environment = "test"; }, "its environment is test"},
      {"alice", "alice", "risk", [](Approval& a) { a.subject.files.clear(); }, "its files are not those of the model"},
      {"alice", "alice", "risk", [](Approval& a) { a.kind = Approval::Kind::emergency; }, "no emergency approvals"},
      {"alice", "bob", "risk", nullptr, "it names 'bob', but the key is of 'alice'"},
      {"alice", "alice", "ml", nullptr, "'alice' does not have the role 'ml'"},
      {"stranger", "alice", "risk", nullptr, "it has valid signatures of 0"},
      {"bob's other", "bob", "risk", nullptr, "'bob' has approved it already"}};
  for (const auto& one : cases) {
    give("1.approval", "bob", approval("bob", "risk"));
    Approval other = approval(one.name, one.role);
    if (one.change) one.change(other);
    give("2.approval", one.key, other);
    const ChangeProof proof = evidence().of(subject(), report());
    EXPECT_EQ(proof.approvals["count"], 1) << one.reason;
    EXPECT_THAT(proof.about.value("not_counted", Json()).dump(), HasSubstr(one.reason));
    EXPECT_EQ(proof.approvals["includes_author"], std::string_view(one.name) == "carol");
  }
}

TEST_F(Evidence, OtherDefinitionsAreNotMentionedAndDamagedFilesAre) {
  Approval other = approval("alice", "risk");
  other.subject.definition = digest('8');
  give("1.approval", "alice", other);
  folder_.write("approvals/2.approval", "{");
  folder_.write("approvals/3.txt", "not an approval");
  const ChangeProof proof = evidence().of(subject(), report());
  EXPECT_EQ(proof.approvals["count"], 0);
  EXPECT_EQ(proof.about["not_counted"].size(), 1u) << proof.about;
  EXPECT_THAT(proof.about.dump(), HasSubstr("2.approval"));
}

TEST_F(Evidence, FilesAreNotComparedForAChangeWithoutFiles) {
  Approval given = approval("alice", "risk");
  given.subject.files = {};
  give("1.approval", "alice", given);
  ChangeSubject edit = subject();
  EXPECT_EQ(evidence().of(edit, report()).approvals["count"], 0);
  edit.files = std::nullopt;
  EXPECT_EQ(evidence().of(edit, report()).approvals["count"], 1);
}

TEST_F(Evidence, AnEnvelopeIsSignedAndBounds) {
  Json bounds = {{"operators", {{{"domain", ""}, {"name", "Add"}, {"opset", {0, 21}}}}},
                 {"models", Json::array()},
                 {"endpoints", Json::array()},
                 {"code", Json::array()},
                 {"extents", Json::object()},
                 {"worst_cost_ns", 20},
                 {"worst_memory_bytes", 20},
                 {"max_steps", nullptr},
                 {"influence", Json::object()}};
  const auto serials = std::make_shared<SerialStore>(folder_.path("serials"));
  const auto sign = [&](std::uint64_t serial, Moment not_after, const char* key = "alice") {
    Envelope envelope = envelope_of({.kind = std::string(kEnvelopeKind),
                                     .serial = serial,
                                     .not_after = not_after,
                                     .content = text_of(read_edit_envelope(bounds.dump(), "bounds"))});
    add_signature(envelope, key_of(key));
    folder_.write("envelope", json_of(envelope).dump());
  };
  const auto read = [&] {
    return std::make_unique<ChangeEvidence>(
        EvidenceOptions{.trusted = persons(), .envelope = folder_.path("envelope"), .serials = serials});
  };
  sign(1, moment_now() + 3600, "carol");
  EXPECT_THAT(error_of(read), HasSubstr("it has valid signatures of 0 of the 3 trusted keys"));
  sign(2, moment_now() + 3600);
  const auto evidence = read();
  EXPECT_TRUE(evidence->of(subject(), report()).within_envelope);
  Json more = report();
  more["operators"].push_back({{"domain", ""}, {"name", "TopK"}, {"opset", 11}, {"count", 1}});
  const ChangeProof outside = evidence->of(subject(), more);
  EXPECT_FALSE(outside.within_envelope);
  EXPECT_THAT(outside.about["outside"].dump(), HasSubstr("operator 'TopK'"));
  sign(1, moment_now() + 3600);
  EXPECT_THAT(error_of([&] { evidence->reload(); }), HasSubstr("its serial 1 is lower than 2"));
  EXPECT_TRUE(evidence->of(subject(), report()).within_envelope) << "the old one stays";
}

constexpr const char* kRules = "permit all on run reason \"x\";\n";

class SignedPolicies : public testing::Test {
 protected:
  static std::string policy(std::uint64_t serial, const std::string& rules = kRules) {
    return fmt::format("policy \"p\" serial {};\n{}", serial, rules);
  }
  void sign(const std::string& content, std::uint64_t serial, std::initializer_list<const char*> keys,
            Moment not_after = moment_now() + 3600) const {
    Envelope envelope =
        envelope_of({.kind = std::string(kPolicyKind), .serial = serial, .not_after = not_after, .content = content});
    for (const char* key : keys) add_signature(envelope, key_of(key));
    folder_.write("policy", json_of(envelope).dump());
  }
  PolicySource source(std::size_t signers = 2) const {
    return PolicySource({.path = folder_.path("policy"),
                         .signers = signers,
                         .trusted = persons(),
                         .serials = std::make_shared<SerialStore>(folder_.path("serials"))});
  }
  std::string error(std::size_t signers = 2) const {
    return error_of([&] { source(signers).read(); });
  }

  sign_test::TemporaryFolder folder_;
};

TEST_F(SignedPolicies, NeedDistinctPersonsWithTheRole) {
  sign(policy(1), 1, {"alice", "bob"});
  EXPECT_EQ(error(), "no error");
  EXPECT_EQ(source().read().event["signers"].dump(), R"(["alice","bob"])");
  sign(policy(1), 1, {"alice"});
  EXPECT_THAT(error(), HasSubstr("signatures of 1 of the 3 trusted keys"));
  sign(policy(1), 1, {"bob", "bob's other"});
  EXPECT_THAT(error(), HasSubstr("1 persons with the role 'policy' signed it, expected 2"));
  sign(policy(1), 1, {"alice", "carol"});
  EXPECT_THAT(error(), HasSubstr("signatures of 1 of the 3 trusted keys"));
  EXPECT_THAT(error(4), HasSubstr("4 signatures are demanded, but only 3 trusted keys have the role 'policy'"));
}

TEST_F(SignedPolicies, AreRefusedIfOldUnsignedExpiredOrOfAnotherSerial) {
  sign(policy(2), 2, {"alice", "bob"});
  EXPECT_EQ(error(), "no error");
  sign(policy(1), 1, {"alice", "bob"});
  EXPECT_THAT(error(), HasSubstr("its serial 1 is lower than 2")) << "also of another object: after a restart";
  folder_.write("policy", policy(3));
  EXPECT_THAT(error(), HasSubstr("it is not signed, and the signatures of 2 persons are demanded"));
  sign(policy(3), 3, {"alice", "bob"}, moment_now() - 1);
  EXPECT_THAT(error(), HasSubstr("it expired at"));
  sign(policy(3), 4, {"alice", "bob"});
  EXPECT_THAT(error(), HasSubstr("it was signed with serial 4, but policy 'p' has serial 3"));
  sign(policy(3, "permit all on nothing;"), 3, {"alice", "bob"});
  EXPECT_THAT(error(), HasSubstr(folder_.path("policy") + ":2:"));
  EXPECT_THAT(error(0), HasSubstr("it is a signed document; demand its signatures"));
}

TEST_F(SignedPolicies, AReloadThatFailsKeepsTheOldPolicy) {
  sign(policy(1), 1, {"alice", "bob"});
  PolicySource from = source();
  const auto governor = std::make_shared<Governor>(GovernorOptions{.policy = from.read().policy});
  EXPECT_FALSE(from.reload(*governor).changed);
  const auto before = governor->policy();
  const auto fails = [&] { return error_of([&] { from.reload(*governor); }); };
  sign(policy(2), 2, {"alice"});
  EXPECT_THAT(fails(), HasSubstr("trusted keys"));
  sign(policy(2, "permit x on run when y reason \"x\";"), 2, {"alice", "bob"});
  EXPECT_THAT(fails(), HasSubstr(":2:22: ")) << "with line and column";
  EXPECT_EQ(governor->policy(), before);
  sign(policy(2, "forbid all on run reason \"closed\";"), 2, {"alice", "bob"});
  EXPECT_TRUE(from.reload(*governor).changed) << "errors did not use up serial 2";
  EXPECT_EQ(governor->policy()->serial(), 2u);
  sign(policy(1), 1, {"alice", "bob"});
  EXPECT_THAT(fails(), HasSubstr("serial"));
  EXPECT_EQ(governor->policy()->serial(), 2u);
}

TEST_F(SignedPolicies, AreInForceUntilTheDocumentExpires) {
  const Moment end = moment_now() + 3600;
  sign(policy(1), 1, {"alice", "bob"}, end);
  static Moment now;
  now = end;
  const auto governor =
      std::make_shared<Governor>(GovernorOptions{.policy = source().read().policy, .now = [] { return now; }});
  Input input(Hook::run);
  EXPECT_EQ(governor->ask(input, "m"), std::nullopt);
  now = end + 1;
  EXPECT_EQ(governor->ask(input, "m"), "policy 'p' has expired");
}

}  // namespace
}  // namespace frazil::govern::of_evidence
