// Changes of served models, pipelines and the policy itself, under a policy and an audit log.
#include <atomic>
#include <filesystem>

#include <gmock/gmock.h>

#include "govern/audit/log_reader.h"
#include "govern/audit/verify.h"
#include "govern/base/file.h"
#include "govern/gate/governor.h"
#include "govern/gate/policy_diff.h"
#include "govern/gate/policy_source.h"
#include "govern/report/report.h"
#include "server/asked.h"
#include "server/rest_asked.h"

namespace frazil::test {
namespace {

using server::Http;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kChangedToExp = "graph g(%x: f32[N,2]) { %y = Exp(%x) return y = %y }";
constexpr const char* kChangesOrigin = "example.org/changes";
constexpr const char* kChangesUsual =
    "permit usual on file, load, edit, publish, roll_back, dispatch, run, register, config, admin reason \"usual\";\n";
constexpr const char* kNeedsApprovals =
    "forbid unapproved on publish when !within_envelope && approvals.count < 2 reason \"two approvals are missing\";\n";

class GovernedChanges : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(files_.path() + "approvals"); }

  void write_policy(std::uint64_t serial, const std::string& rules) const {
    files_.write("p.policy", "policy \"p\" serial " + std::to_string(serial) + ";\n" + kChangesUsual + rules);
  }
  void serve(const std::string& rules) {
    write_policy(1, rules);
    audit_ = std::make_shared<govern::AuditLog>(
        govern::AuditOptions{.folder = files_.path() + "log", .origin = kChangesOrigin, .key = key_});
    audit_->append_durable({{"kind", "boot"}, {"build", "test"}});
    server::ServiceOptions options = options_of(models_);
    options.workers = 2;
    options.audit = audit_;
    options.policy_source = std::make_shared<govern::PolicySource>(
        govern::PolicySourceOptions{.path = files_.path() + "p.policy", .audit = audit_});
    auto read = options.policy_source->read();
    const auto evidence = std::make_shared<govern::ChangeEvidence>(govern::EvidenceOptions{
        .trusted = persons(), .approvals = files_.path() + "approvals", .environment = "production"});
    governor_ = std::make_shared<govern::Governor>(govern::GovernorOptions{.policy = read.policy,
                                                                           .trusted = persons(),
                                                                           .audit = audit_,
                                                                           .policy_event = read.event,
                                                                           .evidence = evidence});
    options.governor = governor_;
    service_.emplace(std::move(options));
  }
  std::vector<govern::Person> persons() const {
    return {{alice_.public_key(), "alice", {"risk"}}, {bob_.public_key(), "bob", {"risk"}}};
  }
  /// Approves the file that the folder has now, in the place of the served definition.
  void approve(const std::string& name, const govern::SigningKey& key, const std::string& parent,
               const std::string& model = "m") const {
    const std::string path = models_.path() + model + ".onnx";
    const auto loaded = api::Model::load(path);
    const govern::Approval approval{
        .kind = govern::Approval::Kind::usual,
        .subject = {.model = model,
                    .definition = loaded.digest(),
                    .parent = parent,
                    .files = {{model + ".onnx", govern::digest_text(govern::sha256(content_of(path)))}},
                    .report = govern::digest_of_report(govern::report_of(loaded, {})),
                    .policy = governor_->policy()->digest(),
                    .environment = "production"},
        .approver = name,
        .role = "risk",
        .issued = govern::moment_now() - 1,
        .not_after = govern::moment_now() + 3600};
    govern::write_file(files_.path() + "approvals/" + name + ".approval", govern::sign_approval(approval, key));
  }
  std::string digest_of(const char* model) const { return service_->models().find(model, "")->digest(); }
  std::string load(const char* model) {
    return reply_to(*service_,
                    {.method = "POST", .path = "/v2/repository/models/" + std::string(model) + "/load", .body = "{}"})
        .body;
  }
  server::Reply reload_policy() {
    return reply_to(*service_, {.method = "POST", .path = "/v2/repository/policy/load", .body = "{}"});
  }
  std::string ask_for(const std::string& model) {
    const auto outcome = ask(*service_, {.model = model, .inputs = {{"x", row({1, 2})}}}).get();
    return outcome ? "answered" : outcome.error().what();
  }
  /// Ends the service. Returns the events of these kinds.
  std::vector<govern::Json> events(const std::vector<std::string>& kinds) {
    service_.reset();
    audit_->close();
    std::vector<govern::Json> list;
    govern::read_log(files_.path() + "log", {.kinds = kinds}, [&](std::uint64_t, const std::string& entry) {
      list.push_back(govern::parse_json(entry, "entry"));
    });
    govern::VerifyOptions options;
    options.policy =
        govern::WitnessPolicy::of_logs({{kChangesOrigin, govern::SignatureType::ed25519, key_.public_key()}});
    const govern::VerifyReport report = govern::verify_log(files_.path() + "log", options);
    EXPECT_TRUE(report.ok()) << report.json().dump();
    return list;
  }
  /// Returns "kind model rule" of the events of changes.
  std::vector<std::string> changes() {
    std::vector<std::string> lines;
    for (const govern::Json& event : events({"load", "publish", "edit", "approval", "refuse"})) {
      lines.push_back(event["kind"].get<std::string>() + " " + event.value("model", event.value("actor", "")) + " " +
                      event.value("rule", ""));
    }
    return lines;
  }

