#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace frazil {

/// The SHA-256 digest (FIPS 180-4) of parts that are added one by one. Content with equal digests may be treated as
/// equal. Throws std::bad_alloc.
class Sha256 {
 public:
  using Sum = std::array<unsigned char, 32>;

  Sha256();
  void add(std::span<const std::byte> bytes);
  /// Adds the length of the text and the text, so that different parts never make equal bytes.
  void add_text(std::string_view text);
  /// Returns the digest. No part may be added afterwards.
  Sum sum();

 private:
  std::unique_ptr<void, void (*)(void*)> context_;
};

/// Makes libcrypto register its cleanup at exit, if it has not. Exit handlers that are registered later run before it.
void prepare_sha256();

/// Returns the digest in lower-case hex, 64 digits.
std::string sha256(std::span<const std::byte> bytes);
/// Returns two lower-case hex digits for each byte.
std::string hex_of(std::span<const unsigned char> sum);

}  // namespace frazil
