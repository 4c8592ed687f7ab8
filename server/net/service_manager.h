#pragma once

#include <string>

#include "server/core/notice.h"

namespace frazil::server {

/// Sends a state, such as "READY=1", to the service manager that started the process: as sd_notify(3), to the socket
/// that NOTIFY_SOCKET names. Does nothing without that variable. Reports a failure to `notify`.
void notify_service_manager(const std::string& state, const NoticeSink& notify);

}  // namespace frazil::server
