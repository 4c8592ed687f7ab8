#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace frazil::server {

/// "%20" and the like as the bytes that they stand for; nothing where one is cut off or no hexadecimal number.
std::optional<std::string> decoded(std::string_view text);

/// "a=1&b=x%20y" by key. Throws Refusal (bad_request) for a part that is no KEY=VALUE.
std::map<std::string, std::string> query_of(std::string_view text);

}  // namespace frazil::server
