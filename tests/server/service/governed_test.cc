// Served models and pipelines with a policy and an audit log.
#include <gmock/gmock.h>

#include "govern/audit/audit_log.h"
#include "govern/audit/log_reader.h"
#include "govern/audit/verify.h"
#include "govern/gate/governor.h"
#include "server/asked.h"
#include "server/config/config_yaml.h"
#include "server/http_test_client.h"
#include "server/rest_asked.h"

namespace frazil::test {
namespace {

using server::Http;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kExponential = "graph g(%x: f32[N,2]) { %y = Exp(%x) return y = %y }";
constexpr const char* kOrigin = "example.org/served";

class ServedGovernance : public testing::Test {
 protected:
  void open_log() {
    audit_ =
        std::make_shared<govern::AuditLog>(govern::AuditOptions{.folder = log_.path(), .origin = kOrigin, .key = key_});
    audit_->append_durable({{"kind", "boot"}, {"build", "test"}});
  }
  /// Serves the folder under rules that permit everything but `forbids`.
  void serve(const std::string& forbids) {
    open_log();
    const std::string usual =
        "permit usual on file, load, edit, publish, roll_back, dispatch, run, register, external, config, admin when "
        "true reason \"usual\";\n";
    server::ServiceOptions options = options_of(folder_);
    options.audit = audit_;
    options.governor = std::make_shared<govern::Governor>(govern::GovernorOptions{
        .policy = govern::Policy::read("policy \"served\" serial 1;\n" + usual + forbids, "served.policy"),
        .audit = audit_});
    if (!config_.empty()) {
      files_.write("frazil.yaml", config_);
      options.config_file = files_.path() + "frazil.yaml";
      options.config = server::read_server_config(options.config_file);
    }
    service_.emplace(std::move(options));
  }
  std::string message_of_serve(const std::string& forbids) {
    try {
      serve(forbids);
    } catch (const api::Error& error) {
      return error.what();
    }
    return "served";
  }
  std::string ask_for(const std::string& model) {
    const auto outcome = ask(*service_, {.model = model, .inputs = {{"x", row({1, 2})}}}).get();
    return outcome ? "answered" : outcome.error().what();
  }
  /// Ends the service and returns "kind model status-or-rule" of each event.
  std::vector<std::string> events() {
    service_.reset();
    audit_->close();
    std::vector<std::string> lines;
    govern::read_log(log_.path(), {}, [&](std::uint64_t, const std::string& entry) {
      const govern::Json event = govern::parse_json(entry, "entry");
      if (event.at("kind") == "decide") return;
      std::string line = event.at("kind");
      for (const char* member : {"action", "model", "rule", "status", "tenant", "actor"}) {
        if (event.contains(member)) line += " " + event.at(member).get<std::string>();
      }
      lines.push_back(line);
    });
    return lines;
  }
  void expect_valid_log() {
    govern::VerifyOptions options;
    options.policy = govern::WitnessPolicy::of_logs({{kOrigin, govern::SignatureType::ed25519, key_.public_key()}});
    const govern::VerifyReport report = govern::verify_log(log_.path(), options);
    EXPECT_TRUE(report.ok()) << report.json().dump();
  }

