#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <CLI/App.hpp>

#include "govern/audit/audit_log.h"
#include "server/service/service_options.h"

// The options of 'frazil serve' for governance: the policy, approvals, and the audit log with its witnesses.
namespace frazil::tool {

struct GovernanceOptions {
  std::string policy, trust, policy_serials;
  std::size_t policy_signers = 0;
  std::vector<std::string> extents;  ///< NAME=LEAST..MOST
  std::string approvals, environment, envelope;
  std::size_t envelope_signers = 1;
  std::string audit, audit_key, audit_origin = "localhost/frazil";
  std::string witness_policy;
  govern::WitnessMode witness_mode = govern::WitnessMode::proceed;
  double witness_patience_s = 60;
};

void add_governance(CLI::App& command, GovernanceOptions& to);

/// Opens the audit log, and records the start. Returns null without --audit. Throws api::Error for files that cannot be
/// used, and if a witness knows a later state of the log.
std::shared_ptr<govern::AuditLog> audit_log_of(const GovernanceOptions& options);

/// Sets the governor of a service, if there is a policy. `to.audit` is audit_log_of(). Throws api::Error for files that
/// cannot be used or are not signed as demanded.
void govern_service(const GovernanceOptions& options, server::ServiceOptions& to);

/// Closes an audit log in order, also if the server could not start.
class AuditEnd {
 public:
  explicit AuditEnd(std::shared_ptr<govern::AuditLog> audit) : audit_(std::move(audit)) {}
  ~AuditEnd();
  AuditEnd(const AuditEnd&) = delete;
  AuditEnd& operator=(const AuditEnd&) = delete;
  void close(const char* reason);

 private:
  std::shared_ptr<govern::AuditLog> audit_;
};

}  // namespace frazil::tool
