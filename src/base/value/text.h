#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace frazil {

bool is_utf8(std::string_view text);

/// Decodes the UTF-8 code point at byte `at` and advances `at` past it. Returns nullopt, with `at` unchanged, if the
/// bytes are invalid.
std::optional<char32_t> next_code_point(std::string_view text, std::size_t& at);
/// Appends a code point in UTF-8; U+FFFD if `code` is not a code point.
void append_utf8(std::string& out, char32_t code);

/// Returns the text without blanks (space, \t, \n, \r, \f, \v) at its ends.
std::string_view trimmed(std::string_view text);

/// Parses a decimal number that is the whole text, with a "-" if it is negative. Returns nullopt for anything else.
std::optional<std::int64_t> parse_integer(std::string_view text);

/// Returns the text on one line. Control characters and invalid UTF-8 are escaped as \n, \t or \xHH.
std::string printable(std::string_view text);
/// Same, for the whole code points among the first `most` bytes. Appends "..." if some were cut off.
std::string printable(std::string_view text, std::size_t most);

/// Returns the edit distance (Levenshtein) of two words of at most 64 bytes if it is at most 2, for suggestions in
/// errors. Returns nullopt for all other words.
std::optional<std::size_t> similarity(std::string_view a, std::string_view b);
/// Returns true if the words have a similarity().
bool is_similar(std::string_view a, std::string_view b);

}  // namespace frazil
