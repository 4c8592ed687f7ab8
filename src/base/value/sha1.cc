#include "base/value/sha1.h"

#include <array>
#include <new>

#include <openssl/evp.h>

#include "base/value/sha256.h"

namespace frazil {

std::string sha1(std::span<const std::byte> bytes) {
  std::array<unsigned char, 20> sum{};
  if (EVP_Digest(bytes.data(), bytes.size(), sum.data(), nullptr, EVP_sha1(), nullptr) != 1) throw std::bad_alloc();
  return hex_of(sum);
}

}  // namespace frazil