  Folder folder_, log_, files_;
  std::string config_;  ///< of the server; empty: none
  govern::SigningKey key_ = govern::SigningKey::generate(govern::KeyKind::ed25519);
  std::shared_ptr<govern::AuditLog> audit_;
  std::optional<server::Service> service_;
};

TEST_F(ServedGovernance, LoadsAndRequestsAreRecorded) {
  folder_.add("triple", kTriple);
  serve("");
  EXPECT_EQ(ask_for("triple"), "answered");
  const auto bad = ask(*service_, {.model = "triple", .inputs = {}}).get();
  EXPECT_FALSE(bad);
  EXPECT_THAT(events(), ElementsAre("boot", "policy", "load triple usual", "request triple ok", "request triple 400"));
  expect_valid_log();
}

TEST_F(ServedGovernance, WithoutAPolicyLoadsAreRecordedAsWell) {
  folder_.add("triple", kTriple);
  open_log();
  server::ServiceOptions options = options_of(folder_);
  options.audit = audit_;
  service_.emplace(std::move(options));
  EXPECT_EQ(ask_for("triple"), "answered");
  service_->models().load("triple");
  folder_.add("triple", kExponential);
  service_->models().load("triple");
  EXPECT_EQ(ask_for("triple"), "answered");
  EXPECT_THAT(events(),
              ElementsAre("boot", "load triple none", "request triple ok", "load triple none", "request triple ok"));
  expect_valid_log();
}

TEST_F(ServedGovernance, AModelThatThePolicyRefusesIsNotServed) {
  folder_.add("exponential", kExponential);
  EXPECT_THAT(message_of_serve(R"(forbid no_exp on load when "Exp" in report.operators reason "no Exp";)"),
              HasSubstr("the policy refuses model 'g': rule 'no_exp': no Exp"));
  EXPECT_THAT(events(), ElementsAre("boot", "policy", "refuse exponential no_exp"));
  expect_valid_log();
}

TEST_F(ServedGovernance, EditsOfServedModelsAreDecidedAndFollowed) {
  folder_.add("triple", kTriple);
  serve(R"(forbid no_exp on edit when "Exp" in diff.added_operators reason "no Exp";)");
  api::LiveModel live = service_->registry().get("triple");
  const auto add_op = [&](const char* op) {
    live.edit({"ada", op}, [&](api::Patch& patch) { patch.replace("y", patch.op(op, {patch.tap("y")})); });
  };
  EXPECT_THROW(add_op("Exp"), api::Error);
  EXPECT_EQ(ask_for("triple"), "answered");
  add_op("Neg");
  EXPECT_EQ(ask_for("triple"), "answered");
  EXPECT_THAT(events(), ElementsAre("boot", "policy", "load triple usual", "refuse triple no_exp", "request triple ok",
                                    "edit triple usual ada", "request triple ok"));
  expect_valid_log();
}

TEST_F(ServedGovernance, RefusalsSettingsAndAdministrationAreRecordedWithTheTenant) {
  folder_.add("triple", kTriple);
  config_ = "tenants:\n  - {name: shop, keys: [shop-key]}\n  - {name: ops, keys: [ops-key], admin: true}\n";
  serve(R"(forbid shops on run when tenant == "shop" reason "not the shop";)"
        R"(forbid no_replay on config when changes.exists(c, c.path == "network.replay") reason "no replays";)");
  const auto send = [&](const std::string& tenant, const std::string& path, const std::string& body) {
    const std::string authorization = "Bearer " + tenant + "-key";
    return static_cast<int>(
        reply_to(*service_, {.method = "POST", .path = path, .body = body, .authorization = authorization}).status);
  };
  EXPECT_EQ(send("shop", "/v2/models/triple/infer", std::string(kOne)), 403);
  EXPECT_EQ(send("ops", "/v2/models/triple/infer", std::string(kOne)), 200);
  files_.write("frazil.yaml", config_ + "network: {replay: true}\n");
  EXPECT_EQ(send("ops", "/v2/repository/config/load", ""), 403);
  files_.write("frazil.yaml", "tenants: [{name: ops, keys: [ops-key, new-key], admin: true}]\n");
  EXPECT_EQ(send("ops", "/v2/repository/config/load", ""), 200);
  EXPECT_THAT(events(),
              ElementsAre("boot", "policy", "tenant add shop", "tenant add ops", "config", "load triple usual",
                          "refuse triple shops shop", "request triple 403 shop", "request triple ok ops",
                          "admin reload_config ops", "refuse no_replay ops", "admin reload_config ops",
                          "tenant remove shop", "tenant change ops", "config ops"));
  expect_valid_log();
}

TEST_F(ServedGovernance, ASettingThatThePolicyRefusesEndsTheStart) {
  folder_.add("triple", kTriple);
  config_ = "network: {replay: true}\n";
  EXPECT_THROW(serve(R"(forbid no_replay on config when changes.exists(c, c.path == "network.replay") reason "no";)"),
               server::Refusal);
  EXPECT_THAT(events(), ElementsAre("boot", "policy", "refuse no_replay"));
}

/// A configuration that is permitted but does not fit the models leaves both facts in the log.
TEST_F(ServedGovernance, AChangeThatCannotBeAppliedIsRecorded) {
  folder_.add("triple", kTriple);
  config_ = "paths: {ring: 5}\n";
  serve("");
  files_.write("frazil.yaml", "models: {none: {deadline_ms: 5}}\n");
  EXPECT_THROW(service_->reload_config(), server::Refusal);
  EXPECT_THAT(events(), ElementsAre("boot", "policy", "config", "load triple usual", "config", "config"));
  expect_valid_log();
}

TEST_F(ServedGovernance, ARunThatThePolicyRefusesIsAnsweredWithTheRule) {
  folder_.add("triple", kTriple);
  serve("forbid closed on run when true reason \"closed for today\";");
  EXPECT_THAT(ask_for("triple"), HasSubstr("rule 'closed': closed for today"));
}

}  // namespace
}  // namespace frazil::test
