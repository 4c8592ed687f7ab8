#include "server/core/digest.h"

#include <array>
#include <cstring>
#include <new>
#include <utility>

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace frazil::server {

Sha256 sha256_of(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  if (EVP_Digest(bytes.data(), bytes.size(), sum.data(), nullptr, EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
  Sha256 to{};
  std::memcpy(to.data(), sum.data(), to.size());
  return to;
}

std::string hex_of(const Sha256& sum) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * sum.size());
  for (const char byte : sum) {
    const auto value = static_cast<unsigned char>(byte);
    (text += kDigits[value / 16]) += kDigits[value % 16];
  }
  return text;
}

std::string sha256(std::string_view bytes) { return hex_of(sha256_of(bytes)); }

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  const auto* const data = reinterpret_cast<const unsigned char*>(bytes.data());
  if (::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data, bytes.size(), sum.data(), nullptr) ==
      nullptr) {
    throw std::bad_alloc();
  }
  Sha256 to{};
  std::memcpy(to.data(), sum.data(), to.size());
  return hex_of(to);
}

std::optional<std::string> digest_of_key(std::string_view key) {
  if (!key.starts_with(kDigestMark)) return sha256(key);
  std::string hex(key.substr(kDigestMark.size()));
  for (char& digit : hex) digit = digit >= 'A' && digit <= 'F' ? static_cast<char>(digit - 'A' + 'a') : digit;
  const bool good = hex.size() == 2 * sizeof(Sha256) && hex.find_first_not_of("0123456789abcdef") == std::string::npos;
  return good ? std::optional(std::move(hex)) : std::nullopt;
}

}  // namespace frazil::server
