#pragma once

#include <string_view>

namespace frazil::server {

/// The protocol extensions of Triton that REST and gRPC have in common.
inline constexpr std::string_view kExtensions[] = {"classification",
                                                   "logging",
                                                   "model_configuration",
                                                   "model_repository",
                                                   "model_repository(unload_dependents)",
                                                   "parameters",
                                                   "schedule_policy",
                                                   "sequence",
                                                   "sequence(string_id)",
                                                   "statistics",
                                                   "system_shared_memory",
                                                   "trace"};

}  // namespace frazil::server
