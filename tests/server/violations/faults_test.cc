// Faults in deciding: none may permit.
#include <frazil/frazil.h>

#include "govern/audit/audit_log.h"
#include "server/access/gate.h"
#include "server/net/external_gate.h"
#include "server/service/config_policy.h"
#include "server/service/request_policy.h"
#include "server/violations/served.h"

namespace frazil::test {
namespace {

using govern::Governor;
using govern::GovernorOptions;
using govern::Hook;
using govern::Policy;

constexpr const char* kAbs = "graph g(%x: f32[N]) { %y = Abs(%x) return y = %y }";

std::int64_t now_of_test = 1;

/// A door, and an attempt to pass it that returns whether it was permitted.
struct Door {
  const char* hook;
  const char* text;  ///< a field with a text
  std::function<bool(const std::shared_ptr<Governor>&)> passes;
};

template <class F>
bool no_error(F f) {
  return result_of(f) == "permitted";
}

/// Returns whether a door permits. An exception is a rejection.
bool passes(const Door& door, const std::shared_ptr<Governor>& by) try {
  return door.passes(by);
} catch (const std::exception&) {
  return false;
}

bool edits(const std::shared_ptr<Governor>& by, const std::string& author) {
  return no_error([&] {
    LiveModel live(Model::from_text(kAbs, {}, {.policy = by->for_process()}));
    live.edit({author, ""}, [](Patch& patch) { patch.replace("y", patch.op("Neg", {patch.tap("y")})); });
  });
}

bool publishes(const std::shared_ptr<Governor>& by, bool rolls_back) {
  return no_error([&] {
    LiveModel live(Model::from_text(kAbs, {}, {.policy = by->for_process()}));
    live.publish(Model::from_text("graph g(%x: f32[N]) { %y = Neg(%x) return y = %y }"), {"ada", ""});
    if (rolls_back) live.roll_back(1, {"ada", ""});
  });
}

class Faults : public Seeded {
 protected:
  Faults() {
    add("small", kDouble);
    server::ServiceOptions options = options_of(folder_);
    service_.emplace(std::move(options));
    api::Model::from_text(kAbs).save(files_.path() + "m.onnx");
  }
  bool loads(const std::shared_ptr<Governor>& by) const {
    return no_error([&] { (void)Model::load(files_.path() + "m.onnx", {.policy = by->for_model({"m", "1"})}); });
  }
  bool runs(const std::shared_ptr<Governor>& by, bool names_version, const std::string& parameter = "") const {
    server::Call call{.arrived = server::Clock::now(), .explicit_version = names_version};
    if (!parameter.empty()) call.request.parameters = {{"p", parameter}};
    return !server::refusal_by_policy(call, *service_->models().find("small", ""), *by);
  }
  static bool changes_config(const std::shared_ptr<Governor>& by, const std::string& value) {
    const server::ServerConfig before;
    server::ServerConfig after;
    after.settings["paths.ring"] = value;
    return no_error([&] { server::PermittedChange(by, server::config_question(before, after, "ops")).done(); });
  }
  static bool administers(const std::shared_ptr<Governor>& by, const std::string& model) {
    const server::Tenants tenants({});
    const server::Gate gate(tenants, {}, by);
    return no_error([&] { gate.check_action(server::control_rule("load"), {}, model); });
  }

