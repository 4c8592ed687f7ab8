#pragma once

#include <memory>

#include "govern/audit/audit_log.h"
#include "govern/report/observed.h"
#include "server/core/notice.h"
#include "server/model/served.h"

namespace frazil::server {

/// Compares the path of a call with `allowed` when the call ends, also if it fails. A path that is not within it is
/// counted in Statistics::outside, reported to `notify` and appended to the audit log as an event `alarm`; the request
/// is answered as usual. Requires `call.path`. `allowed` must not be null; `audit` may be null.
void watch_path(Call& call, const Served& target, std::shared_ptr<const govern::PathCheck> allowed,
                const NoticeSink& notify, std::shared_ptr<govern::AuditLog> audit);

}  // namespace frazil::server
