#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>

namespace frazil::server {

/// Appends text as a JSON string. Bytes that are no UTF-8 are kept as they are.
inline void append_json(std::string& to, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  to += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      (to += '\\') += c;
    } else if (byte < 0x20) {
      ((to += "\\u00") += kDigits[byte / 16]) += kDigits[byte % 16];
    } else {
      to += c;
    }
  }
  to += '"';
}

/// Appends a number: the shortest text that reads back to the same one.
template <class T>
void append_number(std::string& to, T value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  to.append(text, end);
}

/// Begins a member of an object, behind others or as the first one.
inline void append_key(std::string& to, std::string_view key) {
  if (to.back() != '{') to += ',';
  append_json(to, key);
  to += ':';
}
/// A member that is a text or a number.
template <class T>
void append_member(std::string& to, std::string_view key, const T& value) {
  append_key(to, key);
  if constexpr (std::is_convertible_v<T, std::string_view>)
    append_json(to, value);
  else
    append_number(to, value);
}

/// Appends what `append(item)` does for each, with commas between.
template <class List, class F>
void append_list(std::string& to, const List& list, F append) {
  bool first = true;
  for (const auto& item : list) {
    if (!first) to += ',';
    first = false;
    append(item);
  }
}

}  // namespace frazil::server
