#include "govern/gate/governor.h"

#include <chrono>
#include <mutex>

#include "govern/base/error.h"
#include "govern/gate/facts.h"

namespace frazil::govern {
namespace {

constexpr std::size_t kMostKept = 4096;

std::int64_t unix_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void check_valid(const std::shared_ptr<const Policy>& rules) {
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

/// Forwards the checks of one model to a governor.
class ModelPolicy : public api::Policy {
 public:
  ModelPolicy(std::shared_ptr<Governor> governor, ServedName name)
      : governor_(std::move(governor)), name_(std::move(name)) {}

  std::optional<std::string> check_file(const api::FileFacts& file) override {
    const std::string digest = file.digest();
    const LoadSignature signature = signature_with(file, digest);
    const auto input = Input::from_json(Hook::file, file_facts(file, digest, signature), "file");
    return governor_->ask(input, name_.model);
  }
  std::optional<std::string> check_load(const api::Model& model) override {
    const Json report = report_of(model, governor_->report_options());
    const std::scoped_lock lock(mutex_);
    const bool has_files = !name_.model.empty();  // otherwise several loads share this object
    auto reason = governor_->check_report(report, named(model), has_files ? signature_ : LoadSignature());
    if (reason && has_files && name_.model != model.name())
      *reason += fmt::format("; it is served as '{}'", name_.model);
    return reason;
  }
  bool loads_changed_models() const override { return false; }
  std::optional<std::string> check_change(const api::Change& change) override {
    return governor_->check_change(change, named(change.from));
  }
  std::optional<std::string> check_run(const api::Model& model) override {
    const ServedName name = named(model);
    return governor_->kept_or_decided(governor_->runs_, name.model + " " + model.digest(), Hook::run, name.model,
                                      [&] { return run_facts(model, name); });
  }
  std::optional<std::string> check_dispatch(const api::Dispatch& dispatch) override {
    const std::string key = fmt::format("{}/{} {}", dispatch.name, dispatch.version, dispatch.model.digest());
    return governor_->kept_or_decided(governor_->dispatches_, key, Hook::dispatch, dispatch.name,
                                      [&] { return dispatch_facts(dispatch); });
  }
  std::optional<std::string> check_operator(const api::HostOperator& op) override {
    return governor_->ask(Input::from_json(Hook::register_code, operator_facts(op), "register"), name_.model);
  }

 private:
  ServedName named(const api::Model& model) const {
    return name_.model.empty() ? ServedName{model.name(), name_.version} : name_;
  }
  /// Adds a file to what is known of the signature.
  LoadSignature signature_with(const api::FileFacts& file, const std::string& digest) {
    const std::scoped_lock lock(mutex_);
    if (file.kind == api::FileFacts::Kind::external) {
      signature_.require(file.path, digest);
    } else {
      signature_ = signature_of_model(std::string(file.path), digest, governor_->options_.trusted);
    }
    return signature_;
  }

  const std::shared_ptr<Governor> governor_;
  const ServedName name_;
  std::mutex mutex_;
  LoadSignature signature_;  ///< guarded by mutex_
};

Governor::Governor(GovernorOptions options) : options_(std::move(options)), rules_(options_.policy) {
  check_valid(rules_);
  record({{"kind", "policy"}, {"policy", rules_->digest()}, {"serial", rules_->serial()}});
}

void Governor::replace(std::shared_ptr<const Policy> policy) {
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

std::shared_ptr<const Policy> Governor::policy() const {
  const std::shared_lock lock(mutex_);
  return rules_;
}

std::shared_ptr<api::Policy> Governor::for_model(ServedName name) {
  return std::make_shared<ModelPolicy>(shared_from_this(), std::move(name));
}

void Governor::record(Json event) {
  if (options_.audit != nullptr) options_.audit->append_durable(std::move(event));
}

Governor::Verdict Governor::decide(const Policy& rules, const Input& input, std::string_view model) {
  const Decision decision = rules.decide(input);
  const std::string_view hook = name_of(input.hook().value_or(Hook::load));
  if (decision.permits()) {
    if (decision.would && *decision.would != Cause::permitted && options_.warn) {
      options_.warn(fmt::format("hook {} of '{}': a rule in mode shadow would refuse it", hook, model));
    }
    return {std::nullopt, std::string(decision.rule)};
  }
  Verdict verdict{rejection_text(decision), decision.rule.empty() ? "default" : std::string(decision.rule)};
  record({{"kind", "refuse"},
          {"hook", hook},
          {"rule", verdict.rule},
          {"policy", rules.digest()},
          {"reason", *verdict.reason},
          {"model", model}});
  return verdict;
}

std::optional<std::string> Governor::ask(const Input& input, std::string_view model) {
  return decide(*policy(), input, model).reason;
}

std::optional<std::string> Governor::kept_or_decided(Kept& kept, const std::string& key, Hook hook,
                                                     std::string_view model, const std::function<Json()>& facts) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto known = kept.find(key); known != kept.end()) return known->second.reason;
  }
  const auto rules = policy();
  const Verdict verdict = decide(*rules, Input::from_json(hook, facts(), name_of(hook)), model);
  if (rules->reads_request(hook)) return verdict.reason;
  const std::unique_lock lock(mutex_);
  if (rules_ == rules && kept.size() < kMostKept) kept.emplace(key, verdict);
  return verdict.reason;
}

std::optional<std::string> Governor::record_change(std::string_view kind, const Policy& rules, const Verdict& verdict,
                                                   const Json& facts, const Json& report) {
  if (verdict.reason) return verdict.reason;
  Json event = {{"kind", kind},
                {"model", facts.at("model")},
                {"definition", facts.at("digest")},
                {"policy", rules.digest()},
                {"rule", verdict.rule},
                {"report", facts.at("report").at("digest")}};
  if (!facts.at("version").get_ref<const std::string&>().empty()) event["version"] = facts.at("version");
  if (const std::string author = facts.value("author", ""); !author.empty()) event["actor"] = author;
  if (kind == "edit") event["parent"] = facts.at("parent");
  if (options_.audit != nullptr) event["blobs"] = Json::array({options_.audit->put_blob(canonical(report))});
  record(std::move(event));
  accepted_.add(report, facts.at("model"), facts.at("version"));
  return std::nullopt;
}

std::optional<std::string> Governor::check_report(const Json& report, const ServedName& name,
                                                  const LoadSignature& signature) {
  const auto rules = policy();
  const Json facts = load_facts(report, name, signature);
  const auto input = Input::from_json(Hook::load, facts, "load");
  return record_change("load", *rules, decide(*rules, input, name.model), facts, report);
}

std::optional<std::string> Governor::check_change(const api::Change& change, ServedName name) {
  const auto rules = policy();
  constexpr Hook kHooksOfKinds[] = {Hook::edit, Hook::publish, Hook::roll_back};
  const Hook hook = kHooksOfKinds[static_cast<std::size_t>(change.kind)];
  if (change.version != 0) name.version = std::to_string(change.version);
  const Json report = report_of(change.to, report_options());
  const Json facts = change_facts(change, report, report_of(change.from, report_options()), name);
  const auto input = Input::from_json(hook, facts, name_of(hook));
  return record_change(name_of(hook), *rules, decide(*rules, input, name.model), facts, report);
}

}  // namespace frazil::govern