  /// The doors. Each attempt passes all hooks before its own.
  const std::vector<Door> doors_ = {
      {"file", "path", [this](const auto& by) { return loads(by); }},
      {"load", "model", [this](const auto& by) { return loads(by); }},
      {"edit", "model", [](const auto& by) { return edits(by, "ada"); }},
      {"publish", "model", [](const auto& by) { return publishes(by, false); }},
      {"roll_back", "model", [](const auto& by) { return publishes(by, true); }},
      {"register", "name", [](const auto& by) { return !by->check_register({.kind = "operator", .name = "a.B"}); }},
      {"dispatch", "model", [this](const auto& by) { return runs(by, true); }},
      {"external", "host", [](const auto& by) { return !by->check_external({.kind = "http", .host = "h"}, {}); }},
      {"run", "model", [this](const auto& by) { return runs(by, false); }},
      {"config", "user", [](const auto& by) { return changes_config(by, "5"); }},
      {"admin", "action", [](const auto& by) { return administers(by, "small"); }},
  };
};

/// Returns rules that permit everything at all hooks but one.
std::string permit_but(const std::string& hook) {
  std::string hooks;
  for (const govern::HookInfo& info : govern::hooks()) {
    if (info.name != hook) (hooks += hooks.empty() ? "" : ", ") += info.name;
  }
  return "permit others on " + hooks + " when true reason \"\";\n";
}
std::shared_ptr<const Policy> policy_of(const std::string& rules, const std::string& head = "") {
  return Policy::read("policy \"faults\" serial 1" + head + ";\n" + rules, "faults.policy");
}

/// 11 doors x 5 faults of rules, and of what is called while deciding.
TEST_F(Faults, OfRulesPermitNothingAtAnyDoor) {
  const std::string permit = "permit usual on HOOK when true reason \"\";\n";
  struct Row {
    const char* fault;
    std::string rules;
  };
  const Row kRows[] = {
      {"no rule", ""},
      {"a permit that does not match", "permit p on HOOK when TEXT == \"none\" reason \"\";\n"},
      {"a permit with an error", "permit p on HOOK when [1][int(TEXT + \"x\")] == 1 reason \"\";\n"},
      {"a forbid with an error", permit + "forbid f on HOOK when int(TEXT + \"x\") == 1 reason \"\";\n"},
      {"a shadow rule whose report throws", permit + "forbid f on HOOK mode shadow when true reason \"\";\n"},
  };
  std::size_t faults = 0;
  for (const Door& door : doors_) {
    const auto governor_with = [&](std::string rules) {
      for (std::size_t at; (at = rules.find("HOOK")) != std::string::npos;) rules.replace(at, 4, door.hook);
      for (std::size_t at; (at = rules.find("TEXT")) != std::string::npos;) rules.replace(at, 4, door.text);
      return std::make_shared<Governor>(
          GovernorOptions{.policy = policy_of(permit_but(door.hook) + rules),
                          .warn = [](std::string_view) { throw std::runtime_error("the log is gone"); }});
    };
    EXPECT_TRUE(passes(door, governor_with(permit))) << door.hook;
    for (const Row& row : kRows) {
      EXPECT_FALSE(passes(door, governor_with(row.rules))) << door.hook << ": " << row.fault;
      ++faults;
    }
  }
  EXPECT_EQ(faults, 55U);
}

/// 11 doors: the policy expires after it was read, and after its permits were kept.
TEST_F(Faults, AnExpiredPolicyPermitsNothingAtAnyDoor) {
  for (const Door& door : doors_) {
    now_of_test = 1;
    const auto by = std::make_shared<Governor>(GovernorOptions{
        .policy = policy_of(permit_but(""), " until \"2001-01-01T00:00:00Z\""), .now = [] { return now_of_test; }});
    EXPECT_TRUE(passes(door, by)) << door.hook;
    now_of_test = 1'000'000'000;
    EXPECT_FALSE(passes(door, by)) << door.hook;
    EXPECT_EQ(by->in_force(), 0U);
  }
}

/// 7 doors whose passing is recorded first: the log is closed, as if the disk was full.
TEST_F(Faults, WhatCannotBeRecordedIsNotPermitted) {
  const std::set<std::string> recorded = {"load", "edit", "publish", "roll_back", "register", "config", "admin"};
  for (const Door& door : doors_) {
    if (!recorded.contains(door.hook)) continue;
    const Folder log;
    const auto audit = std::make_shared<govern::AuditLog>(
        govern::AuditOptions{.folder = log.path() + "log",
                             .origin = "example.org/faults",
                             .key = govern::SigningKey::generate(govern::KeyKind::ed25519)});
    const auto by = std::make_shared<Governor>(GovernorOptions{.policy = policy_of(permit_but("")), .audit = audit});
    EXPECT_TRUE(passes(door, by)) << door.hook;
    audit->close();
    EXPECT_FALSE(passes(door, by)) << door.hook;
  }
}

/// 7 inputs beyond their bounds.
TEST_F(Faults, InputsBeyondTheirBoundsPermitNothing) {
  const std::string rule = "forbid f on run when has(parameters.x) reason \"\";\n";
  const auto by = std::make_shared<Governor>(GovernorOptions{.policy = policy_of(permit_but("") + rule)});
  const std::string longest(256, 'a'), longer(257, 'a');
  const auto external = [&](const std::string& host) {
    return !by->check_external({.kind = "http", .host = host}, {});
  };
  const auto asks = [&](const std::string& name) { return !by->check_register({.kind = "operator", .name = name}); };
  EXPECT_TRUE(external(longest) && asks(longest) && administers(by, longest) && edits(by, longest));
  EXPECT_TRUE(runs(by, false, std::string(1024, 'a')) && changes_config(by, std::string(4096, '1')));
  EXPECT_FALSE(external(longer));
  EXPECT_FALSE(no_error([&] { EXPECT_FALSE(asks(longer)); }));
  EXPECT_FALSE(administers(by, longer));
  EXPECT_FALSE(edits(by, longer));
  EXPECT_FALSE(runs(by, false, std::string(1025, 'a')));
  EXPECT_FALSE(changes_config(by, std::string(4097, '1')));
  server::Call call{.arrived = server::Clock::now()};
  for (int i = 0; i < 65; ++i) call.request.parameters.emplace("p" + std::to_string(i), true);
  EXPECT_TRUE(server::refusal_by_policy(call, *service_->models().find("small", ""), *by));
}

/// 3 exceptions where a question is made or a check is called.
TEST_F(Faults, ExceptionsPermitNothing) {
  const auto by = std::make_shared<Governor>(GovernorOptions{.policy = policy_of(permit_but(""))});
  govern::KeptDecisions kept;
  const auto make = [](bool) -> govern::RunQuestion { throw std::bad_alloc(); };
  EXPECT_THROW((void)by->check_run(kept, {}, make), std::bad_alloc);
  EXPECT_FALSE(kept.permits(by->in_force(), 0));
  const server::MayUse throws = [](const server::PeerAddress&) -> std::optional<std::string> { throw 1; };
  EXPECT_TRUE(server::rejection_by(throws, {}));
}

}  // namespace
}  // namespace frazil::test
