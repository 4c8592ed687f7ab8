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

Governor::Governor(GovernorOptions options)
    : options_(std::move(options)), decisions_(options_.audit), rules_(options_.policy) {
  if (rules_ == nullptr) fail(Code::bad_input, "there is no policy");
  if (const auto reason = expiry_of(*rules_)) fail(Code::bad_input, "{}", *reason);
  record(options_.audit, policy_event(*rules_, options_.policy_event));
  until_ = rules_->until().value_or(kNoExpiry);
  edition_ = next_edition();
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
  record(options_.audit, policy_event(*policy, std::move(event)));
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
  Json event = {{"kind", "refuse"},         {"hook", name_of(hook)},     {"rule", verdict.rule},
                {"policy", rules.digest()}, {"reason", *verdict.reason}, {"model", about.model}};
  if (!about.tenant.empty()) event["tenant"] = about.tenant;
  if (!about.approvals.empty()) event["approvals"] = about.approvals;
  refer_to_decision(event, decisions_.keep(input));
  (is_durable(hook) ? record : record_soon)(options_.audit, std::move(event));
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

void Governor::record_change(const Policy& rules, const Verdict& verdict, const Action& action,
                             const ChangeProof& proof) {
  const auto append = [&](Json event) {
    action.pending == nullptr ? record(options_.audit, std::move(event)) : action.pending->add(std::move(event));
  };
  for (const Json& event : proof.events) append(event);
  const Json& facts = action.facts;
  Json event = {
      {"kind", name_of(action.hook)}, {"model", facts.at("model")}, {"definition", facts.at("digest")},
      {"policy", rules.digest()},     {"rule", verdict.rule},       {"report", facts.at("report").at("digest")}};
  if (!facts.at("version").get_ref<const std::string&>().empty()) event["version"] = facts.at("version");
  if (const std::string author = facts.value("author", ""); !author.empty()) event["actor"] = author;
  if (facts.contains("parent")) event["parent"] = facts.at("parent");
  if (!proof.about.empty()) event["approvals"] = proof.about;
  if (options_.audit != nullptr) event["blobs"] = Json::array({options_.audit->put_blob(canonical(action.report))});
  refer_to_decision(event, verdict.decision);
  append(std::move(event));
  accepted_.add(action.report, facts.at("model"), facts.at("version"));
  const Json& report = facts.at("report");
  const std::unique_lock lock(mutex_);
  if (bounds_.size() >= kMostBounds) bounds_.clear();
  bounds_[facts.at("digest")] = {integer_in(report, "worst_cost_ns"), integer_in(report, "worst_memory")};
}

/// Without evidence nothing is known of signatures, so that rules that read it deny.
ChangeProof Governor::add_proof(Action& action, const Policy& rules) const {
  if (action.hook == Hook::load || options_.evidence == nullptr) return {};
  Json& facts = action.facts;
  ChangeProof proof = options_.evidence->of({.model = facts.at("model"),
                                             .definition = facts.at("digest"),
                                             .parent = facts.at("parent"),
                                             .files = action.files,
                                             .policy = rules.digest(),
                                             .author = facts.at("author")},
                                            action.report);
  facts["approvals"] = proof.approvals;
  facts["within_envelope"] = proof.within_envelope;
  return proof;
}

Governor::Rejection Governor::check_action(Action action) {
  const std::shared_lock changing(changing_);
  const auto rules = policy();
  const ChangeProof proof = add_proof(action, *rules);
  const auto input = Input::from_json(action.hook, action.facts, name_of(action.hook));
  const std::string model = action.facts.at("model");
  Verdict verdict = decide(*rules, input, {.model = model, .approvals = proof.about});
  if (verdict.reason) return std::move(verdict.reason);
  verdict.decision = decisions_.keep(input);
  record_change(*rules, verdict, action, proof);
  return std::nullopt;
}

Governor::Rejection Governor::check_pipeline(const Json& report, const ServedName& name, const Json* before,
                                                    PendingEvents* pending) {
  Json facts = load_facts(report, name, {});
  if (before == nullptr) {
    return check_action({Hook::load, report, std::move(facts), {}, pending});
  }
  if (auto reason = ask(Input::from_json(Hook::load, facts, "load"), name.model)) return reason;
  return check_action({Hook::publish, report, change_facts(report, *before, name), {}, pending});
}

Governor::Rejection Governor::check_change(const api::Change& change, ServedName name) {
  constexpr Hook kHooksOfKinds[] = {Hook::edit, Hook::publish, Hook::roll_back};
  if (change.version != 0) name.version = std::to_string(change.version);
  const Json report = report_of(change.to, report_options());
  Json facts = change_facts(change, report, report_of(change.from, report_options()), name);
  return check_action({kHooksOfKinds[static_cast<std::size_t>(change.kind)], report, std::move(facts)});
}

void PendingEvents::add(Json event) {
  const std::scoped_lock lock(mutex_);
  events_.push_back(std::move(event));
}

void Governor::record_pending(PendingEvents& pending) {
  const std::shared_lock changing(changing_);
  const std::scoped_lock lock(pending.mutex_);
  const std::string digest = policy()->digest();
  for (const Json& event : pending.events_) {
    if (event.value("policy", digest) == digest) continue;
    fail(Code::bad_input, "the policy was replaced while the models were loaded: load them again");
  }
  for (Json& event : std::exchange(pending.events_, {})) record(options_.audit, std::move(event));
}

}  // namespace frazil::govern
