#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/policy.h>
#include <frazil/worst_case.h>

#include "govern/audit/audit_log.h"
#include "govern/gate/accepted_paths.h"
#include "govern/gate/change_evidence.h"
#include "govern/gate/decision_log.h"
#include "govern/gate/kept_decisions.h"
#include "govern/gate/load_signature.h"
#include "govern/gate/questions.h"
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
  std::int64_t (*now)() = [] { return std::int64_t{std::time(nullptr)}; };  ///< seconds since 1970; must be fast
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

/// The place where hook `run` is asked for a model.
enum class RunChecks : std::uint8_t {
  in_library,    ///< by each run of the library, without a tenant
  at_admission,  ///< by the program, once for a request: check_run(). The library does not ask again.
};

/// The tenants of the requests that the present thread runs, for hook `dispatch` of nodes frazil.Call. A batch has
/// several. Scopes may be nested; the innermost applies. Outside of all scopes the tenant is empty.
class RequestScope {
 public:
  explicit RequestScope(std::span<const TenantRef> tenants) : before_(current_) { current_ = tenants; }
  ~RequestScope() { current_ = before_; }
  RequestScope(const RequestScope&) = delete;
  RequestScope& operator=(const RequestScope&) = delete;
  static std::span<const TenantRef> current() { return current_; }

 private:
  static thread_local std::span<const TenantRef> current_;
  std::span<const TenantRef> before_;
};

/// Asks the rules of a policy file at each hook, and records what it decided. Thread-safe.
///
/// A rejection names the rule and its reason: "rule 'no_topk': TopK is not approved here". Functions named check_...
/// return the rejection, or nullopt if the policy permits. If one throws, the action is rejected as well. What is
/// permitted is recorded before it has an effect; if it cannot be recorded, it is rejected. A policy that has expired
/// permits nothing.
class Governor : public std::enable_shared_from_this<Governor> {
 public:
  using Rejection = std::optional<std::string>;

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
  /// Returns the number of the present edition of the policy, unique in the process; 0 if the policy has expired. Takes
  /// no lock.
  std::uint32_t in_force() const noexcept {
    const std::uint32_t edition = edition_.load(std::memory_order_acquire);
    const std::int64_t until = until_.load(std::memory_order_relaxed);
    return until != kNoExpiry && options_.now() >= until ? 0 : edition;
  }

  /// Returns a policy for LoadOptions::policy of one load, which knows the served name and carries the signature of the
  /// files to hook `load`. Edits of the model keep it. The governor lives as long as the policy.
  std::shared_ptr<api::Policy> for_model(ServedName name, RunChecks runs = RunChecks::in_library,
                                         LoadContext context = {});
  /// Returns a policy for api::install_policy(). Hook `load` does not know signatures; use hook `file`.
  std::shared_ptr<api::Policy> for_process() { return for_model({}); }

  /// Decides hook `load` for a pipeline by its report, and records it. `before`: the report of the pipeline that it
  /// replaces, if more than the called models differs: `publish` is decided too, and recorded instead. `before` and
  /// `pending` may be null.
  Rejection check_pipeline(const Json& report, const ServedName& name, const Json* before = nullptr,
                           PendingEvents* pending = nullptr);
  /// Records events before the change that they belong to takes effect. Throws Code::bad_input if the policy was
  /// replaced since they were decided, and Code::limit if they cannot be recorded.
  void record_pending(PendingEvents& pending);
  /// Returns the options of the reports that rules read.
  ReportOptions report_options() const { return {.extents = options_.extents}; }
  /// Returns the checks of recorded paths, by the definitions that the policy has accepted.
  const AcceptedPaths& accepted_paths() const { return accepted_; }
  /// Returns the bounds of a request in the report of a definition that was loaded or changed; nothing if there are
  /// none.
  RunForecast bounds_of(std::string_view digest) const;

