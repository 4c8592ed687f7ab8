#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "govern/audit/audit_log.h"
#include "govern/base/json.h"
#include "govern/policy/input.h"

// The inputs of decisions, kept as blobs of the audit log: canonical JSON of {"hook", "input"}, without the fields that
// differ between requests.
namespace frazil::govern {

/// Returns {"hook", "input"} of an input that is not faulty. Fields marked `per request` and absent fields are left
/// out.
Json kept_input(const Input& input);
/// Returns the digest under which an input is kept: that of the canonical text of kept_input().
std::string decision_digest(const Input& input);

/// Keeps the inputs of decisions in an audit log, each once. Thread-safe.
class DecisionLog {
 public:
  /// `audit`: null: nothing is kept.
  explicit DecisionLog(std::shared_ptr<AuditLog> audit) : audit_(std::move(audit)) {}

  /// Stores an input, and returns its digest, which identifies the decision. Returns an empty text without an audit
  /// log, for a faulty input, and for one that JSON cannot hold exactly: an integer beyond 2^53, a text that is not
  /// UTF-8. Throws Code::bad_input if the blob cannot be written.
  std::string keep(const Input& input);
  /// Stores an input, and appends an event `decide` when it is stored for the first time in this process: for
  /// decisions on runs, dispatches and files, which have no event of their own. Returns the digest, as keep().
  std::string keep_permitted(const Input& input, std::string_view policy, std::string_view rule,
                             std::string_view model);

 private:
  const std::shared_ptr<AuditLog> audit_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> stored_;   ///< digests, at most kMostStored; guarded by mutex_
  std::set<std::string, std::less<>> decided_;  ///< policy and digest of events `decide`; guarded by mutex_
};

/// Sets the members `decision` and `blobs` of an event that a decision belongs to. An empty digest changes nothing.
void refer_to_decision(Json& event, std::string_view digest);

/// Sets the member `decision` of an event `request` from its members `model`, `version`, `definition` and `tenant`: the
/// digest of the input of hook `run`, which the event `decide` or `refuse` of the decision has. Thread-safe.
void refer_to_run(Json& event);

}  // namespace frazil::govern