  Folder models_, files_;
  const govern::SigningKey key_ = govern::SigningKey::generate(govern::KeyKind::ed25519),
                           alice_ = govern::SigningKey::generate(govern::KeyKind::ed25519),
                           bob_ = govern::SigningKey::generate(govern::KeyKind::ed25519);
  std::shared_ptr<govern::AuditLog> audit_;
  std::shared_ptr<govern::Governor> governor_;
  std::optional<server::Service> service_;
};

TEST_F(GovernedChanges, AReplacedDefinitionIsAPublicationThatNeedsItsApprovals) {
  models_.add("m", kTriple);
  serve(kNeedsApprovals);
  const std::string before = digest_of("m");
  EXPECT_EQ(load("m"), "{}") << "the same definition";
  models_.add("m", kDouble);
  EXPECT_THAT(load("m"), HasSubstr("rule 'unapproved': two approvals are missing"));
  approve("alice", alice_, before);
  EXPECT_THAT(load("m"), HasSubstr("two approvals are missing"));
  approve("bob", bob_, "sha256:" + std::string(64, '0'));
  EXPECT_THAT(load("m"), HasSubstr("two approvals are missing")) << "for another parent";
  EXPECT_EQ(digest_of("m"), before);
  EXPECT_EQ(ask_for("m"), "answered");
  approve("bob", bob_, before);
  EXPECT_EQ(load("m"), "{}");
  EXPECT_NE(digest_of("m"), before);
  EXPECT_EQ(ask_for("m"), "answered");
  const auto all = events({"publish", "refuse"});
  ASSERT_EQ(all.size(), 4u);
  EXPECT_THAT(all[2].dump(), HasSubstr("bob.approval: its parent is sha256:000"));
  EXPECT_EQ(all[2]["parent"], before) << "what officers approve";
  EXPECT_EQ(all[3]["kind"], "publish");
  EXPECT_EQ(all[3]["parent"], before);
  EXPECT_EQ(all[3]["approvals"]["counted"].size(), 2u);
}

TEST_F(GovernedChanges, EventsOfAPublication) {
  models_.add("m", kTriple);
  serve(kNeedsApprovals);
  const std::string before = digest_of("m");
  models_.add("m", kDouble);
  approve("alice", alice_, before);
  approve("bob", bob_, before);
  EXPECT_EQ(load("m"), "{}");
  EXPECT_THAT(changes(), ElementsAre("load m usual", "approval alice ", "approval bob ", "publish m usual"));
}

TEST_F(GovernedChanges, ANewVersionAndAReloadOverAnEditArePublications) {
  models_.add("m/1", kTriple);
  serve(R"(forbid no_exp on publish when "Exp" in diff.added_operators reason "no Exp";)");
  models_.add("m/2", kChangedToExp);
  EXPECT_THAT(load("m"), HasSubstr("rule 'no_exp': no Exp"));
  std::filesystem::remove_all(models_.path() + "m/2");
  service_->registry().get("m").edit({"ada", ""},
                                     [](api::Patch& patch) { patch.replace("y", patch.op("Exp", {patch.tap("y")})); });
  EXPECT_EQ(load("m"), "{}");
  EXPECT_THAT(changes(), ElementsAre("load m usual", "refuse m no_exp", "edit m usual", "publish m usual"));
}

constexpr const char* kShortRoute =
    "inputs: {x: 'f32[N,2]'}\nsteps:\n  - {name: out, model: m, inputs: {x: x}}\noutputs: {y: out.y}\n";
constexpr const char* kLongRoute =
    "inputs: {x: 'f32[N,2]'}\nsteps:\n  - {name: a, model: m, inputs: {x: x}}\n"
    "  - {name: out, model: other, inputs: {x: a.y}}\noutputs: {y: out.y}\n";

TEST_F(GovernedChanges, AnotherFileOfAPipelineIsAPublicationAndAnotherModelALoad) {
  models_.add("m", kTriple);
  models_.add("other", kTriple);
  models_.write("p.yaml", kShortRoute);
  serve("forbid no_more on publish when size(diff.added_models) > 0 reason \"no more models\";");
  models_.add("m", kDouble);
  EXPECT_EQ(load("m"), "{}");
  EXPECT_EQ(ask_for("p"), "answered");
  models_.write("p.yaml", kLongRoute);
  EXPECT_THAT(load("p"), HasSubstr("the policy refuses pipeline 'p': rule 'no_more': no more models"));
  EXPECT_EQ(ask_for("p"), "answered");
  EXPECT_THAT(changes(), ElementsAre("load m usual", "load other usual", "load p usual", "publish m usual",
                                     "load p usual", "refuse p no_more"));
}

