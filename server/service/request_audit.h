#pragma once

#include <memory>

#include "govern/audit/audit_log.h"
#include "server/model/served.h"

namespace frazil::server {

/// Appends an event to an audit log when the call ends, also if it fails. The event has the model, its version and
/// digest, the status, the time and the tenant; no value and no text of the request. A request whose event cannot be
/// written fails with Http::unavailable, unless the log counts lost requests (PressureMode::gap). `governed`: a
/// policy decides runs, and the event refers to its decision.
void audit_request(Call& call, const Served& target, std::shared_ptr<govern::AuditLog> audit, bool governed);

}  // namespace frazil::server
