#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "govern/base/json.h"
#include "govern/sign/approval.h"
#include "govern/sign/document.h"
#include "govern/sign/edit_envelope.h"

// The signed evidence for a change: approvals in a folder, and the envelope of edits.
namespace frazil::govern {

struct EvidenceOptions {
  std::vector<Person> trusted = {};
  std::string approvals = {};                 ///< the folder of approvals, files NAME.approval; empty: none are read
  std::string environment = {};               ///< that approvals must name; required if `approvals` is given
  std::string envelope = {};                  ///< a signed document of an envelope; empty: nothing is within one
  std::size_t envelope_signers = 1;           ///< distinct persons with the role `envelope` that must have signed it
  std::shared_ptr<SerialStore> serials = {};  ///< required if `envelope` is given
};

/// A change as approvals name it.
struct ChangeSubject {
  std::string model;                                             ///< its served name
  std::string definition;                                        ///< digest
  std::string parent;                                            ///< digest; empty: there is none
  std::optional<std::map<std::string, std::string>> files = {};  ///< digests by name; nullopt: not read from files
  std::string policy;                                            ///< digest
  std::string author;                                            ///< empty: not known
};

/// The evidence of a change, for rules and for the audit log.
struct ChangeProof {
  Json approvals;                ///< the record `approvals` of the hooks edit, publish and roll_back
  bool within_envelope = false;  ///< the field of that name
  Json about;                    ///< member `approvals` of the event: {"counted", "not_counted", "envelope", "outside"}
  std::vector<Json> events;      ///< events `approval` of those that count
};

/// Finds the approvals of changes, and decides whether changes are within the envelope. Thread-safe.
class ChangeEvidence {
 public:
  /// Reads the envelope. Throws Code::bad_input for an envelope that cannot be read, is not signed by enough persons,
  /// or has a lower serial than before, and for approvals without an environment.
  explicit ChangeEvidence(EvidenceOptions options);

  /// Reads the approvals that are there now. `report` is that of the new definition. Approvals of other definitions are
  /// not mentioned. Files that cannot be read do not count, with a reason.
  ChangeProof of(const ChangeSubject& subject, const Json& report) const;
  /// Reads the envelope again. Throws as the constructor; the old envelope stays then.
  void reload();

 private:
  struct Bounds {
    EditEnvelope envelope;
    std::string digest;
    Moment not_after = 0;
  };
  std::optional<Bounds> read_bounds() const;
  std::vector<ApprovalFile> approvals_of(const std::string& definition, std::vector<std::string>& reasons) const;
  void add_envelope(const Json& report, ChangeProof& proof) const;

  const EvidenceOptions options_;
  mutable std::mutex mutex_;
  std::optional<Bounds> bounds_;  ///< guarded by mutex_
};

/// Returns a report with the members that contains() reads: opset 0 for operators without one, digests of called
/// models that are not known as null.
Json report_for_envelope(Json report);

}  // namespace frazil::govern
