#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/policy.h>
#include <frazil/worst_case.h>

#include "govern/audit/audit_log.h"
#include "govern/gate/accepted_paths.h"
#include "govern/gate/load_signature.h"
#include "govern/policy/policy.h"
#include "govern/report/report.h"

namespace frazil::govern {

/// The name and the version under which a program serves a model. Empty texts: those of the graph, and none.
struct ServedName {
  std::string model, version;
};

struct GovernorOptions {
  std::shared_ptr<const Policy> policy;                  ///< not null
  std::vector<Person> trusted = {};                      ///< whose signatures of models are valid
  std::shared_ptr<AuditLog> audit = {};                  ///< null: decisions are not recorded
  std::map<std::string, api::ExtentRange> extents = {};  ///< ranges that reports assume; see ReportOptions
  std::function<void(std::string_view)> warn = {};       ///< receives what shadow rules would have refused
};

/// Asks the rules of a policy file at each hook of the library, and records what it decided. Thread-safe.
///
/// A rejection names the rule and its reason: "rule 'no_topk': TopK is not approved here". A load or a change that is
/// permitted is recorded before it has an effect; if it cannot be recorded, it is rejected.
class Governor : public std::enable_shared_from_this<Governor> {
 public:
  /// Throws Code::bad_input for a policy that has expired. Records the policy.
  explicit Governor(GovernorOptions options);

  /// Replaces the rules. Decisions that are kept are forgotten. Throws Code::bad_input, and keeps the old ones, if the
  /// policy has another name, a serial that is not higher, or has expired.
  void replace(std::shared_ptr<const Policy> policy);
  std::shared_ptr<const Policy> policy() const;

  /// Returns a policy for LoadOptions::policy of one load, which knows the served name and carries the signature of the
  /// files to hook `load`. Edits of the model keep it. The governor lives as long as the policy.
  std::shared_ptr<api::Policy> for_model(ServedName name);
  /// Returns a policy for api::install_policy(). Hook `load` does not know signatures; use hook `file`.
  std::shared_ptr<api::Policy> for_process() { return for_model({}); }

  /// Decides hook `load` for a pipeline by its report, and records it. Returns the reason if the policy rejects it.
  std::optional<std::string> check_report(const Json& report, const ServedName& name) {
    return check_report(report, name, {});
  }
  /// Returns the options of the reports that rules read.
  ReportOptions report_options() const { return {.extents = options_.extents}; }

  /// Returns the checks of recorded paths, by the definitions that the policy has accepted.
  const AcceptedPaths& accepted_paths() const { return accepted_; }

  /// Decides an input that the program has filled, and records a refusal. `model` is recorded with it. Returns the
  /// reason, or nullopt if the policy permits.
  std::optional<std::string> ask(const Input& input, std::string_view model);

 private:
  friend class ModelPolicy;
  struct Verdict {
    std::optional<std::string> reason;  ///< nullopt: permitted
    std::string rule;
  };
  using Kept = std::map<std::string, Verdict, std::less<>>;

  std::optional<std::string> check_report(const Json& report, const ServedName& name, const LoadSignature& signature);
  std::optional<std::string> check_change(const api::Change& change, ServedName name);
  Verdict decide(const Policy& rules, const Input& input, std::string_view model);
  /// Returns the decision that is kept under `key`, or makes and keeps it.
  std::optional<std::string> kept_or_decided(Kept& kept, const std::string& key, Hook hook, std::string_view model,
                                             const std::function<Json()>& facts);
  void record(Json event);
  /// Records a permitted load or change of the definition in `facts`, with its report as a blob. Returns the reason if
  /// it is not permitted.
  std::optional<std::string> record_change(std::string_view kind, const Policy& rules, const Verdict& verdict,
                                           const Json& facts, const Json& report);

  GovernorOptions options_;
  AcceptedPaths accepted_;
  mutable std::shared_mutex mutex_;
  std::shared_ptr<const Policy> rules_;  ///< guarded by mutex_
  Kept runs_, dispatches_;               ///< guarded by mutex_
};

}  // namespace frazil::govern
