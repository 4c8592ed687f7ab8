#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace frazil::govern {

/// Returns the bytes of a text.
inline std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Returns two lower-case hexadecimal digits for each byte.
std::string hex(std::span<const std::uint8_t> bytes);
/// Returns the bytes of lower-case hexadecimal digits, or nullopt for any other text.
std::optional<std::string> from_hex(std::string_view text);

/// Returns the standard base64 form with padding (RFC 4648, section 4).
std::string base64(std::span<const std::uint8_t> bytes);
/// Returns the bytes of the standard form, or nullopt for any other text: without padding, with spaces, or with bits
/// after the last byte. Each sequence of bytes has exactly one accepted text.
std::optional<std::string> from_base64(std::string_view text);

/// Appends a big-endian number.
template <class T>
void append_big_endian(std::string& to, T number) {
  for (int shift = 8 * (static_cast<int>(sizeof(T)) - 1); shift >= 0; shift -= 8)
    to += static_cast<char>(number >> shift);
}

}  // namespace frazil::govern
