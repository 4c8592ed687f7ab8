#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace frazil::govern {

/// A SHA-256 digest (FIPS 180-4).
using Digest = std::array<std::uint8_t, 32>;

Digest sha256(std::span<const std::uint8_t> bytes);
Digest sha256(std::string_view text);
/// Returns the digest of the two parts joined, preceded by `tag`: an inner node of RFC 6962 for tag 1.
Digest sha256_joined(std::uint8_t tag, std::span<const std::uint8_t> a, std::span<const std::uint8_t> b = {});
/// Returns the HMAC-SHA-256 (RFC 2104) of a text.
Digest hmac(std::span<const std::uint8_t> key, std::string_view text);
/// Returns "sha256:" and 64 hexadecimal digits, the form of Model::digest().
std::string digest_text(const Digest& digest);

/// Fills with bytes from the system's generator of random numbers. Throws std::bad_alloc if it fails.
void random_bytes(std::span<std::uint8_t> bytes);

}  // namespace frazil::govern
