#include "server/digest.h"

#include <array>
#include <new>

#include <openssl/evp.h>

namespace frazil::server {

std::string sha256(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), sum.data(), &size, EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < size; ++i) (text += kDigits[sum[i] / 16]) += kDigits[sum[i] % 16];
  return text;
}

}  // namespace frazil::server
