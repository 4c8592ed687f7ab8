#include "govern/base/key.h"

#include <new>
#include <optional>
#include <type_traits>

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "govern/base/digest.h"
#include "govern/base/encoding.h"
#include "govern/base/error.h"

namespace frazil::govern {
namespace {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free>>;
using MdContext = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;

EVP_PKEY* key_of(const std::shared_ptr<void>& key) { return static_cast<EVP_PKEY*>(key.get()); }

void require(bool done) {
  if (done) return;
  ERR_clear_error();
  throw std::bad_alloc();
}

Bio reader(std::string_view pem) { return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))); }

/// Answers that there is no pass phrase; OpenSSL would ask for one on the terminal.
int no_pass_phrase(char*, int, int, void*) { return -1; }

std::optional<KeyKind> kind_of(EVP_PKEY* key) {
  if (EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519) return KeyKind::ed25519;
  if (EVP_PKEY_get_base_id(key) != EVP_PKEY_EC) return std::nullopt;
  char name[64] = {};
  if (EVP_PKEY_get_group_name(key, name, sizeof name, nullptr) != 1) return std::nullopt;
  const std::string_view group = name;
  if (group == "prime256v1") return KeyKind::ecdsa_p256;
  if (group == "secp384r1") return KeyKind::ecdsa_p384;
  if (group == "secp521r1") return KeyKind::ecdsa_p521;
  return std::nullopt;
}

/// Takes ownership of a key of a kind that is supported.
std::shared_ptr<void> checked(EVP_PKEY* key, std::string_view what, std::string_view form) {
  ERR_clear_error();
  if (key == nullptr) fail(Code::bad_input, "{}: expected {} in PEM form", what, form);
  std::shared_ptr<void> owned(key, [](void* k) { EVP_PKEY_free(static_cast<EVP_PKEY*>(k)); });
  if (!kind_of(key)) fail(Code::bad_input, "{}: expected an Ed25519 or an ECDSA key of P-256, P-384 or P-521", what);
  return owned;
}

const EVP_MD* digest_of(KeyKind kind) {
  switch (kind) {
    case KeyKind::ed25519: return nullptr;
    case KeyKind::ecdsa_p256: return EVP_sha256();
    case KeyKind::ecdsa_p384: return EVP_sha384();
    case KeyKind::ecdsa_p521: return EVP_sha512();
  }
  return nullptr;
}

template <class Write>
std::string written(Write write) {
  const Bio bio(BIO_new(BIO_s_mem()));
  require(bio && write(bio.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace

PublicKey PublicKey::from_pem(std::string_view pem, std::string_view what) {
  constexpr std::string_view kForm = "a public key or a certificate";
  if (pem.find("-----BEGIN CERTIFICATE-----") != std::string_view::npos) {
    const Bio bio = reader(pem);
    const Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, no_pass_phrase, nullptr));
    return PublicKey(checked(certificate ? X509_get_pubkey(certificate.get()) : nullptr, what, kForm));
  }
  const Bio bio = reader(pem);
  return PublicKey(checked(PEM_read_bio_PUBKEY(bio.get(), nullptr, no_pass_phrase, nullptr), what, kForm));
}

PublicKey PublicKey::from_ed25519(std::string_view raw) {
  const auto bytes = bytes_of(raw);
  EVP_PKEY* key =
      raw.size() == 32 ? EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes.data(), bytes.size()) : nullptr;
  return PublicKey(checked(key, "an Ed25519 key", "32 bytes, not a text"));
}

KeyKind PublicKey::kind() const { return *kind_of(key_of(key_)); }

std::string PublicKey::pem() const {
  return written([this](BIO* bio) { return PEM_write_bio_PUBKEY(bio, key_of(key_)); });
}

std::string PublicKey::id() const { return hex(sha256(pem())); }

std::string PublicKey::raw_ed25519() const {
  std::string raw(32, '\0');
  std::size_t size = raw.size();
  if (kind() != KeyKind::ed25519) fail(Code::bad_input, "expected an Ed25519 key");
  require(EVP_PKEY_get_raw_public_key(key_of(key_), reinterpret_cast<std::uint8_t*>(raw.data()), &size) == 1);
  return raw;
}

bool PublicKey::verify(std::string_view message, std::string_view signature) const {
  const MdContext context(EVP_MD_CTX_new());
  require(context && EVP_DigestVerifyInit(context.get(), nullptr, digest_of(kind()), nullptr, key_of(key_)) == 1);
  const auto bytes = bytes_of(message), given = bytes_of(signature);
  const bool valid = EVP_DigestVerify(context.get(), given.data(), given.size(), bytes.data(), bytes.size()) == 1;
  ERR_clear_error();
  return valid;
}

bool PublicKey::operator==(const PublicKey& other) const { return EVP_PKEY_eq(key_of(key_), key_of(other.key_)) == 1; }

SigningKey SigningKey::from_pem(std::string_view pem, std::string_view what) {
  const Bio bio = reader(pem);
  return SigningKey(checked(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_pass_phrase, nullptr), what,
                            "a private key without a pass phrase"));
}

SigningKey SigningKey::generate(KeyKind kind) {
  EVP_PKEY* key = nullptr;
  switch (kind) {
    case KeyKind::ed25519: key = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"); break;
    case KeyKind::ecdsa_p256: key = EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"); break;
    case KeyKind::ecdsa_p384: key = EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-384"); break;
    case KeyKind::ecdsa_p521: key = EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-521"); break;
  }
  require(key != nullptr);
  return SigningKey(checked(key, "a new key", "a key"));
}

std::string SigningKey::pem() const {
  return written([this](BIO* bio) {
    return PEM_write_bio_PKCS8PrivateKey(bio, key_of(key_), nullptr, nullptr, 0, nullptr, nullptr);
  });
}

std::string SigningKey::sign(std::string_view message) const {
  const MdContext context(EVP_MD_CTX_new());
  require(context &&
          EVP_DigestSignInit(context.get(), nullptr, digest_of(public_key().kind()), nullptr, key_of(key_)) == 1);
  const auto bytes = bytes_of(message);
  std::size_t size = 0;
  require(EVP_DigestSign(context.get(), nullptr, &size, bytes.data(), bytes.size()) == 1);
  std::string signature(size, '\0');
  require(EVP_DigestSign(context.get(), reinterpret_cast<std::uint8_t*>(signature.data()), &size, bytes.data(),
                         bytes.size()) == 1);
  signature.resize(size);
  return signature;
}

}  // namespace frazil::govern
