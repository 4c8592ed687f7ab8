#include "govern/gate/governor.h"

#include <filesystem>
#include <mutex>

#include "govern/base/error.h"
#include "govern/gate/facts.h"

namespace frazil::govern {
namespace {

constexpr std::size_t kMostKept = 4096;

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

}  // namespace

/// Forwards the checks of one model to a governor.
class ModelPolicy : public api::Policy {
 public:
  ModelPolicy(std::shared_ptr<Governor> governor, ServedName name, LoadContext context)
      : governor_(std::move(governor)), name_(std::move(name)), context_(std::move(context)) {}

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
    const LoadSignature signature = has_files ? signature_ : LoadSignature();
    auto reason = check_loaded(model, report, signature);
    context_ = {};
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
  /// Decides hook `load`, and hook `publish` if another definition is replaced. Requires the lock.
  std::optional<std::string> check_loaded(const api::Model& model, const Json& report, const LoadSignature& signature) {
    const ServedName name = named(model);
    Json facts = load_facts(report, name, signature);
    PendingEvents* const pending = context_.pending.get();
    if (!context_.replaces || context_.replaces->digest() == model.digest()) {
      return governor_->check_action({Hook::load, report, std::move(facts), {}, pending});
    }
    if (auto reason = governor_->ask(Input::from_json(Hook::load, facts, "load"), name.model)) return reason;
    const api::Change change{
        .kind = api::Change::Kind::publish, .from = *context_.replaces, .to = model, .note = nullptr, .version = 0};
    facts = change_facts(change, report, report_of(change.from, governor_->report_options()), name);
    facts["signature"] = signature.facts();
    if (signature.valid) facts["author"] = signature.signer;
    return governor_->check_action({Hook::publish, report, std::move(facts), files_, pending});
  }
  ServedName named(const api::Model& model) const {
    return name_.model.empty() ? ServedName{model.name(), name_.version} : name_;
  }
  /// Adds a file to what is known of the signature.
  LoadSignature signature_with(const api::FileFacts& file, const std::string& digest) {
    const std::scoped_lock lock(mutex_);
    if (file.kind == api::FileFacts::Kind::external) {
      signature_.require(file.path, digest);
      files_[std::string(file.path)] = digest;
    } else {
      files_[std::filesystem::path(file.path).filename().string()] = digest;
      signature_ = signature_of_model(std::string(file.path), digest, governor_->options_.trusted);
    }
    return signature_;
  }

  const std::shared_ptr<Governor> governor_;
  const ServedName name_;
  std::mutex mutex_;
  LoadSignature signature_;                   ///< guarded by mutex_
  std::map<std::string, std::string> files_;  ///< digests by name; guarded by mutex_
  LoadContext context_;                       ///< until the load is decided; guarded by mutex_
};

Governor::Governor(GovernorOptions options)
    : options_(std::move(options)), decisions_(options_.audit), rules_(options_.policy) {
  if (rules_ == nullptr) fail(Code::bad_input, "there is no policy");
  if (const auto reason = expiry_of(*rules_)) fail(Code::bad_input, "{}", *reason);
  record(policy_event(*rules_, options_.policy_event));
}

std::int64_t Governor::now() const { return options_.now ? options_.now() : moment_now(); }

std::optional<std::string> Governor::expiry_of(const Policy& rules) const {
  if (!rules.until() || !rules.has_expired(now())) return std::nullopt;
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
  runs_.clear();
  dispatches_.clear();
}

std::shared_ptr<const Policy> Governor::policy() const {
  const std::shared_lock lock(mutex_);
  return rules_;
}

std::shared_ptr<api::Policy> Governor::for_model(ServedName name, LoadContext context) {
  return std::make_shared<ModelPolicy>(shared_from_this(), std::move(name), std::move(context));
}

void Governor::record(Json event) {
  if (options_.audit != nullptr) options_.audit->append_durable(std::move(event));
}

Governor::Verdict Governor::decide(const Policy& rules, const Input& input, std::string_view model, const Json& about) {
  const Decision decision = rules.decide(input);
  const std::string_view hook = name_of(input.hook().value_or(Hook::load));
  const auto expired = expiry_of(rules);
  if (decision.permits() && !expired) {
    if (decision.would && *decision.would != Cause::permitted && options_.warn) {
      options_.warn(fmt::format("hook {} of '{}': a rule in mode shadow would refuse it", hook, model));
    }
    return {std::nullopt, std::string(decision.rule)};
  }
  const bool by_rule = !expired && !decision.rule.empty();
  Verdict verdict{expired ? *expired : rejection_text(decision), by_rule ? std::string(decision.rule) : "default"};
  Json event = about;
  event.update({{"kind", "refuse"},
                {"hook", hook},
                {"rule", verdict.rule},
                {"policy", rules.digest()},
                {"reason", *verdict.reason},
                {"model", model}});
  refer_to_decision(event, decisions_.keep(input));
  record(std::move(event));
  return verdict;
}

std::optional<std::string> Governor::ask(const Input& input, std::string_view model) {
  const std::shared_lock changing(changing_);
  const auto rules = policy();
  const Verdict verdict = decide(*rules, input, model);
  if (!verdict.reason) decisions_.keep_permitted(input, rules->digest(), verdict.rule, model);
  return verdict.reason;
}

std::optional<std::string> Governor::kept_or_decided(Kept& kept, const std::string& key, Hook hook,
                                                     std::string_view model, const std::function<Json()>& facts) {
  {
    const std::shared_lock lock(mutex_);
    const auto known = kept.find(key);
    if (known != kept.end() && !expiry_of(*rules_)) return known->second.reason;
  }
  const auto rules = policy();
  const Input input = Input::from_json(hook, facts(), name_of(hook));
  const Verdict verdict = decide(*rules, input, model);
  if (!verdict.reason) decisions_.keep_permitted(input, rules->digest(), verdict.rule, model);
  if (rules->reads_request(hook)) return verdict.reason;
  const std::unique_lock lock(mutex_);
  if (rules_ == rules && kept.size() < kMostKept) kept.emplace(key, verdict);
  return verdict.reason;
}

}  // namespace frazil::govern
