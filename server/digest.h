#pragma once

#include <string>
#include <string_view>

namespace frazil::server {

/// SHA-256 as 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace frazil::server
