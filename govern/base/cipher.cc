#include "govern/base/cipher.h"

#include <memory>
#include <new>

#include <openssl/err.h>
#include <openssl/evp.h>

#include "govern/base/encoding.h"
#include "govern/base/error.h"

namespace frazil::govern {
namespace {

constexpr std::size_t kNonceBytes = 12, kTagBytes = 16, kMaxSealedBytes = std::size_t{1} << 30;

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;

void need(bool done) {
  if (!done) throw std::bad_alloc();
}

std::uint8_t* writable(std::string& text) { return reinterpret_cast<std::uint8_t*>(text.data()); }

/// Passes `text` through the cipher after the context, and returns what comes out.
std::string pass(EVP_CIPHER_CTX* cipher, std::string_view context, std::string_view text) {
  if (std::max(context.size(), text.size()) > kMaxSealedBytes) {
    fail(Code::limit, "a text of {} bytes: at most {} are encrypted", text.size(), kMaxSealedBytes);
  }
  int size = 0;
  const auto header = bytes_of(context), bytes = bytes_of(text);
  need(EVP_CipherUpdate(cipher, nullptr, &size, header.data(), static_cast<int>(header.size())) == 1);
  std::string out(text.size(), '\0');
  need(EVP_CipherUpdate(cipher, writable(out), &size, bytes.data(), static_cast<int>(bytes.size())) == 1);
  return out;
}

}  // namespace

std::string seal(const Digest& key, std::string_view context, std::string_view text) {
  std::array<std::uint8_t, kNonceBytes> nonce;
  random_bytes(nonce);
  const CipherContext cipher(EVP_CIPHER_CTX_new());
  need(cipher && EVP_CipherInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce.data(), 1) == 1);
  std::string sealed(text_of(nonce)), tag(kTagBytes, '\0'), rest(kTagBytes, '\0');
  sealed += pass(cipher.get(), context, text);
  int size = 0;
  need(EVP_CipherFinal_ex(cipher.get(), writable(rest), &size) == 1);
  need(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, tag.data()) == 1);
  return sealed + tag;
}

std::optional<std::string> unseal(const Digest& key, std::string_view context, std::string_view sealed) {
  if (sealed.size() < kNonceBytes + kTagBytes) return std::nullopt;
  const auto nonce = bytes_of(sealed.substr(0, kNonceBytes));
  std::string tag(sealed.substr(sealed.size() - kTagBytes)), rest(kTagBytes, '\0');
  const CipherContext cipher(EVP_CIPHER_CTX_new());
  need(cipher && EVP_CipherInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce.data(), 0) == 1);
  std::string text = pass(cipher.get(), context, sealed.substr(kNonceBytes, sealed.size() - kNonceBytes - kTagBytes));
  need(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1);
  int size = 0;
  const bool valid = EVP_CipherFinal_ex(cipher.get(), writable(rest), &size) == 1;
  ERR_clear_error();
  return valid ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace frazil::govern
