#include "govern/gate/governor.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "govern/audit/log_reader.h"
#include "govern/audit/verify.h"
#include "govern/base/file.h"
#include "govern/sign/bundle.h"

// A policy file and an audit log at the hooks of the library.
namespace frazil::govern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string message_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::shared_ptr<const Policy> rules(const std::string& forbids, std::uint64_t serial = 1) {
  const std::string permits =
      "permit usual on file, load, edit, publish, roll_back, dispatch, run, register when true reason \"usual\";\n";
  return Policy::read("policy \"test\" serial " + std::to_string(serial) + ";\n" + permits + forbids, "test.policy");
}

class Governed : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("frazil_governor_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    audit_ = std::make_shared<AuditLog>(
        AuditOptions{.folder = (folder_ / "log").string(), .origin = "example.org/test", .key = key_});
    audit_->append_durable({{"kind", "boot"}, {"build", "test"}});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::shared_ptr<Governor> governor(const std::string& forbids) {
    return std::make_shared<Governor>(GovernorOptions{.policy = rules(forbids), .audit = audit_});
  }
  Model model(const std::string& op, const std::shared_ptr<Governor>& by) {
    return Model::from_text("graph g(%x: f32[N]) { %y = " + op + "(%x) return y = %y }", {},
                            {.policy = by->for_process()});
  }
  /// Returns "kind rule" of each event of the log.
  std::vector<std::string> events() {
    audit_->close();
    std::vector<std::string> lines;
    read_log((folder_ / "log").string(), {}, [&](std::uint64_t, const std::string& entry) {
      const Json event = parse_json(entry, "entry");
      lines.push_back(event.at("kind").get<std::string>() +
                      (event.contains("rule") ? " " + event.at("rule").get<std::string>() : ""));
    });
    return lines;
  }

  std::filesystem::path folder_;
  SigningKey key_ = SigningKey::generate(KeyKind::ed25519);
  std::shared_ptr<AuditLog> audit_;
};

TEST_F(Governed, LoadsAndEditsAreDecidedAndRecorded) {
  const auto by = governor(R"(forbid no_exp on load, edit when "Exp" in report.operators reason "no Exp";)");
  LiveModel live(model("Neg", by));
  live.edit({"ada", "abs"}, [](Patch& patch) { patch.replace("y", patch.op("Abs", {patch.tap("y")})); });
  const auto add_exp = [&] {
    live.edit({"bob", ""}, [](Patch& patch) { patch.replace("y", patch.op("Exp", {patch.tap("y")})); });
  };
  EXPECT_EQ(message_of(add_exp), "the policy refuses to edit 'g': rule 'no_exp': no Exp");
  EXPECT_EQ(live.current().number, 2u);
  EXPECT_THAT(events(), ElementsAre("boot", "policy", "load usual", "edit usual", "refuse no_exp"));
}

TEST_F(Governed, AFileIsRefusedByItsOperatorsBeforeItsTypes) {
  const auto by = governor("forbid no_neg on file when operators.exists(o, o.name == \"Neg\") reason \"no Neg\";");
  const std::string path = (folder_ / "m.onnx").string();
  Model::from_text("graph g(%x: f32[N]) { %y = Neg(%x) return y = %y }").save(path);
  EXPECT_THAT(message_of([&] { Model::load(path, {.policy = by->for_process()}); }),
              HasSubstr("the policy refuses the file: rule 'no_neg': no Neg"));
  EXPECT_THAT(events(), ElementsAre("boot", "policy", "refuse no_neg"));
}

