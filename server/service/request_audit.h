#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "govern/audit/audit_log.h"
#include "govern/audit/subject_keys.h"
#include "server/config/governance_config.h"
#include "server/model/served.h"

namespace frazil::server {

/// The data that the entries of all requests share. The log's writer holds it, so it must not hold the log.
/// Thread-safe.
class RequestEntries {
 public:
  /// `environment`: Environment::digest(). `keys`: of subjects; null: payloads are not sealed.
  RequestEntries(Commitments commitments, std::string environment, std::shared_ptr<govern::SubjectKeys> keys);

  /// Returns whether events commit to inputs and outputs.
  bool commits() const { return commits_; }
  const std::string& environment() const { return environment_; }
  govern::SubjectKeys* keys() const { return keys_.get(); }
  /// Returns a new name for a record.
  std::string next_record();
  /// Returns the identifier of a subject: see SubjectKeys::id_of().
  std::string subject_id(const std::string& subject);
  /// Makes the next subject_id() read the identifier again, as its key was destroyed.
  void forget_subject(const std::string& subject);

 private:
  static constexpr std::size_t kMaxSubjects = 10'000;

  const bool commits_;
  const std::string environment_, prefix_;
  const std::shared_ptr<govern::SubjectKeys> keys_;
  std::atomic<std::uint64_t> records_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::string> subjects_;  ///< identifiers; guarded by mutex_
};

/// Writes an event to an audit log for each request, and with it what a replay of the request needs. Thread-safe.
class RequestAudit {
 public:
  /// As RequestEntries.
  RequestAudit(std::shared_ptr<govern::AuditLog> log, GovernanceConfig config, std::string environment,
               std::shared_ptr<govern::SubjectKeys> keys);

  govern::AuditLog& log() const { return *log_; }
  const GovernanceConfig& config() const { return config_; }
  const std::shared_ptr<RequestEntries>& entries() const { return entries_; }
  /// Returns whether the next request's payload is recorded.
  bool takes_payload() const;

 private:
  const std::shared_ptr<govern::AuditLog> log_;
  const GovernanceConfig config_;
  const std::shared_ptr<RequestEntries> entries_;
};

/// Appends an event when the call ends, also if it fails. The event has the model, its version and digest, the status,
/// the time, the tenant and the steps; no value and no text of the request. With RequestAudit::keys() it commits to
/// inputs and outputs, and the payload is sealed. A request whose event the log refuses fails with
/// Http::unavailable, unless the log counts lost requests (PressureMode::gap). `governed`: a policy decides runs, and
/// the event refers to its decision.
///
/// Call it after other functions that wrap the call's `done`, so that it sees the outcome before them.
void audit_request(Call& call, const Served& target, const std::shared_ptr<RequestAudit>& audit, bool governed);

}  // namespace frazil::server
