#pragma once

#include <array>
#include <string>
#include <string_view>

namespace frazil::server {

using Sha256 = std::array<char, 32>;

Sha256 sha256_of(std::string_view bytes);
/// Returns the sum as 64 hexadecimal digits.
std::string hex_of(const Sha256& sum);
/// Returns the SHA-256 of bytes as 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace frazil::server
