#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace frazil::server {

/// Returns what each tenant has spent since 00:00 UTC, in nanoseconds times prices, by the events `request` and `cost`
/// of an audit log. The empty name is that of callers without a tenant. Empty for a folder without a log. Reads the
/// whole log up to its last checkpoint. Throws api::Error for a damaged log.
std::map<std::string, std::int64_t> spent_today(const std::string& folder, std::int64_t now_ms);

}  // namespace frazil::server
