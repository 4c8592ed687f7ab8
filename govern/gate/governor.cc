#include "govern/gate/governor.h"

#include <chrono>

#include "govern/base/error.h"
#include "govern/gate/facts.h"
#include "govern/report/report.h"

namespace frazil::govern {

/// Policy is api::Policy in the scope of Governor.
using Rules = Policy;

namespace {

constexpr std::size_t kMostKept = 4096;

thread_local const ActionSubject* current_subject = nullptr;

const ActionSubject& subject_here() {
  static const ActionSubject none;
  return current_subject == nullptr ? none : *current_subject;
}

std::int64_t unix_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void check_valid(const std::shared_ptr<const Rules>& rules) {
  if (rules == nullptr) fail(Code::bad_input, "there is no policy");
  if (rules->has_expired(unix_now())) fail(Code::bad_input, "policy '{}' has expired", rules->name());
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

}  // namespace

SubjectScope::SubjectScope(ActionSubject subject)
    : subject_(std::move(subject)), outer_(std::exchange(current_subject, &subject_)) {}
SubjectScope::~SubjectScope() { current_subject = outer_; }

Governor::Governor(GovernorOptions options) : options_(std::move(options)), rules_(options_.policy) {
  check_valid(rules_);
  record({{"kind", "policy"}, {"policy", rules_->digest()}, {"serial", rules_->serial()}});
}

void Governor::replace(std::shared_ptr<const Rules> policy) {
  check_valid(policy);
  const std::unique_lock lock(mutex_);
  if (policy->name() != rules_->name()) {
    fail(Code::bad_input, "policy '{}': expected one of the name '{}'", policy->name(), rules_->name());
  }
  if (policy->serial() <= rules_->serial()) {
    fail(Code::bad_input, "policy '{}': expected a serial above {}, got {}", policy->name(), rules_->serial(),
         policy->serial());
  }
  record({{"kind", "policy"}, {"policy", policy->digest()}, {"serial", policy->serial()}});
  rules_ = std::move(policy);
  runs_.clear();
  dispatches_.clear();
}

std::shared_ptr<const Rules> Governor::policy() const {
  const std::shared_lock lock(mutex_);
  return rules_;
}

void Governor::record(Json event) {
  if (options_.audit != nullptr) options_.audit->append_durable(std::move(event));
}

Governor::Verdict Governor::decide(const Rules& rules, const Input& input, std::string_view model) {
  const Decision decision = rules.decide(input);
  const Hook hook = input.hook().value_or(Hook::load);
  if (decision.would && options_.warn && *decision.would != Cause::permitted && decision.permits()) {
    options_.warn(fmt::format("hook {} of '{}': a rule in mode shadow would refuse it", name_of(hook), model));
  }
  if (decision.permits()) return {std::nullopt, std::string(decision.rule)};
  Verdict verdict{rejection_text(decision), decision.rule.empty() ? "default" : std::string(decision.rule)};
  record({{"kind", "refuse"},
          {"hook", name_of(hook)},
          {"rule", verdict.rule},
          {"policy", rules.digest()},
          {"reason", *verdict.reason},
          {"model", model}});
  return verdict;
}

std::optional<std::string> Governor::ask(const Input& input, std::string_view model) {
  return decide(*policy(), input, model).reason;
}

std::optional<std::string> Governor::check_file(const api::FileFacts& file) {
  const auto input = Input::from_json(Hook::file, file_facts(file), "file");
  return decide(*policy(), input, subject_here().model).reason;
}

std::optional<std::string> Governor::record_change(std::string_view kind, const Rules& rules, const Verdict& verdict,
                                                   const Json& facts, const std::string& author) {
  if (verdict.reason) return verdict.reason;
  Json event = {{"kind", kind},
                {"model", facts.at("model")},
                {"definition", facts.at("digest")},
                {"policy", rules.digest()},
                {"rule", verdict.rule},
                {"report", facts.at("report").at("digest")}};
  if (!facts.at("version").get_ref<const std::string&>().empty()) event["version"] = facts.at("version");
  if (!author.empty()) event["actor"] = author;
  if (kind == "edit") event["parent"] = facts.at("parent");
  record(std::move(event));
  return std::nullopt;
}

std::optional<std::string> Governor::check_report(const Json& report, const ActionSubject& subject) {
  const auto rules = policy();
  const Json facts = load_facts(report, subject);
  const auto input = Input::from_json(Hook::load, facts, "load");
  return record_change("load", *rules, decide(*rules, input, subject.model), facts, subject.author);
}

std::optional<std::string> Governor::check_load(const api::Model& model) {
  ActionSubject subject = subject_here();
  if (subject.model.empty()) subject.model = model.name();
  return check_report(report_of(model, report_options()), subject);
}

std::optional<std::string> Governor::check_change(const api::Change& change) {
  const auto rules = policy();
  constexpr Hook kHooksOfKinds[] = {Hook::edit, Hook::publish, Hook::roll_back};
  const Hook hook = kHooksOfKinds[static_cast<std::size_t>(change.kind)];
  ActionSubject subject = subject_here();
  if (subject.model.empty()) subject.model = change.from.name();
  const Json facts =
      change_facts(change, report_of(change.to, report_options()), report_of(change.from, report_options()), subject);
  const auto input = Input::from_json(hook, facts, name_of(hook));
  return record_change(name_of(hook), *rules, decide(*rules, input, subject.model), facts, facts.at("author"));
}

std::optional<std::string> Governor::check_run(const api::Model& model) {
  const std::string digest = model.digest();
  {
    const std::shared_lock lock(mutex_);
    if (const auto known = runs_.find(digest); known != runs_.end()) return known->second.reason;
  }
  const auto rules = policy();
  Input input(Hook::run);
  static const FieldId kModel = field_of(Hook::run, "model"), kDigest = field_of(Hook::run, "digest");
  static const FieldId kTenant = field_of(Hook::run, "tenant"), kVersion = field_of(Hook::run, "version");
  input.set(kModel, std::string_view(model.name()));
  input.set(kDigest, std::string_view(digest));
  input.set(kTenant, "");
  input.set(kVersion, "");
  const Verdict verdict = decide(*rules, input, model.name());
  if (rules->reads_request(Hook::run)) return verdict.reason;
  const std::unique_lock lock(mutex_);
  if (rules_ == rules && runs_.size() < kMostKept) runs_.emplace(digest, verdict);
  return verdict.reason;
}

std::optional<std::string> Governor::check_dispatch(const api::Dispatch& dispatch) {
  const std::string key = fmt::format("{}/{} {}", dispatch.name, dispatch.version, dispatch.model.digest());
  {
    const std::shared_lock lock(mutex_);
    if (const auto known = dispatches_.find(key); known != dispatches_.end()) return known->second.reason;
  }
  const auto rules = policy();
  const auto input = Input::from_json(Hook::dispatch, dispatch_facts(dispatch), "dispatch");
  const Verdict verdict = decide(*rules, input, dispatch.name);
  if (rules->reads_request(Hook::dispatch)) return verdict.reason;
  const std::unique_lock lock(mutex_);
  if (rules_ == rules && dispatches_.size() < kMostKept) dispatches_.emplace(key, verdict);
  return verdict.reason;
}

std::optional<std::string> Governor::check_operator(const api::HostOperator& op) {
  const auto input = Input::from_json(Hook::register_code, operator_facts(op), "register");
  return decide(*policy(), input, "").reason;
}

}  // namespace frazil::govern
