#pragma once

#include <string>

#include "govern/audit/audit_log.h"
#include "server/service/service_options.h"

namespace frazil::server {

/// Erases what the server's audit log has about a subject, as govern::AuditLog::erase(). `actor` is the caller. Throws
/// Refusal: bad_request without an audit log or keys of subjects, for a subject without a key and for one that is held;
/// unavailable if the log cannot be written.
govern::EraseResult erase_subject(const ServiceOptions& options, const std::string& subject, const std::string& actor);

}  // namespace frazil::server