TEST_F(GovernedChanges, ALoadThatFailsLaterIsNotInTheLog) {
  models_.add("m", kTriple);
  models_.write("p.yaml", kShortRoute);
  serve("");
  models_.add("m", "graph g(%x: f32[N,2]) { %y = Neg(%x) return z = %y }");
  EXPECT_THAT(load("m"), HasSubstr("p.yaml")) << "the pipeline needs output y";
  EXPECT_EQ(ask_for("m"), "answered");
  EXPECT_THAT(changes(), ElementsAre("load m usual", "load p usual", "refuse m reader"));
}

TEST_F(GovernedChanges, ThePolicyIsReadAgainWhileRequestsRun) {
  models_.add("m", kTriple);
  serve("");
  std::atomic<bool> done = false;
  std::atomic<int> answered = 0, refused = 0;
  std::thread asking([&] {
    while (!done) ++(ask_for("m") == "answered" ? answered : refused);
  });
  for (std::uint64_t serial = 2; serial < 40; ++serial) {
    write_policy(serial, "forbid none on run when model == \"n" + std::to_string(serial) + "\" reason \"x\";");
    EXPECT_EQ(reload_policy().status, Http::ok);
    EXPECT_EQ(governor_->policy()->serial(), serial);
  }
  done = true;
  asking.join();
  EXPECT_EQ(refused, 0);
  EXPECT_GT(answered, 0);
  write_policy(40, "forbid closed on run reason \"closed\";");
  EXPECT_THAT(reload_policy().body, HasSubstr(R"({"changed":true,"policy":"sha256:)"));
  EXPECT_THAT(ask_for("m"), HasSubstr("rule 'closed': closed"));
  EXPECT_THAT(reload_policy().body, HasSubstr(R"({"changed":false,)"));
  EXPECT_EQ(events({"policy"}).size(), 40u);
}

TEST_F(GovernedChanges, APolicyThatCannotBeReadChangesNothing) {
  models_.add("m", kTriple);
  serve("");
  const struct {
    std::string text, why;
  } cases[] = {{"policy \"p\" serial 2;\npermit x on run when y reason \"x\";", "p.policy:2:22: "},
               {"policy \"other\" serial 2;\npermit x on run reason \"x\";", "expected one of the name 'p'"},
               {"policy \"p\" serial 1;\npermit x on run reason \"x\";", "expected a serial above 1, got 1"},
               {"policy \"p\" serial 2 until \"2020-01-01T00:00:00Z\";", "policy 'p' has expired"}};
  for (const auto& one : cases) {
    files_.write("p.policy", one.text);
    const server::Reply reply = reload_policy();
    EXPECT_EQ(reply.status, Http::bad_request);
    EXPECT_THAT(reply.body, HasSubstr(one.why));
    EXPECT_EQ(ask_for("m"), "answered");
  }
  EXPECT_EQ(events({"policy"}).size(), 1u);
}

TEST_F(GovernedChanges, RequestsReferToTheKeptDecision) {
  models_.add("m", kTriple);
  serve("");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask_for("m"), "answered");
  const auto before = governor_->policy();
  const auto all = events({"request", "decide"});
  const std::string decision = all.back()["decision"];
  EXPECT_EQ(std::ranges::count_if(all, [&](const auto& event) { return event["decision"] == decision; }), 4);
  const auto after =
      govern::Policy::read("policy \"p\" serial 2;\nforbid m on run when model == \"m\" reason \"x\";", "q");
  const auto diff = govern::diff_on_log(*before, *after, {.log = files_.path() + "log"});
  EXPECT_EQ(diff.without_input, 0u);
  const auto run = std::ranges::find(diff.groups, govern::Hook::run, &govern::PolicyDiff::Group::hook);
  ASSERT_NE(run, diff.groups.end());
  EXPECT_EQ(run->requests, 3u);
  EXPECT_EQ(run->after, "forbidden by 'm'");
}

TEST_F(GovernedChanges, StepsThatAnEventCannotHoldAreLeftOut) {
  constexpr int kSteps = 150;
  models_.add("m", kTriple);
  std::string text = "inputs: {x: 'f32[N,2]'}\nsteps:\n", from = "x";
  for (int i = 0; i < kSteps; ++i) {
    const std::string name = std::string(500, 's') + std::to_string(i);
    text += "  - {name: " + name + ", model: m, inputs: {x: " + std::exchange(from, name + ".y") + "}}\n";
  }
  models_.write("p.yaml", text + "outputs: {y: " + from + "}\n");
  serve("");
  EXPECT_EQ(ask_for("p"), "answered");
  const auto all = events({"request", "gap"});
  ASSERT_EQ(all.size(), 1u);
  const govern::Json& steps = all[0]["steps"];
  EXPECT_GT(steps.size(), 50u);
  EXPECT_EQ(steps.back()["kind"], "left out");
  EXPECT_EQ(steps.back()["taken"], std::to_string(kSteps - steps.size() + 1) + " steps");
}

}  // namespace
}  // namespace frazil::test
