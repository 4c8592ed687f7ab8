#include "api/policy.h"

#include <algorithm>
#include <atomic>

#include <frazil/host_operator.h>
#include <frazil/model.h>

#include "api/access.h"
#include "api/host_call.h"
#include "api/used_operators.h"
#include "base/value/sha256.h"
#include "onnx/import/used_operators.h"

namespace frazil::api {
namespace {

/// The policy of the process, which is never freed: threads read it without a lock.
std::atomic<const std::shared_ptr<Policy>*> process{nullptr};

}  // namespace

std::string FileFacts::digest() const { return "sha256:" + sha256(content); }

std::vector<UsedOperator> FileFacts::operators() const {
  return kind == Kind::model ? used_operators(content) : std::vector<UsedOperator>();
}

std::vector<std::string> FileFacts::external_locations() const {
  return kind == Kind::model ? take(onnx::external_locations(content)) : std::vector<std::string>();
}

std::string_view name_of(FileFacts::Kind kind) {
  constexpr std::string_view kNames[] = {"model", "external", "package"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(Change::Kind kind) {
  constexpr std::string_view kNames[] = {"edit", "publish", "roll back"};
  return kNames[static_cast<std::size_t>(kind)];
}

void install_policy(std::shared_ptr<Policy> policy) {
  if (policy == nullptr) refuse(frazil::Code::bad_input, "install_policy: there is no policy");
  auto kept = std::make_unique<const std::shared_ptr<Policy>>(std::move(policy));
  const std::shared_ptr<Policy>* none = nullptr;
  if (!process.compare_exchange_strong(none, kept.get(), std::memory_order_acq_rel)) {
    refuse(frazil::Code::bad_input, "install_policy: the process has a policy, which cannot be replaced");
  }
  static auto& owner = *new std::unique_ptr<const std::shared_ptr<Policy>>;  // runs may outlive main()
  owner = std::move(kept);
}

std::shared_ptr<Policy> process_policy() {
  const auto* const known = process.load(std::memory_order_acquire);
  return known == nullptr ? nullptr : *known;
}

Policies::Policies(std::shared_ptr<Policy> policy) {
  if (policy != nullptr) all_.push_back(std::move(policy));
}

bool Policies::has(const Policies& others) const {
  return std::ranges::all_of(others.all_, [this](const auto& policy) { return contains(policy); });
}

bool Policies::contains(const std::shared_ptr<Policy>& policy) const {
  return std::ranges::find(all_, policy) != all_.end();
}

void Policies::add(const Policies& others) {
  for (const auto& policy : others.all_) {
    if (!contains(policy)) all_.push_back(policy);
  }
}

template <class Found>
void Policies::any(const Found& found) const {
  if (const auto* const first = process.load(std::memory_order_acquire)) {
    if (found(**first)) return;
  }
  for (const auto& policy : all_) {
    if (found(*policy)) return;
  }
}

template <class... Parameters, class... Arguments>
std::optional<std::string> Policies::rejection(std::optional<std::string> (Policy::*check)(Parameters...),
                                               const Arguments&... arguments) const {
  std::optional<std::string> reason;
  any([&](Policy& policy) { return (reason = (policy.*check)(arguments...)).has_value(); });
  return reason;
}

FileCheck Policies::file_check() const {
  if (all_.empty() && process.load(std::memory_order_acquire) == nullptr) return {};
  return [policies = *this](FileKind kind, std::string_view path, std::span<const std::byte> content) {
    const FileFacts file{static_cast<FileFacts::Kind>(kind), path, content};
    const auto reason = called([&] { return policies.rejection(&Policy::check_file, file); });
    if (!reason) return Status(std::unexpected(reason.error()));
    if (!*reason) return Status();
    return Status(fail(frazil::Code::bad_input, "the policy refuses the file: {}", **reason));
  };
}

namespace {

void refuse_load(const Model& model, const std::optional<std::string>& reason) {
  if (!reason) return;
  refuse(frazil::Code::bad_input, "the policy refuses model '{}': {}", model.name(), *reason);
}

}  // namespace

void Policies::check_load(const Model& model) const { refuse_load(model, rejection(&Policy::check_load, model)); }

void Policies::check_change(const Change& change) const {
  std::optional<std::string> reason;
  any([&](Policy& policy) {
    if (policy.loads_changed_models()) reason = policy.check_load(change.to);
    return reason.has_value();
  });
  refuse_load(change.to, reason);
  reason = rejection(&Policy::check_change, change);
  if (!reason) return;
  refuse(frazil::Code::bad_input, "the policy refuses to {} '{}': {}", name_of(change.kind), change.from.name(),
         *reason);
}

void Policies::check_run(const Model& model) const {
  if (const auto reason = rejection(&Policy::check_run, model)) {
    refuse(frazil::Code::bad_input, "the policy refuses to run '{}': {}", model.name(), *reason);
  }
}

void Policies::check_dispatch(const Dispatch& dispatch) const {
  if (const auto reason = rejection(&Policy::check_dispatch, dispatch)) {
    refuse(frazil::Code::bad_input, "the policy refuses the call of '{}', version {}: {}", dispatch.name,
           dispatch.version, *reason);
  }
}

void Policies::check_operator(const HostOperator& op) const {
  if (const auto reason = rejection(&Policy::check_operator, op)) {
    refuse(frazil::Code::bad_input, "the policy refuses operator '{}{}{}': {}", op.domain, op.domain.empty() ? "" : ".",
           op.name, *reason);
  }
}

}  // namespace frazil::api
