#pragma once

#include <cstddef>
#include <string_view>

#include "server/http/rest.h"

namespace frazil::server {

/// Refuses a body that is too long to parse on the transport's thread. Throws Refusal (too_large).
void check_short(std::string_view body);

}  // namespace frazil::server

// The answers of routes that need neither a worker nor a place. They throw Refusal.
namespace frazil::server::at_once {

using Asked = Rest::ActiveRequest;

Reply live(Service& service, const Asked& asked);
Reply ready(Service& service, const Asked& asked);
Reply server_metadata(Service& service, const Asked& asked);
Reply model_metadata(Service& service, const Asked& asked);
Reply model_ready(Service& service, const Asked& asked);
Reply model_config(Service& service, const Asked& asked);
Reply model_statistics(Service& service, const Asked& asked);
Reply model_splits(Service& service, const Asked& asked);
Reply model_graph(Service& service, const Asked& asked);
Reply all_statistics(Service& service, const Asked& asked);
Reply list_paths(Service& service, const Asked& asked);
Reply show_path(Service& service, const Asked& asked);
Reply log_settings(Service& service, const Asked& asked);
Reply set_log_settings(Service& service, const Asked& asked);
Reply trace_setting(Service& service, const Asked& asked);
Reply set_trace_setting(Service& service, const Asked& asked);
Reply set_model_trace_setting(Service& service, const Asked& asked);
Reply shared_memory_status(Service& service, const Asked& asked);
Reply register_shared_memory(Service& service, const Asked& asked);
Reply unregister_shared_memory(Service& service, const Asked& asked);
Reply page(Service& service, const Asked& asked);
Reply metrics(Service& service, const Asked& asked);

}  // namespace frazil::server::at_once
