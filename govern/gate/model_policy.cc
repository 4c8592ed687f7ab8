#include "govern/gate/model_policy.h"

#include <algorithm>
#include <filesystem>

#include <frazil/host_operator.h>

#include "govern/gate/facts.h"

namespace frazil::govern {

thread_local std::span<const TenantRef> RequestScope::current_;

const Governor::Rejection* DecisionsByDigest::find(std::uint32_t edition, const Key& key) const {
  if (edition == 0 || edition != edition_) return nullptr;
  const auto found = decisions_.find(key);
  return found == decisions_.end() ? nullptr : &found->second;
}

void DecisionsByDigest::keep(std::uint32_t edition, Key key, Governor::Rejection rejection) {
  constexpr std::size_t kMostDecisions = 4096;
  if (edition != edition_ || decisions_.size() >= kMostDecisions) decisions_.clear();
  edition_ = edition;
  decisions_.emplace(std::move(key), std::move(rejection));
}

std::optional<std::string> ModelPolicy::check_file(const api::FileFacts& file) {
  const std::string digest = file.digest();
  const LoadSignature signature = signature_with(file, digest);
  const auto input = Input::from_json(Hook::file, file_facts(file, digest, signature), "file");
  return governor_->ask(input, name_.model);
}

std::optional<std::string> ModelPolicy::check_load(const api::Model& model) {
  const Json report = report_of(model, governor_->report_options());
  const std::scoped_lock lock(mutex_);
  know_calls(model);
  const bool has_files = !name_.model.empty();  // otherwise several loads share this object
  auto reason = check_loaded(model, report, has_files ? signature_ : LoadSignature());
  context_ = {};
  if (reason && has_files && name_.model != model.name()) *reason += "; it is served as '" + name_.model + "'";
  return reason;
}

/// Decides hook `load`, and hook `publish` if another definition is replaced. `mutex_` is held.
Governor::Rejection ModelPolicy::check_loaded(const api::Model& model, const Json& report,
                                              const LoadSignature& signature) {
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

std::optional<std::string> ModelPolicy::check_change(const api::Change& change) {
  {
    const std::scoped_lock lock(mutex_);
    know_calls(change.to);
  }
  return governor_->check_change(change, named(change.from));
}

std::optional<std::string> ModelPolicy::check_run(const api::Model& model) {
  if (runs_ == RunChecks::at_admission) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  const std::uint32_t edition = governor_->in_force();
  const DecisionsByDigest::Key key(model.digest(), 0);
  if (const auto* known = run_decisions_.find(edition, key)) return *known;
  KeptDecisions kept;
  const ServedName name = named(model);
  auto reason = governor_->check_run(
      kept, {}, [&](bool) { return RunQuestion{.model = name.model, .version = name.version, .digest = key.first}; });
  if (reason || kept.permits(edition, 0)) run_decisions_.keep(edition, key, reason);
  return reason;
}

std::optional<std::string> ModelPolicy::check_dispatch(const api::Dispatch& dispatch) {
  const std::scoped_lock lock(mutex_);
  const std::string caller = name_.model.empty() ? "" : name_.model + "/" + name_.version;
  const bool named = std::ranges::any_of(calls_, [&](const api::ModelCall& call) {
    return call.model == dispatch.name && call.version == dispatch.version;
  });
  const DispatchQuestion question{.by = "call",
                                  .caller = caller,
                                  .model = std::string(dispatch.name),
                                  .version = std::to_string(dispatch.version),
                                  .digest = dispatch.model.digest(),
                                  .explicit_version = named};
  const auto tenants = RequestScope::current();
  if (tenants.empty()) return check_dispatch(question, {});
  for (const TenantRef& tenant : tenants) {
    if (auto reason = check_dispatch(question, tenant)) return reason;
  }
  return std::nullopt;
}

/// `mutex_` is held.
Governor::Rejection ModelPolicy::check_dispatch(const DispatchQuestion& question, const TenantRef& tenant) {
  const std::uint32_t edition = governor_->in_force();
  DecisionsByDigest::Key key(
      question.digest + (question.explicit_version ? '!' : ' ') + question.version + '/' + question.model,
      tenant.number);
  if (const auto* known = dispatch_decisions_.find(edition, key)) return *known;
  KeptDecisions kept;
  auto reason = governor_->check_dispatch(kept, tenant, [&] { return question; });
  if (kept.permits(edition, tenant.number)) dispatch_decisions_.keep(edition, std::move(key), reason);
  return reason;
}

std::optional<std::string> ModelPolicy::check_operator(const api::HostOperator& op) {
  return governor_->check_register(
      {.kind = "operator", .name = op.domain.empty() ? op.name : op.domain + "." + op.name});
}

ServedName ModelPolicy::named(const api::Model& model) const {
  return name_.model.empty() ? ServedName{model.name(), name_.version} : name_;
}

/// Adds a file to what is known of the signature.
LoadSignature ModelPolicy::signature_with(const api::FileFacts& file, const std::string& digest) {
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

void ModelPolicy::know_calls(const api::Model& model) {
  for (const api::ModelCall& call : model.calls()) {
    if (std::ranges::find(calls_, call) == calls_.end()) calls_.push_back(call);
  }
}

std::shared_ptr<api::Policy> Governor::for_model(ServedName name, RunChecks runs, LoadContext context) {
  return std::make_shared<ModelPolicy>(shared_from_this(), std::move(name), runs, std::move(context));
}

std::optional<std::string> RegistrationPolicy::check_operator(const api::HostOperator& op) {
  if (op.domain == "frazil.server") return std::nullopt;
  return governor_->check_register(
      {.kind = "operator", .name = op.domain.empty() ? op.name : op.domain + "." + op.name});
}

Governor::Rejection RegistrationPolicy::check_function(const std::string& name) {
  return governor_->check_register({.kind = "host_function", .name = name});
}

}  // namespace frazil::govern
