#pragma once

namespace frazil::server {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace frazil::server
