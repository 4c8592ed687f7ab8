#include "govern/base/encoding.h"

namespace frazil::govern {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends the bytes of one group of four characters.
bool decode_group(std::string& bytes, std::string_view group, bool last) {
  const std::size_t padding = group[3] != '=' ? 0 : group[2] != '=' ? 1 : 2;
  if (padding > 0 && !last) return false;
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < 4 - padding; ++i) {
    const std::size_t digit = kBase64.find(group[i]);
    if (digit == std::string_view::npos) return false;
    bits |= static_cast<std::uint32_t>(digit) << (18 - 6 * i);
  }
  for (std::size_t i = 0; i < 3 - padding; ++i) bytes += static_cast<char>(bits >> (16 - 8 * i));
  return (bits & ((1u << (8 * padding)) - 1)) == 0;
}

}  // namespace

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) (text += kHex[byte / 16]) += kHex[byte % 16];
  return text;
}

std::optional<std::string> from_hex(std::string_view text) {
  std::string bytes;
  if (text.size() % 2 != 0) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const std::size_t high = kHex.find(text[i]), low = kHex.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::string base64(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < count; ++k) bits |= std::uint32_t{bytes[i + k]} << (16 - 8 * k);
    for (std::size_t k = 0; k < 4; ++k) text += k <= count ? kBase64[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  if (text.size() % 4 != 0) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    if (!decode_group(bytes, text.substr(i, 4), i + 4 == text.size())) return std::nullopt;
  }
  return bytes;
}

}  // namespace frazil::govern
