#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace frazil::server {

using Sha256 = std::array<char, 32>;

Sha256 sha256_of(std::string_view bytes);
/// Returns the sum as 64 hexadecimal digits.
std::string hex_of(const Sha256& sum);
/// Returns the SHA-256 of bytes as 64 hexadecimal digits.
std::string sha256(std::string_view bytes);
/// Returns the HMAC of bytes with SHA-256 as 64 hexadecimal digits.
std::string hmac_sha256(std::string_view key, std::string_view bytes);

/// Begins a key that is given by its SHA-256.
inline constexpr std::string_view kDigestMark = "sha256:";
/// Returns the SHA-256 of a key, given as it is or as sha256:HEX, as 64 lower-case digits. Returns nullopt if HEX is
/// not 64 hexadecimal digits.
std::optional<std::string> digest_of_key(std::string_view key);

}  // namespace frazil::server
