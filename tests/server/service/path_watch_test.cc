// What a policy and an audit log see of all paths of a served pipeline, and of the paths that are recorded.
#include "server/service/path_watch.h"

#include <gmock/gmock.h>

#include "govern/audit/audit_log.h"
#include "govern/audit/log_reader.h"
#include "govern/audit/verify.h"
#include "govern/gate/governor.h"
#include "govern/report/report.h"
#include "server/asked.h"

namespace frazil::test {
namespace {

using govern::Json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kPathsOrigin = "example.org/paths";

constexpr const char* kLoan =
    "inputs: {x: 'f32[N,2]', zip: 'f32[N,2]'}\n"
    "steps:\n"
    "  - {name: fair, model: check, inputs: {x: x}}\n"
    "  - name: out\n"
    "    switch:\n"
    "      - {name: big, when: \"param('tier', 'basic') == 'gold'\", model: large, inputs: {x: x}}\n"
    "      - {name: small, model: approve, inputs: {x: x}}\n"
    "outputs: {y: out.y}\n";

class WatchedPaths : public testing::Test {
 protected:
  WatchedPaths() {
    for (const char* const name : {"check", "large", "approve"}) folder_.add(name, kTriple);
  }

  /// Serves the folder under rules that permit everything but `forbids`. Returns the error, or "served".
  std::string serve(const std::string& forbids) try {
    audit_ = std::make_shared<govern::AuditLog>(
        govern::AuditOptions{.folder = log_.path(), .origin = kPathsOrigin, .key = key_});
    audit_->append_durable({{"kind", "boot"}, {"build", "test"}});
    const std::string usual =
        "permit usual on file, load, edit, publish, roll_back, dispatch, run, register when true reason \"usual\";\n";
    server::ServiceOptions options = options_of(folder_);
    options.workers = 2;
    options.notify = [this](const server::Notice& notice) { noticed_ += notice.subject + ": " + notice.text + "\n"; };
    options.audit = audit_;
    options.governor = std::make_shared<govern::Governor>(govern::GovernorOptions{
        .policy = govern::Policy::read("policy \"paths\" serial 1;\n" + usual + forbids, "paths.policy"),
        .audit = audit_,
        .extents = {{"N", {1, 4}}}});
    service_.emplace(std::move(options));
    return "served";
  } catch (const api::Error& error) {
    return error.what();
  }

  govern::VerifyReport verified() {
    service_.reset();
    audit_->close();
    govern::VerifyOptions options;
    options.policy =
        govern::WitnessPolicy::of_logs({{kPathsOrigin, govern::SignatureType::ed25519, key_.public_key()}});
    options.reports = [](const Json& report, const std::string& model, const std::string& version) {
      return [check = govern::PathCheck(report, model, version)](const Json& steps, std::optional<std::uint64_t>) {
        return govern::ComparedPath{check.outside(govern::observed_steps(steps)), false};
      };
    };
    return govern::verify_log(log_.path(), options);
  }

  Folder folder_, log_;
  govern::SigningKey key_ = govern::SigningKey::generate(govern::KeyKind::ed25519);
  std::shared_ptr<govern::AuditLog> audit_;
  std::string noticed_;
  std::optional<server::Service> service_;
};

TEST_F(WatchedPaths, RulesReadInfluenceAndDominance) {
  folder_.write("loan.yaml", kLoan);
  const struct {
    const char* rule;
    const char* result;
  } cases[] = {
      {R"(forbid r on load when report.influences.exists(i, i.from.startsWith("parameter:") && i.how == "chooses" &&
          i.to.startsWith("model:large/")) reason "clients may not choose large";)",
       "rule 'r': clients may not choose large"},
      {R"(forbid r on load when report.influences.exists(i, i.from == "parameter:tier" && i.how == "chooses" &&
          i.to.startsWith("model:check/")) reason "never";)",
       "served"},
      {R"(forbid r on load when report.influences.exists(i, i.from == "tensor:zip" && i.to.startsWith("model:"))
          reason "the zip code may not reach a model";)",
       "served"},
      {R"(forbid r on load when report.influences.exists(i, i.from == "tensor:x" && i.how == "reaches" &&
          i.to.startsWith("model:approve/")) reason "x reaches approve";)",
       "rule 'r': x reaches approve"},
      {R"(forbid r on load when !report.passes.all(p, !p.to.startsWith("model:approve/") ||
          p.always.exists(a, a.startsWith("model:check/"))) reason "every loan is checked";)",
       "served"},
      {R"(forbid r on load when !report.passes.all(p, !p.to.startsWith("model:approve/") ||
          p.always.exists(a, a.startsWith("model:large/"))) reason "not every loan passes large";)",
       "rule 'r': not every loan passes large"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(serve(c.rule), HasSubstr(c.result)) << c.rule;
    service_.reset();
    audit_->close();
    std::filesystem::remove_all(log_.path());
  }
}

