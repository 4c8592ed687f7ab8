#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <frazil/model.h>
#include <frazil/policy.h>

#include "govern/gate/governor.h"

namespace frazil::govern {

/// Decisions of a library's hook by the digest of a definition and the tenant, for the present edition of the policy.
/// Not thread-safe.
class DecisionsByDigest {
 public:
  using Key = std::pair<std::string, std::uint32_t>;  ///< digest, with what else the decision depends on; tenant
  const Governor::Rejection* find(std::uint32_t edition, const Key& key) const;
  void keep(std::uint32_t edition, Key key, Governor::Rejection rejection);

 private:
  std::uint32_t edition_ = 0;
  std::map<Key, Governor::Rejection> decisions_;
};

/// Forwards the checks of one model, or of a process, to a governor. Thread-safe.
class ModelPolicy : public api::Policy {
 public:
  ModelPolicy(std::shared_ptr<Governor> governor, ServedName name, RunChecks runs, LoadContext context)
      : governor_(std::move(governor)), name_(std::move(name)), runs_(runs), context_(std::move(context)) {}

  std::optional<std::string> check_file(const api::FileFacts& file) override;
  std::optional<std::string> check_load(const api::Model& model) override;
  bool loads_changed_models() const override { return false; }
  std::optional<std::string> check_change(const api::Change& change) override;
  std::optional<std::string> check_run(const api::Model& model) override;
  std::optional<std::string> check_dispatch(const api::Dispatch& dispatch) override;
  std::optional<std::string> check_operator(const api::HostOperator& op) override;

 private:
  Governor::Rejection check_loaded(const api::Model& model, const Json& report, const LoadSignature& signature);
  ServedName named(const api::Model& model) const;
  LoadSignature signature_with(const api::FileFacts& file, const std::string& digest);
  Governor::Rejection check_dispatch(const DispatchQuestion& question, const TenantRef& tenant);
  void know_calls(const api::Model& model);

  const std::shared_ptr<Governor> governor_;
  const ServedName name_;
  const RunChecks runs_;
  std::mutex mutex_;  // guards the members below
  LoadSignature signature_;
  std::map<std::string, std::string> files_;  ///< digests by name
  LoadContext context_;                       ///< until the load is decided
  std::vector<api::ModelCall> calls_;         ///< of the definitions of this model so far
  DecisionsByDigest run_decisions_, dispatch_decisions_;
};

}  // namespace frazil::govern
