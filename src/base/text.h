#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace frazil {

bool is_utf8(std::string_view text);

/// The code point at byte `at`, which moves behind it; where there is none, nullopt, and `at` stays.
std::optional<char32_t> next_code_point(std::string_view text, std::size_t& at);
/// Appends a code point in UTF-8, U+FFFD for a number that is none.
void append_utf8(std::string& out, char32_t code);

/// The text fit for one line: control characters and bytes that are not UTF-8 as \n, \t or \xHH, the rest as it is.
std::string printable(std::string_view text);
/// The same of the whole code points among the first `most` bytes, then "..." where there are more.
std::string printable(std::string_view text, std::size_t most);

}  // namespace frazil
