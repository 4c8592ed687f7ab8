#include "govern/gate/governor.h"

#include <mutex>
#include <utility>

#include "govern/base/error.h"
#include "govern/gate/facts.h"

namespace frazil::govern {
namespace {

constexpr std::size_t kMostBounds = 65'536;

/// Returns a number that no governor of the process has used, so that kept permits of one never hold for another.
std::uint32_t next_edition() {
  static std::atomic<std::uint32_t> last = 0;
  return ++last;
}

void check_valid(const std::shared_ptr<const Policy>& rules, std::int64_t now) {
  if (rules == nullptr) fail(Code::bad_input, "there is no policy");
  if (rules->has_expired(now)) fail(Code::bad_input, "policy '{}' has expired", rules->name());
}

/// Returns what the caller of a rejected action sees.
std::string rejection_text(const Decision& decision) {
  if (decision.cause == Cause::no_rule) return "no rule of the policy permits it";
  if (decision.cause == Cause::could_not_decide) {
    return decision.rule.empty() ? "the policy could not decide"
                                 : fmt::format("the policy could not decide: rule '{}' failed", decision.rule);
  }
  return fmt::format("rule '{}': {}", decision.rule, decision.reason);
}

/// Returns whether a refusal of the hook is recorded before it is returned. Requests would wait for the disk; their
/// refusals are written soon after.
bool is_durable(Hook hook) { return hook != Hook::run && hook != Hook::dispatch && hook != Hook::external; }

void record(const std::shared_ptr<AuditLog>& audit, Json event) {
  if (audit != nullptr) audit->append_durable(std::move(event));
}

void record_soon(const std::shared_ptr<AuditLog>& audit, Json event) {
  if (audit != nullptr) (void)audit->append(std::move(event));
}

std::optional<std::int64_t> integer_in(const Json& facts, const char* name) {
  const auto found = facts.find(name);
  return found == facts.end() ? std::nullopt : std::optional(found->get<std::int64_t>());
}

Json config_event(const ConfigQuestion& question, bool reversed) {
  Json change = Json::object();
  for (const ConfigQuestion::Setting& setting : question.changes) {
    Json& one = change[setting.path] = Json::object();
    const auto& [path, before, after] = setting;
    if (before) one[reversed ? "new" : "old"] = *before;
    if (after) one[reversed ? "old" : "new"] = *after;
  }
  Json event = {{"kind", "config"}, {"change", std::move(change)}};
  if (!question.user.empty()) event["actor"] = question.user;
  return event;
}

}  // namespace

Governor::Governor(GovernorOptions options) : options_(std::move(options)), rules_(options_.policy) {
  check_valid(rules_, options_.now());
  record(options_.audit, {{"kind", "policy"}, {"policy", rules_->digest()}, {"serial", rules_->serial()}});
  until_ = rules_->until().value_or(kNoExpiry);
  edition_ = next_edition();
}

void Governor::replace(std::shared_ptr<const Policy> policy) {
  check_valid(policy, options_.now());
  const std::unique_lock lock(mutex_);
  if (policy->name() != rules_->name()) {
    fail(Code::bad_input, "policy '{}': expected one of the name '{}'", policy->name(), rules_->name());
  }
  if (policy->serial() <= rules_->serial()) {
    fail(Code::bad_input, "policy '{}': expected a serial above {}, got {}", policy->name(), rules_->serial(),
         policy->serial());
  }
  record(options_.audit, {{"kind", "policy"}, {"policy", policy->digest()}, {"serial", policy->serial()}});
  rules_ = std::move(policy);
  until_ = rules_->until().value_or(kNoExpiry);
  edition_ = next_edition();
}

std::shared_ptr<const Policy> Governor::policy() const { return current().rules; }

Governor::InForce Governor::current() const {
  const std::shared_lock lock(mutex_);
  return {rules_, edition_.load(std::memory_order_relaxed)};
}

RunForecast Governor::bounds_of(std::string_view digest) const {
  const std::shared_lock lock(mutex_);
  const auto found = bounds_.find(digest);
  return found == bounds_.end() ? RunForecast() : found->second;
}

Governor::Verdict Governor::decide(const Policy& rules, const Input& input, const About& about) {
  const Hook hook = input.hook().value();
  Verdict verdict;
  if (rules.has_expired(options_.now())) {
    verdict = {fmt::format("policy '{}' has expired", rules.name()), "default"};
  } else {
    const Decision decision = rules.decide(input);
    if (decision.would && *decision.would != Cause::permitted && decision.permits() && options_.warn) {
      options_.warn(fmt::format("hook {} of '{}': a rule in mode shadow would refuse it", name_of(hook), about.model));
    }
    if (decision.permits()) return {std::nullopt, std::string(decision.rule)};
    verdict = {rejection_text(decision), decision.rule.empty() ? "default" : std::string(decision.rule)};
  }
  Json event = {{"kind", "refuse"},
                {"hook", name_of(hook)},
                {"rule", verdict.rule},
                {"policy", rules.digest()},
                {"reason", *verdict.reason}};
  if (!about.model.empty()) event["model"] = about.model;
  if (!about.tenant.empty()) event["tenant"] = about.tenant;
  (is_durable(hook) ? record : record_soon)(options_.audit, std::move(event));
  return verdict;
}

Governor::Rejection Governor::ask(const Input& input, std::string_view model) {
  return decide(*policy(), input, {.model = model}).reason;
}

Governor::Rejection Governor::decide_run(const InForce& now, KeptDecisions& kept, const TenantRef& tenant,
                                         const RunQuestion& question) {
  const auto& [rules, edition] = now;
  const bool per_request = rules->reads_request(Hook::run);
  Input input(Hook::run);
  fill(input, question, tenant.name, per_request);
  Verdict verdict = decide(*rules, input, {.model = question.model, .tenant = tenant.name});
  if (!verdict.reason && !per_request) kept.permit(edition, tenant.number);
  return std::move(verdict.reason);
}

Governor::Rejection Governor::decide_dispatch(KeptDecisions& kept, const TenantRef& tenant,
                                              const DispatchQuestion& question) {
  const auto [rules, edition] = current();
  Input input(Hook::dispatch);
  fill(input, question, tenant.name);
  Verdict verdict = decide(*rules, input, {.model = question.model, .tenant = tenant.name});
  if (!verdict.reason && !rules->reads_request(Hook::dispatch)) kept.permit(edition, tenant.number);
  return std::move(verdict.reason);
}

Governor::Rejection Governor::check_external(const ExternalQuestion& question, const TenantRef& tenant) {
  Input input(Hook::external);
  fill(input, question, tenant.name);
  return decide(*policy(), input, {.model = question.model, .tenant = tenant.name}).reason;
}

Governor::Rejection Governor::check_admin(const AdminQuestion& question, bool is_change) {
  Input input(Hook::admin);
  fill(input, question);
  const std::string model = question.model.value_or("");
  auto verdict = decide(*policy(), input, {.model = model, .tenant = question.user});
  if (verdict.reason) return std::move(verdict.reason);
  Json event = {{"kind", "admin"}, {"action", question.action}, {"actor", question.user}};
  if (question.tenant) event["tenant"] = *question.tenant;
  if (question.model) event["model"] = *question.model;
  (is_change ? record : record_soon)(options_.audit, std::move(event));
  return std::nullopt;
}

Governor::Rejection Governor::check_config(const ConfigQuestion& question) {
  const auto input = Input::from_json(Hook::config, config_facts(question), "config");
  auto verdict = decide(*policy(), input, {.model = "", .tenant = question.user});
  if (verdict.reason) return std::move(verdict.reason);
  for (const ConfigQuestion::Tenant& tenant : question.tenants) {
    record_soon(options_.audit, {{"kind", "tenant"}, {"tenant", tenant.name}, {"action", tenant.action}});
  }
  record(options_.audit, config_event(question, false));
  return std::nullopt;
}

void Governor::not_applied(const ConfigQuestion& question) {
  Json event = config_event(question, true);
  event["text"] = "the change before was not applied";
  record(options_.audit, std::move(event));
}

Governor::Rejection Governor::check_register(const RegisterQuestion& question) {
  const auto rules = policy();
  const bool serving = serving_.load();
  const auto input = Input::from_json(Hook::register_code, register_facts(question, serving), "register");
  auto verdict = decide(*rules, input, {.model = ""});
  if (verdict.reason) return std::move(verdict.reason);
  if (serving) {
    constexpr const char* kClosed = "registrations are closed once requests are served";
    record(options_.audit, {{"kind", "refuse"},
                            {"hook", name_of(Hook::register_code)},
                            {"rule", "default"},
                            {"policy", rules->digest()},
                            {"reason", kClosed}});
    return kClosed;
  }
  Json event = {{"kind", "register"}, {"operator", question.name}};
  if (question.digest) event["digest"] = *question.digest;
  record(options_.audit, std::move(event));
  return std::nullopt;
}

Governor::Rejection Governor::record_change(std::string_view kind, const Policy& rules, const Verdict& verdict,
                                            const Json& facts) {
  if (verdict.reason) return verdict.reason;
  const Json& report = facts.at("report");
  Json event = {{"kind", kind},
                {"model", facts.at("model")},
                {"definition", facts.at("digest")},
                {"policy", rules.digest()},
                {"rule", verdict.rule},
                {"report", report.at("digest")}};
  if (!facts.at("version").get_ref<const std::string&>().empty()) event["version"] = facts.at("version");
  if (const std::string author = facts.value("author", ""); !author.empty()) event["actor"] = author;
  if (kind == "edit") event["parent"] = facts.at("parent");
  record(options_.audit, std::move(event));
  const std::unique_lock lock(mutex_);
  if (bounds_.size() >= kMostBounds) bounds_.clear();
  bounds_[facts.at("digest")] = {integer_in(report, "worst_cost_ns"), integer_in(report, "worst_memory")};
  return std::nullopt;
}

Governor::Rejection Governor::check_report(const Json& report, const ServedName& name, const LoadSignature& signature) {
  const auto rules = policy();
  const Json facts = load_facts(report, name, signature);
  const auto input = Input::from_json(Hook::load, facts, "load");
  return record_change("load", *rules, decide(*rules, input, {.model = name.model}), facts);
}

Governor::Rejection Governor::check_change(const api::Change& change, ServedName name) {
  const auto rules = policy();
  constexpr Hook kHooksOfKinds[] = {Hook::edit, Hook::publish, Hook::roll_back};
  const Hook hook = kHooksOfKinds[static_cast<std::size_t>(change.kind)];
  if (change.version != 0) name.version = std::to_string(change.version);
  const Json facts =
      change_facts(change, report_of(change.to, report_options()), report_of(change.from, report_options()), name);
  const auto input = Input::from_json(hook, facts, name_of(hook));
  return record_change(name_of(hook), *rules, decide(*rules, input, {.model = name.model}), facts);
}

}  // namespace frazil::govern
