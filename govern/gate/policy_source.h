#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "govern/audit/audit_log.h"
#include "govern/gate/governor.h"
#include "govern/policy/policy.h"
#include "govern/sign/approval.h"
#include "govern/sign/document.h"

// The file of a policy that a server follows, and the demands on its signatures.
namespace frazil::govern {

/// The roles of persons whose signatures of policies and of envelopes count.
inline constexpr std::string_view kPolicyRole = "policy", kEnvelopeRole = "envelope";

struct PolicySourceOptions {
  std::string path;         ///< a policy, or a signed document of one (`frazil sign --as policy`)
  std::size_t signers = 0;  ///< distinct persons with the role `policy` that must have signed it; 0: none
  std::vector<Person> trusted = {};
  std::shared_ptr<SerialStore> serials = {};  ///< required if `signers` is not 0
  std::shared_ptr<AuditLog> audit = {};       ///< receives the file as a blob; null: none
};

/// A policy as it was read, and what its event records.
struct ReadPolicy {
  std::shared_ptr<const Policy> policy;  ///< expires with the document, if that is earlier
  Json event = Json::object();           ///< {"signers", "blobs"} for GovernorOptions::policy_event
};

/// Returns whether a text is a signed document rather than a policy.
bool is_signed_document(std::string_view text);

/// Verifies a signed document: the signatures of `signers` distinct persons with the role, the kind and the expiry.
/// Throws Code::bad_input with `what` if it is not accepted. Document::signers are indices of `trusted`.
Document verified_document(std::string_view text, std::string_view kind, std::string_view role, std::size_t signers,
                           const std::vector<Person>& trusted, std::string_view what);

/// Reads the policy of a server, at its start and again. Thread-safe.
class PolicySource {
 public:
  /// Throws Code::bad_input if signatures are demanded and there is no store for serials.
  explicit PolicySource(PolicySourceOptions options);

  /// Reads the policy for the first time. Throws Code::bad_input for a file that cannot be read, for errors of the
  /// policy, with line and column, and if signatures are demanded: for a file that is not signed by enough persons, has
  /// expired, or has a lower serial than one that was accepted before, also by an earlier process.
  ReadPolicy read();

  struct Reloaded {
    bool changed = false;  ///< another policy, or another expiry, is in force
    std::shared_ptr<const Policy> policy;
  };
  /// Reads the file again and gives the governor what it has. A file that has not changed has no effect. Throws as
  /// read() and Governor::replace(); the old policy stays in force then.
  Reloaded reload(Governor& governor);

  const PolicySourceOptions& options() const { return options_; }

 private:
  struct Unaccepted;
  Unaccepted read_unaccepted() const;
  void accept(const Unaccepted& read);

  const PolicySourceOptions options_;
  std::mutex mutex_;  ///< serialises the functions
};

}  // namespace frazil::govern
