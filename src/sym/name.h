#pragma once

#include <string>
#include <string_view>

namespace frazil::sym {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '?' || c == '$';
}

constexpr bool continues_name(char c) { return starts_name(c) || is_digit(c) || c == '.'; }

/// Returns the symbol name as written in expressions: plain, or in backquotes with the escapes \`, \\ and \xHH (control
/// characters).
std::string quoted_name(std::string_view name);

}  // namespace frazil::sym
