#include "govern/gate/governor.h"

#include <mutex>
#include <utility>

#include "govern/base/error.h"
#include "govern/gate/facts.h"

namespace frazil::govern {
namespace {

/// Returns a number that no governor of the process has used, so that kept permits of one never hold for another.
std::uint32_t next_edition() {
  static std::atomic<std::uint32_t> last = 0;
  return ++last;
}

Json policy_event(const Policy& policy, Json more) {
  more.update({{"kind", "policy"}, {"policy", policy.digest()}, {"serial", policy.serial()}});
  return more;
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

Governor::Governor(GovernorOptions options)
    : options_(std::move(options)), decisions_(options_.audit), rules_(options_.policy) {
  if (rules_ == nullptr) fail(Code::bad_input, "there is no policy");
  if (const auto reason = expiry_of(*rules_)) fail(Code::bad_input, "{}", *reason);
  record(policy_event(*rules_, options_.policy_event));
  until_ = rules_->until().value_or(kNoExpiry);
  edition_ = next_edition();
}

void Governor::record(Json event, bool durable) {
  if (options_.audit == nullptr) return;
  if (durable) {
    options_.audit->append_durable(std::move(event));
  } else {
    (void)options_.audit->append(std::move(event));
  }
}

std::optional<std::string> Governor::expiry_of(const Policy& rules) const {
  if (!rules.until() || !rules.has_expired(options_.now())) return std::nullopt;
  return fmt::format("policy '{}' has expired", rules.name());
}

void Governor::check_replacement(const Policy& next) const {
  if (const auto reason = expiry_of(next)) fail(Code::bad_input, "{}", *reason);
  const auto rules = policy();
  if (next.name() != rules->name()) {
    fail(Code::bad_input, "policy '{}': expected one of the name '{}'", next.name(), rules->name());
  }
  if (next.serial() <= rules->serial() && next.digest() != rules->digest()) {
    fail(Code::bad_input, "policy '{}': expected a serial above {}, got {}", next.name(), rules->serial(),
         next.serial());
  }
}

void Governor::replace(std::shared_ptr<const Policy> policy, Json event) {
  if (policy == nullptr) fail(Code::bad_input, "there is no policy");
  const std::unique_lock changing(changing_);
  check_replacement(*policy);
  record(policy_event(*policy, std::move(event)));
  const std::unique_lock lock(mutex_);
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
  if (auto expired = expiry_of(rules)) {
    verdict = {std::move(expired), "default"};
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
  event.update(about.more);
  refer_to_decision(event, decisions_.keep(input));
  record(std::move(event), is_durable(hook));
  return verdict;
}

Governor::Rejection Governor::ask(const Input& input, std::string_view model) {
  const std::shared_lock changing(changing_);
  const auto rules = policy();
  Verdict verdict = decide(*rules, input, {.model = model});
  if (!verdict.reason) decisions_.keep_permitted(input, rules->digest(), verdict.rule, model);
  return std::move(verdict.reason);
}

/// Keeps the input of a permit of requests, once for an edition and a tenant.
void Governor::note_permit(const InForce& now, KeptDecisions& kept, const TenantRef& tenant, const Input& input,
                           const Verdict& verdict, std::string_view model) {
  if (kept.is_noted(now.edition, tenant.number)) return;
  decisions_.keep_permitted(input, now.rules->digest(), verdict.rule, model);
  kept.note(now.edition, tenant.number);
}

Governor::Rejection Governor::decide_run(const InForce& now, KeptDecisions& kept, const TenantRef& tenant,
                                         const RunQuestion& question) {
  const auto& [rules, edition] = now;
  const bool per_request = rules->reads_request(Hook::run);
  Input input(Hook::run);
  fill(input, question, tenant.name, per_request);
  Verdict verdict = decide(*rules, input, {.model = question.model, .tenant = tenant.name});
  if (verdict.reason) return std::move(verdict.reason);
  note_permit(now, kept, tenant, input, verdict, question.model);
  if (!per_request) kept.permit(edition, tenant.number);
  return std::nullopt;
}

Governor::Rejection Governor::decide_dispatch(KeptDecisions& kept, const TenantRef& tenant,
                                              const DispatchQuestion& question) {
  const InForce now = current();
  Input input(Hook::dispatch);
  fill(input, question, tenant.name);
  Verdict verdict = decide(*now.rules, input, {.model = question.model, .tenant = tenant.name});
  if (verdict.reason) return std::move(verdict.reason);
  note_permit(now, kept, tenant, input, verdict, question.model);
  if (!now.rules->reads_request(Hook::dispatch)) kept.permit(now.edition, tenant.number);
  return std::nullopt;
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
  record(std::move(event), is_change);
  return std::nullopt;
}

Governor::Rejection Governor::check_config(const ConfigQuestion& question) {
  const auto input = Input::from_json(Hook::config, config_facts(question), "config");
  auto verdict = decide(*policy(), input, {.model = "", .tenant = question.user});
  if (verdict.reason) return std::move(verdict.reason);
  for (const ConfigQuestion::Tenant& tenant : question.tenants) {
    record({{"kind", "tenant"}, {"tenant", tenant.name}, {"action", tenant.action}}, false);
  }
  record(config_event(question, false));
  return std::nullopt;
}

void Governor::not_applied(const ConfigQuestion& question) {
  Json event = config_event(question, true);
  event["text"] = "the change before was not applied";
  record(std::move(event));
}

Governor::Rejection Governor::check_register(const RegisterQuestion& question) {
  const auto rules = policy();
  const bool serving = serving_.load();
  const auto input = Input::from_json(Hook::register_code, register_facts(question, serving), "register");
  auto verdict = decide(*rules, input, {.model = ""});
  if (verdict.reason) return std::move(verdict.reason);
  if (serving) {
    constexpr const char* kClosed = "registrations are closed once requests are served";
    record({{"kind", "refuse"},
            {"hook", name_of(Hook::register_code)},
            {"rule", "default"},
            {"policy", rules->digest()},
            {"reason", kClosed}});
    return kClosed;
  }
  Json event = {{"kind", "register"}, {"operator", question.name}};
  if (question.digest) event["digest"] = *question.digest;
  record(std::move(event));
  return std::nullopt;
}

}  // namespace frazil::govern
