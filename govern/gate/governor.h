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
#include "govern/gate/change_evidence.h"
#include "govern/gate/decision_log.h"
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
  Json policy_event = Json::object();                    ///< more members of the event `policy`; see ReadPolicy::event
  std::shared_ptr<ChangeEvidence> evidence = {};         ///< approvals and envelope; null: there are none
  std::function<std::int64_t()> now = {};                ///< seconds since 1970; empty: the system's clock
};

/// Events of permitted loads, which are recorded once all parts of a change of the served models are ready.
/// Thread-safe.
class PendingEvents {
 public:
  void add(Json event);

 private:
  friend class Governor;
  std::mutex mutex_;
  std::vector<Json> events_;
};

/// The change that a load is a part of.
struct LoadContext {
  /// The model whose requests the loaded one will answer, if any. The load of another definition is also decided as
  /// hook `publish`, and recorded as that.
  std::optional<api::Model> replaces = {};
  std::shared_ptr<PendingEvents> pending = {};  ///< null: a permitted load is recorded immediately
};

/// Asks the rules of a policy file at each hook of the library, and records what it decided. Thread-safe.
///
/// A rejection names the rule and its reason: "rule 'no_topk': TopK is not approved here". A load or a change that is
/// permitted is recorded before it has an effect; if it cannot be recorded, it is rejected.
class Governor : public std::enable_shared_from_this<Governor> {
 public:
  /// Throws Code::bad_input for a policy that has expired. Records the policy.
  explicit Governor(GovernorOptions options);

  /// Replaces the rules. Decisions that are kept are forgotten. Changes that are being decided finish under the old
  /// rules first. `event` has more members of the event `policy`. Throws Code::bad_input, and keeps the old ones, as
  /// check_replacement().
  void replace(std::shared_ptr<const Policy> policy, Json event = Json::object());
  /// Throws Code::bad_input for a policy that has another name, has expired, or has a serial that is not higher, unless
  /// its text is the same.
  void check_replacement(const Policy& policy) const;
  std::shared_ptr<const Policy> policy() const;
  /// Reads the envelope of edits again; see ChangeEvidence::reload().
  void reload_evidence() {
    if (options_.evidence != nullptr) options_.evidence->reload();
  }

  /// Returns a policy for LoadOptions::policy of one load, which knows the served name and carries the signature of the
  /// files to hook `load`. Edits of the model keep it. The governor lives as long as the policy.
  std::shared_ptr<api::Policy> for_model(ServedName name, LoadContext context = {});
  /// Returns a policy for api::install_policy(). Hook `load` does not know signatures; use hook `file`.
  std::shared_ptr<api::Policy> for_process() { return for_model({}); }

  /// Decides hook `load` for a pipeline by its report, and records it. `before`: the report of the pipeline that it
  /// replaces, if more than the called models differs: `publish` is decided too, and recorded instead. `before` and
  /// `pending` may be null. Returns the reason if the policy rejects it.
  std::optional<std::string> check_pipeline(const Json& report, const ServedName& name, const Json* before = nullptr,
                                            PendingEvents* pending = nullptr);
  /// Records events before the change that they belong to takes effect. Throws Code::bad_input if the policy was
  /// replaced since they were decided, and Code::limit if they cannot be recorded.
  void record_pending(PendingEvents& pending);
  /// Returns the options of the reports that rules read.
  ReportOptions report_options() const { return {.extents = options_.extents}; }

  /// Decides an input that the program has filled, and records a refusal. `model` is recorded with it. Returns the
  /// reason, or nullopt if the policy permits.
  std::optional<std::string> ask(const Input& input, std::string_view model);

 private:
  friend class ModelPolicy;
  struct Verdict {
    std::optional<std::string> reason;  ///< nullopt: permitted
    std::string rule;
    std::string decision = {};  ///< the digest of its input; see DecisionLog
  };
  using Kept = std::map<std::string, Verdict, std::less<>>;

  /// A load or a change, as it is decided and recorded.
  struct Action {
    Hook hook;
    const Json& report;  ///< of the new definition
    Json facts;
    std::optional<std::map<std::string, std::string>> files = {};  ///< digests by name; nullopt: not read from files
    PendingEvents* pending = nullptr;                              ///< null: the event is recorded immediately
  };
  /// Adds what persons signed for a change, decides, and records. Returns the reason if it is not permitted.
  std::optional<std::string> check_action(Action action);
  ChangeProof add_proof(Action& action, const Policy& rules) const;
  std::optional<std::string> check_change(const api::Change& change, ServedName name);
  std::int64_t now() const;
  /// Returns the refusal of an expired policy.
  std::optional<std::string> expiry_of(const Policy& rules) const;
  /// `about`: more members of the event of a refusal.
  Verdict decide(const Policy& rules, const Input& input, std::string_view model, const Json& about = Json::object());
  /// Returns the decision that is kept under `key`, or makes and keeps it.
  std::optional<std::string> kept_or_decided(Kept& kept, const std::string& key, Hook hook, std::string_view model,
                                             const std::function<Json()>& facts);
  void record(Json event);
  /// Records a permitted load or change.
  void record_change(const Policy& rules, const Verdict& verdict, const Action& action, const ChangeProof& proof);

  GovernorOptions options_;
  DecisionLog decisions_;
  std::shared_mutex changing_;  ///< shared by decisions that are recorded with their policy; exclusive: replace()
  mutable std::shared_mutex mutex_;
  std::shared_ptr<const Policy> rules_;  ///< guarded by mutex_
  Kept runs_, dispatches_;               ///< guarded by mutex_
};

}  // namespace frazil::govern