  /// Decides hook `run`. Permits are kept unless a rule reads a field that differs between requests; a kept one costs a
  /// look-up of at most 50 ns. Otherwise calls `make(per_request)`, which returns the RunQuestion. `per_request`: also
  /// its fields that differ between requests.
  template <class Make>
  Rejection check_run(KeptDecisions& kept, const TenantRef& tenant, const Make& make) {
    if (kept.permits(in_force(), tenant.number)) return std::nullopt;
    const InForce now = current();
    return decide_run(now, kept, tenant, make(now.rules->reads_request(Hook::run)));
  }
  /// Decides hook `dispatch`, as check_run(). `kept` belongs to one caller, called digest, `by` and `explicit_version`.
  template <class Make>
  Rejection check_dispatch(KeptDecisions& kept, const TenantRef& tenant, const Make& make) {
    if (kept.permits(in_force(), tenant.number)) return std::nullopt;
    return decide_dispatch(kept, tenant, make());
  }
  Rejection check_external(const ExternalQuestion& question, const TenantRef& tenant);
  /// `is_change`: the event survives a crash before this returns; otherwise it is written soon.
  Rejection check_admin(const AdminQuestion& question, bool is_change);
  /// Decides hook `config`. Records an event `config` and those of tenants. Call not_applied() if the change fails
  /// afterwards.
  Rejection check_config(const ConfigQuestion& question);
  /// Records that a permitted change of the configuration did not take effect.
  void not_applied(const ConfigQuestion& question);
  /// Decides hook `register`, and records it. After begin_serving() every registration is rejected.
  Rejection check_register(const RegisterQuestion& question);
  void begin_serving() { serving_ = true; }

  /// Decides an input that the program has filled, and records a refusal. `model` is recorded with it.
  Rejection ask(const Input& input, std::string_view model);

 private:
  friend class ModelPolicy;
  static constexpr std::int64_t kNoExpiry = std::numeric_limits<std::int64_t>::max();
  struct Verdict {
    Rejection reason;  ///< nullopt: permitted
    std::string rule;
    std::string decision = {};  ///< the digest of its input; see DecisionLog
  };
  /// The subject of a refusal, for its event.
  struct About {
    std::string_view model, tenant = {};
    Json more = Json::object();  ///< further members
  };
  struct InForce {
    std::shared_ptr<const Policy> rules;
    std::uint32_t edition;
  };

  InForce current() const;
  Rejection decide_run(const InForce& now, KeptDecisions& kept, const TenantRef& tenant, const RunQuestion& question);
  Rejection decide_dispatch(KeptDecisions& kept, const TenantRef& tenant, const DispatchQuestion& question);
  void note_permit(const InForce& now, KeptDecisions& kept, const TenantRef& tenant, const Input& input,
                   const Verdict& verdict, std::string_view model);
  /// A load or a change, as it is decided and recorded.
  struct Action {
    Hook hook;
    const Json& report;  ///< of the new definition
    Json facts;
    std::optional<std::map<std::string, std::string>> files = {};  ///< digests by name; nullopt: not read from files
    PendingEvents* pending = nullptr;                              ///< null: the event is recorded immediately
  };
  /// Adds what persons signed for a change, decides, and records. Returns the reason if it is not permitted.
  Rejection check_action(Action action);
  ChangeProof add_proof(Action& action, const Policy& rules) const;
  /// Returns the refusal of an expired policy.
  std::optional<std::string> expiry_of(const Policy& rules) const;
  Rejection check_change(const api::Change& change, ServedName name);
  /// Decides, and records a refusal.
  Verdict decide(const Policy& rules, const Input& input, const About& about);
  /// Appends an event. `durable`: it survives a crash when this returns.
  void record(Json event, bool durable = true);
  /// Records a permitted load or change, with its report as a blob.
  void record_change(const Policy& rules, const Verdict& verdict, const Action& action, const ChangeProof& proof);

  GovernorOptions options_;
  DecisionLog decisions_;
  AcceptedPaths accepted_;
  std::shared_mutex changing_;  ///< shared by decisions that are recorded with their policy; exclusive: replace()
  mutable std::shared_mutex mutex_;
  std::shared_ptr<const Policy> rules_;                     ///< guarded by mutex_
  std::map<std::string, RunForecast, std::less<>> bounds_;  ///< by digest; guarded by mutex_
  std::atomic<std::uint32_t> edition_ = 0;
  std::atomic<std::int64_t> until_ = kNoExpiry;
  std::atomic<bool> serving_ = false;
};

/// A policy for api::install_policy() that decides registrations alone: custom operators, and host functions of
/// servers. Operators of the domain "frazil.server", which are part of the server, are not asked.
class RegistrationPolicy : public api::Policy {
 public:
  explicit RegistrationPolicy(std::shared_ptr<Governor> governor) : governor_(std::move(governor)) {}
  std::optional<std::string> check_operator(const api::HostOperator& op) override;
  Governor::Rejection check_function(const std::string& name);

 private:
  const std::shared_ptr<Governor> governor_;
};

}  // namespace frazil::govern
