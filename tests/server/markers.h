#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/core/digest.h"

// Values that occur nowhere by chance, and the search for them in all of their forms.
namespace frazil::test {

inline std::string base64_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8U | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) text += i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 63U];
  }
  return text;
}

inline std::string hex_of_bytes(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    for (const unsigned shift : {4U, 0U}) text += "0123456789abcdef"[static_cast<unsigned char>(c) >> shift & 15U];
  }
  return text;
}

/// Makes markers and finds them in texts. Seeded, so that each run has the same.
class Markers {
 public:
  explicit Markers(std::uint64_t seed) : random_(seed) {}

  /// Returns a text of 20 letters and digits.
  std::string text() {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
    std::string text = "m";
    while (text.size() < 20) text += kLetters[random_() % kLetters.size()];
    add(text, {text, base64_of(text), hex_of_bytes(text)});
    return text;
  }
  /// Returns a text of hexadecimal digits that are not all 0.
  std::string hex(std::size_t digits) {
    std::string text = "f";
    while (text.size() < digits) text += "0123456789abcdef"[random_() % 16];
    add(text, {text});
    return text;
  }
  /// Returns a number of 15 decimal digits, which a double holds.
  std::int64_t whole() {
    const auto number = static_cast<std::int64_t>(100'000'000'000'000 + random_() % 899'000'000'000'000);
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, number, 16).ptr;
    add(std::to_string(number),
        {std::to_string(number), std::string(digits, end), in_floats(static_cast<double>(number)), bytes_of(number),
         base64_of(bytes_of(number))});
    return number;
  }
  /// Returns a float of about 1e25.
  float real() {
    const auto number = static_cast<float>(std::uniform_real_distribution<double>(1e24, 9e24)(random_));
    char digits[64];
    const auto shortest = std::to_chars(digits, digits + sizeof digits, number).ptr;
    const std::string text(digits, shortest);
    add(text, {text, in_floats(number), std::to_string(number), bytes_of(number) + bytes_of(number)});
    return number;
  }
  std::size_t count() const { return count_; }

  /// Returns the markers whose forms occur in a text.
  std::set<std::string> found_in(std::string_view text) const {
    std::set<std::string> found;
    for (std::size_t at = 0; at + kBegin <= text.size(); ++at) {
      const auto forms = forms_.find(begin_of(text.substr(at)));
      if (forms == forms_.end()) continue;
      for (const auto& [form, marker] : forms->second) {
        if (text.substr(at).starts_with(form)) found.insert(marker);
      }
    }
    return found;
  }

 private:
  static constexpr std::size_t kBegin = 8;

  template <class T>
  static std::string bytes_of(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }
  static std::string in_floats(double number) {
    char digits[64];
    return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
  }
  static std::uint64_t begin_of(std::string_view text) {
    std::uint64_t begin = 0;
    std::memcpy(&begin, text.data(), sizeof begin);
    return begin;
  }
  void add(const std::string& marker, std::set<std::string> forms) {
    ++count_;
    for (const std::string& form : forms) {
      if (form.size() >= kBegin) forms_[begin_of(form)].emplace_back(form, marker);
    }
  }

  std::mt19937_64 random_;
  std::size_t count_ = 0;
  std::unordered_map<std::uint64_t, std::vector<std::pair<std::string, std::string>>> forms_;  ///< by their first bytes
};

}  // namespace frazil::test
