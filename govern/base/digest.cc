#include "govern/base/digest.h"

#include <initializer_list>
#include <memory>
#include <new>

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "govern/base/encoding.h"

namespace frazil::govern {
namespace {

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

/// Returns the digest of parts in a row. SHA256() of OpenSSL 3 looks the algorithm up each time, which takes longer
/// than hashing a node.
Digest sha256_of(std::initializer_list<std::span<const std::uint8_t>> parts) {
  static EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  thread_local const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  bool done = context != nullptr && EVP_DigestInit_ex(context.get(), algorithm, nullptr) == 1;
  for (const auto part : parts) done = done && EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1;
  Digest digest;
  if (!done || EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) != 1) throw std::bad_alloc();
  return digest;
}

}  // namespace

Digest sha256(std::span<const std::uint8_t> bytes) { return sha256_of({bytes}); }

Digest sha256(std::string_view text) { return sha256(bytes_of(text)); }

Digest sha256_joined(std::uint8_t tag, std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  return sha256_of({{&tag, 1}, a, b});
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
