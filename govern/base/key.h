#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace frazil::govern {

enum class KeyKind { ed25519, ecdsa_p256, ecdsa_p384, ecdsa_p521 };

/// A public key: verifies signatures. Immutable; threads may share it.
class PublicKey {
 public:
  /// Reads a PEM text of type PUBLIC KEY, or CERTIFICATE, whose key is taken and whose validity is not checked. `what`
  /// names the text in errors. Throws Code::bad_input for any other text and for keys of other kinds.
  static PublicKey from_pem(std::string_view pem, std::string_view what);
  /// Makes a key from 32 bytes (RFC 8032). Throws Code::bad_input for another count.
  static PublicKey from_ed25519(std::string_view raw);

  KeyKind kind() const;
  /// Returns the subject's public key info as PEM, with a newline at the end.
  std::string pem() const;
  /// Returns the SHA-256 digest of pem() in hexadecimal digits, which the tools of OpenSSF Model Signing use as a hint.
  std::string id() const;
  /// Returns the 32 bytes of an Ed25519 key. Throws Code::bad_input for keys of other kinds.
  std::string raw_ed25519() const;
  /// Returns whether `signature` is one of this key over `message`. Ed25519 signs the message (RFC 8032). ECDSA signs
  /// its SHA-256, SHA-384 or SHA-512 digest for P-256, P-384 and P-521; the signature is in DER. Damaged signatures
  /// give false.
  bool verify(std::string_view message, std::string_view signature) const;
  bool operator==(const PublicKey& other) const;

 private:
  friend class SigningKey;
  explicit PublicKey(std::shared_ptr<void> key) : key_(std::move(key)) {}
  std::shared_ptr<void> key_;  ///< EVP_PKEY
};

/// A private key: signs. Immutable; threads may share it.
class SigningKey {
 public:
  /// Reads a PEM text of type PRIVATE KEY or EC PRIVATE KEY without a pass phrase. Throws Code::bad_input.
  static SigningKey from_pem(std::string_view pem, std::string_view what);
  static SigningKey generate(KeyKind kind);

  /// Returns PKCS #8 as PEM, without encryption.
  std::string pem() const;
  PublicKey public_key() const { return PublicKey(key_); }
  /// Returns a signature that PublicKey::verify() accepts.
  std::string sign(std::string_view message) const;

 private:
  explicit SigningKey(std::shared_ptr<void> key) : key_(std::move(key)) {}
  std::shared_ptr<void> key_;  ///< EVP_PKEY
};

}  // namespace frazil::govern
