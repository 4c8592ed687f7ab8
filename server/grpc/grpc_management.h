#pragma once

#include <string>
#include <string_view>

#include "server/access/tenants.h"
#include "server/request/shared_memory.h"
#include "server/service/service.h"

// Triton's gRPC methods for logging, tracing and shared memory. Each takes the bytes of a request and returns those of
// its response. Throws Refusal.
namespace frazil::server::proto {

/// LogSettings. Changes require an administrator and Feature::model_control.
std::string log_settings_response(Service& service, const Tenants::Identity& identity, std::string_view request);
/// TraceSetting, with the same condition.
std::string trace_setting_response(Service& service, const Tenants::Identity& identity, std::string_view request);

std::string shared_memory_status(const SharedMemory& memory, const Tenants::Identity& identity,
                                 std::string_view request);
std::string register_shared_memory(SharedMemory& memory, const Tenants::Identity& identity, std::string_view request);
std::string unregister_shared_memory(SharedMemory& memory, const Tenants::Identity& identity, std::string_view request);

}  // namespace frazil::server::proto
