#include "base/value/sha256.h"

#include <cstdint>
#include <new>

#include <fmt/format.h>
#include <openssl/evp.h>

namespace frazil {
namespace {

EVP_MD_CTX* context_of(void* context) { return static_cast<EVP_MD_CTX*>(context); }

/// Throws std::bad_alloc on failure, because libcrypto fails here only if memory is exhausted.
void require(int done) {
  if (done != 1) throw std::bad_alloc();
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new(), [](void* context) { EVP_MD_CTX_free(context_of(context)); }) {
  require(context_ != nullptr ? EVP_DigestInit_ex(context_of(context_.get()), EVP_sha256(), nullptr) : 0);
}

void prepare_sha256() { (void)sha256({}); }

void Sha256::add(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(context_of(context_.get()), bytes.data(), bytes.size()));
}

void Sha256::add_text(std::string_view text) {
  const std::uint64_t length = text.size();
  add(std::as_bytes(std::span(&length, 1)));
  add(std::as_bytes(std::span(text)));
}

Sha256::Sum Sha256::sum() {
  Sum sum{};
  require(EVP_DigestFinal_ex(context_of(context_.get()), sum.data(), nullptr));
  return sum;
}

std::string sha256(std::span<const std::byte> bytes) {
  Sha256 sha;
  sha.add(bytes);
  return hex_of(sha.sum());
}

std::string hex_of(std::span<const unsigned char> sum) {
  std::string text;
  for (const unsigned char byte : sum) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace frazil