TEST_F(Governed, RunsAreDecidedOnceForEachPolicy) {
  const auto by = governor("");
  const Model negation = model("Neg", by);
  const auto run = [&] { negation.run({{"x", Array::of<float>({1}, {1})}}); };
  run();
  by->replace(rules("forbid closed on run when model == \"g\" reason \"closed\";", 2));
  EXPECT_EQ(message_of(run), "the policy refuses to run 'g': rule 'closed': closed");
  EXPECT_EQ(message_of(run), "the policy refuses to run 'g': rule 'closed': closed");
  EXPECT_EQ(message_of([&] { by->replace(rules("", 2)); }), "policy 'test': expected a serial above 2, got 2");
  EXPECT_THAT(events(), ElementsAre("boot", "policy", "load usual", "decide usual", "policy", "refuse closed"));
}

TEST_F(Governed, WithoutAMatchingRuleNothingIsPermitted) {
  const auto policy = Policy::read("policy \"empty\" serial 1;", "empty.policy");
  const auto by = std::make_shared<Governor>(GovernorOptions{.policy = policy});
  EXPECT_EQ(message_of([&] { model("Neg", by); }), "the policy refuses model 'g': no rule of the policy permits it");
}

TEST_F(Governed, AFieldThatIsNotKnownDenies) {
  const auto by = governor("forbid few on edit when approvals.count < 2 reason \"too few approvals\";");
  const Model from = model("Neg", by);
  Patch patch(from, "p");
  patch.replace("y", patch.op("Abs", {patch.tap("y")}));
  EXPECT_THAT(message_of([&] { patch.commit(); }), HasSubstr("the policy could not decide: rule 'few' failed"));
}

TEST_F(Governed, OnlyFilesThatAreSignedAndUnchangedAreLoaded) {
  const SigningKey release = SigningKey::generate(KeyKind::ecdsa_p256);
  const std::string models = (folder_ / "models").string(), path = models + "/m.onnx";
  std::filesystem::create_directories(models);
  GraphBuilder graph("m");
  const Term x = graph.input("x", Dtype::f32, {64, 16});
  graph.output("y", graph.op("Add", {x, graph.constant(Array(Dtype::f32, {64, 16}), "w")}));
  graph.build().save(path, {.external_bytes = 1});
  const auto sign = [&](const SigningKey& key) {
    const std::string bundle = default_bundle_path(models);
    std::filesystem::remove(bundle);
    write_file(bundle, sign_folder(models, key, bundle));
  };
  const auto by = std::make_shared<Governor>(
      GovernorOptions{.policy = rules("forbid unsigned on file, load when !signature.valid reason \"not signed\";"),
                      .trusted = {{release.public_key(), "release", {}}}});
  const auto load = [&] { return message_of([&] { Model::load(path, {.policy = by->for_model({"m", "1"})}); }); };
  EXPECT_THAT(load(), HasSubstr("rule 'unsigned': not signed"));
  sign(release);
  EXPECT_EQ(load(), "no error");
  std::ofstream(path + ".data", std::ios::in | std::ios::out | std::ios::binary) << 'x';
  EXPECT_THAT(load(), HasSubstr("rule 'unsigned': not signed"));
  sign(release);
  EXPECT_EQ(load(), "no error");
  std::ofstream(models + "/more") << "an unsigned file";
  EXPECT_THAT(load(), HasSubstr("rule 'unsigned': not signed"));
  sign(SigningKey::generate(KeyKind::ecdsa_p256));
  EXPECT_THAT(load(), HasSubstr("rule 'unsigned': not signed"));
}

TEST_F(Governed, TheLogOfAGovernedProcessVerifies) {
  const auto by = governor("");
  LiveModel live(model("Neg", by));
  live.edit({"ada", ""}, [](Patch& patch) { patch.replace("y", patch.op("Abs", {patch.tap("y")})); });
  live.roll_back(1, {"ada", ""});
  audit_->append_durable({{"kind", "shutdown"}});
  audit_->close();
  VerifyOptions options;
  options.policy = WitnessPolicy::of_logs({{"example.org/test", SignatureType::ed25519, key_.public_key()}});
  const VerifyReport report = verify_log((folder_ / "log").string(), options);
  EXPECT_TRUE(report.ok()) << report.json().dump();
}

}  // namespace
}  // namespace frazil::govern
