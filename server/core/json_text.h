#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace frazil::server {

/// Appends the shortest text that reads back as the same number.
template <class T>
void append_number(std::string& to, T value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  to.append(text, end);
}

/// Returns the shortest text that reads back as the same number.
template <class T>
std::string number_text(T value) {
  std::string text;
  append_number(text, value);
  return text;
}

/// A writer of JSON that adds commas and escapes. Calls must nest as JSON does. All JSON is produced with this class.
class JsonText {
 public:
  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }

  void key(std::string_view name) {
    value(name);
    text_ += ':';
    separate_ = false;
  }
  /// Writes a string, a number or a boolean. Bytes of strings that are not UTF-8 are copied unchanged.
  template <class T>
  void value(const T& item) {
    begin_value();
    if constexpr (std::is_same_v<T, bool>)
      text_ += item ? "true" : "false";
    else if constexpr (std::is_convertible_v<T, std::string_view>)
      append_string(item);
    else
      append_number(text_, item);
  }
  template <class T>
  void member(std::string_view name, const T& item) {
    key(name);
    value(item);
  }
  /// Writes text that is already JSON.
  void json(std::string_view text) {
    begin_value();
    text_ += text;
  }
  /// Writes an array; `write(item)` writes each item.
  template <class List, class F>
  void array(const List& list, F write) {
    begin_array();
    for (const auto& item : list) write(item);
    end_array();
  }
  template <class List>
  void array(const List& list) {
    array(list, [this](const auto& item) { this->value(item); });
  }

  std::size_t size() const { return text_.size(); }
  std::string take() { return std::move(text_); }

 private:
  void begin_value() {
    if (std::exchange(separate_, true)) text_ += ',';
  }
  void open(char bracket) {
    begin_value();
    text_ += bracket;
    separate_ = false;
  }
  void close(char bracket) {
    text_ += bracket;
    separate_ = true;
  }
  void append_string(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text_ += '"';
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        (text_ += '\\') += c;
      } else if (byte < 0x20) {
        ((text_ += "\\u00") += kDigits[byte / 16]) += kDigits[byte % 16];
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  std::string text_;
  bool separate_ = false;  // a comma must precede the next value
};

}  // namespace frazil::server
