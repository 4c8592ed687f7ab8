#include "govern/base/digest.h"

#include <new>

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include "govern/base/encoding.h"

namespace frazil::govern {

Digest sha256(std::span<const std::uint8_t> bytes) {
  Digest digest;
  SHA256(bytes.data(), bytes.size(), digest.data());
  return digest;
}

Digest sha256(std::string_view text) { return sha256(bytes_of(text)); }

Digest sha256_joined(std::uint8_t tag, std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  std::string text(1, static_cast<char>(tag));
  text.append(text_of(a)).append(text_of(b));
  return sha256(text);
}

Digest hmac(std::span<const std::uint8_t> key, std::string_view text) {
  Digest digest;
  unsigned size = 0;
  const auto bytes = bytes_of(text);
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes.data(), bytes.size(), digest.data(), &size) ==
      nullptr) {
    throw std::bad_alloc();
  }
  return digest;
}

std::string digest_text(const Digest& digest) { return "sha256:" + hex(digest); }

void random_bytes(std::span<std::uint8_t> bytes) {
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) throw std::bad_alloc();
}

}  // namespace frazil::govern
