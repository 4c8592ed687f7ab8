#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace frazil::server {

/// Decodes percent-encoding; returns nullopt if an escape is truncated or not hexadecimal.
std::optional<std::string> decoded(std::string_view text);

/// Parses "a=1&b=x%20y" into a map. Throws Refusal (bad_request) for a part that is not KEY=VALUE.
std::map<std::string, std::string> query_of(std::string_view text);

}  // namespace frazil::server
