#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>

#include <frazil/policy.h>
#include <frazil/worst_case.h>

#include "govern/audit/audit_log.h"
#include "govern/policy/policy.h"
#include "govern/report/report.h"

namespace frazil::govern {

/// What a load or a change is for. The program knows it, the graph does not.
struct ActionSubject {
  std::string model, version;  ///< under which it is served
  std::string author, reason;  ///< of a change; empty texts: those of its VersionNote
};

/// Names the subject of what this thread loads or changes, until the end of the scope.
class SubjectScope {
 public:
  explicit SubjectScope(ActionSubject subject);
  ~SubjectScope();
  SubjectScope(const SubjectScope&) = delete;
  SubjectScope& operator=(const SubjectScope&) = delete;

 private:
  ActionSubject subject_;
  const ActionSubject* outer_;
};

struct GovernorOptions {
  std::shared_ptr<const Policy> policy;                  ///< not null
  std::shared_ptr<AuditLog> audit = {};                  ///< null: decisions are not recorded
  std::map<std::string, api::ExtentRange> extents = {};  ///< ranges that reports assume; see ReportOptions
  std::function<void(std::string_view)> warn = {};       ///< receives what shadow rules would have refused
};

/// The policy of a process: asks the rules of a policy file at each hook of the library, and records what it decided.
/// Give it to api::install_policy() or LoadOptions::policy. Thread-safe.
///
/// A rejection names the rule and its reason: "rule 'no_topk': TopK is not approved here". A load or a change that is
/// permitted is recorded before it has an effect; if it cannot be recorded, it is rejected.
class Governor : public api::Policy {
 public:
  /// Throws Code::bad_input for a policy that has expired. Records the policy.
  explicit Governor(GovernorOptions options);

  /// Replaces the rules. Decisions that are kept are forgotten. Throws Code::bad_input, and keeps the old ones, if the
  /// policy has another name, a serial that is not higher, or has expired.
  void replace(std::shared_ptr<const govern::Policy> policy);
  std::shared_ptr<const govern::Policy> policy() const;

  std::optional<std::string> check_file(const api::FileFacts& file) override;
  std::optional<std::string> check_load(const api::Model& model) override;
  std::optional<std::string> check_change(const api::Change& change) override;
  std::optional<std::string> check_run(const api::Model& model) override;
  std::optional<std::string> check_dispatch(const api::Dispatch& dispatch) override;
  std::optional<std::string> check_operator(const api::HostOperator& op) override;

  /// Decides hook `load` for a pipeline by its report, and records it. Returns the reason if the policy rejects it.
  std::optional<std::string> check_report(const Json& report, const ActionSubject& subject);
  /// Returns the options of the reports that rules read.
  ReportOptions report_options() const { return {.extents = options_.extents}; }

  /// Decides an input that the program has filled, and records a refusal. `model` is recorded with it. Returns the
  /// reason, or nullopt if the policy permits.
  std::optional<std::string> ask(const Input& input, std::string_view model);

 private:
  struct Verdict {
    std::optional<std::string> reason;  ///< nullopt: permitted
    std::string rule;
  };
  Verdict decide(const govern::Policy& rules, const Input& input, std::string_view model);
  void record(Json event);
  /// Records a permitted load or change of the definition in `facts`. Returns the reason if it is not permitted.
  std::optional<std::string> record_change(std::string_view kind, const govern::Policy& rules, const Verdict& verdict,
                                           const Json& facts, const std::string& author);

  GovernorOptions options_;
  mutable std::shared_mutex mutex_;
  std::shared_ptr<const govern::Policy> rules_;                    ///< guarded by mutex_
  std::map<std::string, Verdict, std::less<>> runs_, dispatches_;  ///< kept decisions; guarded by mutex_
};

}  // namespace frazil::govern