TEST_F(WatchedPaths, APathWithinTheReportIsSilent) {
  folder_.write("loan.yaml", kLoan);
  ASSERT_EQ(serve(""), "served");
  const auto& statistics = service_->models().find("loan", "")->statistics();
  const auto outcome = ask(*service_, {.model = "loan", .inputs = {{"x", row({1, 2})}, {"zip", row({1, 2})}}}).get();
  EXPECT_THAT(floats_of(outcome), ElementsAre(3, 6));
  EXPECT_EQ(statistics.outside, 0U);
  EXPECT_TRUE(verified().ok());
}

TEST_F(WatchedPaths, APathOutsideIsCountedReportedAndRecorded) {
  ASSERT_EQ(serve(""), "served");
  const auto target = service_->models().find("check", "");
  const Json report = govern::report_of(api::Model::from_text(kTriple), {});
  const auto other = std::make_shared<const govern::PathCheck>(report, "check", "2");
  std::promise<void> answered;
  server::Call call{.caller = std::make_shared<server::Caller>(), .arrived = server::Clock::now(), .target = target};
  call.path = std::make_shared<server::PathRecord>(call.arrived);
  call.request.inputs = {{"x", row({1, 2})}};
  call.done = [&](const server::Outcome& outcome) {
    EXPECT_TRUE(outcome);
    answered.set_value();
  };
  server::watch_path(call, *target, other, [this](const server::Notice& notice) { noticed_ += notice.text; }, audit_);
  target->infer(std::move(call));
  answered.get_future().get();
  EXPECT_EQ(target->statistics().outside, 1U);
  EXPECT_THAT(noticed_, HasSubstr("a request's path is not within the report of this version: node '': a run of "
                                  "'check' version '1'"));
  EXPECT_THAT(std::string(service_->metrics().body),
              HasSubstr("frazil_path_outside_total{model=\"check\",version=\"1\"} 1"));
  const govern::VerifyReport verified_log = verified();
  EXPECT_EQ(verified_log.kinds.at("alarm"), 1U);
  EXPECT_TRUE(verified_log.ok()) << verified_log.json().dump();
}

TEST_F(WatchedPaths, TheVerifierComparesStepsWithTheReportInTheLog) {
  folder_.write("loan.yaml", kLoan);
  ASSERT_EQ(serve(""), "served");
  const std::string definition = service_->models().find("loan", "")->digest();
  const auto request = [&](const Json& steps) {
    audit_->append_durable({{"kind", "request"},
                            {"model", "loan"},
                            {"version", "1"},
                            {"definition", definition},
                            {"status", "ok"},
                            {"ms", 1},
                            {"steps", steps}});
  };
  const Json fair = {{"node", "fair"}, {"kind", "run"}, {"model", "check"}, {"version", "1"}};
  const Json small = {{"node", "out"}, {"kind", "switch"}, {"taken", "small"}};
  request(Json::array({fair, small, {{"node", "out.small"}, {"kind", "run"}, {"model", "approve"}, {"version", "1"}}}));
  request(Json::array({fair, small, {{"node", "out.big"}, {"kind", "run"}, {"model", "large"}, {"version", "1"}}}));
  const govern::VerifyReport report = verified();
  ASSERT_EQ(report.findings.count(), 1U) << report.json().dump();
  EXPECT_EQ(report.findings.list()[0].check, "path");
  EXPECT_EQ(report.findings.list()[0].text, "node 'out.big': it ran although 'out' did not take 'big'");
  EXPECT_THAT(report.notes, testing::Contains("2 recorded paths were compared with reports"));
  if (!std::filesystem::exists(tool_path())) GTEST_SKIP() << kNoCommand;
  folder_.write("key.pub.pem", key_.public_key().pem());
  const Ended ended = run_tool({"audit", "verify", log_.path(), "--key", folder_.path() + "key.pub.pem"});
  EXPECT_EQ(ended.exit, 1) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("node 'out.big': it ran although 'out' did not take 'big'"));
}

}  // namespace
}  // namespace frazil::test
