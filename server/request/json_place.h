#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace frazil::server {

/// Largest number of levels of objects and lists in a request.
inline constexpr std::size_t kMaxNesting = 100;

/// The words that Python's json module writes for numbers that JSON does not have.
inline constexpr std::pair<std::string_view, double> kNumberWords[] = {
    {"NaN", std::numeric_limits<double>::quiet_NaN()},
    {"Infinity", std::numeric_limits<double>::infinity()},
    {"-Infinity", -std::numeric_limits<double>::infinity()}};
bool is_number_word(std::string_view word);

/// Returns false if split_at_words() finds no number word. Faster than that function.
bool may_have_number_words(std::string_view text);

/// Calls `take(part, is_word)` for all parts of a text in order. A part is a string literal, a number word outside of
/// strings, or other text.
template <class F>
void split_at_words(std::string_view text, F take) {
  constexpr std::string_view kBetween = " \t\r\n,:[]{}";
  while (!text.empty()) {
    std::size_t size = text.find_first_of(kBetween);
    if (text.front() == '"') {
      for (size = 1; size < text.size() && text[size] != '"';) size += text[size] == '\\' ? 2 : 1;
      ++size;
    }
    const std::string_view part = text.substr(0, size == 0 ? 1 : size);
    take(part, is_number_word(part));
    text.remove_prefix(part.size());
  }
}

/// Returns where and why a text is not JSON, such as "line 2, column 5, in inputs[0].data: syntax error ...". Number
/// words are accepted. Returns "" if it finds no fault. Reads the text a second time, so it is for faulty texts only.
std::string json_fault(std::string_view text);

}  // namespace frazil::server
