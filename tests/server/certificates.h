#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "error/tool.h"

// Certificates that are made for a test.
namespace frazil::test {

/// One who signs certificates, and its files in PEM, which go with the object.
class Authority {
 public:
  explicit Authority(const std::string& name)
      : key_(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")), own_(new_certificate(name, key_.get())) {
    add(own_.get(), NID_basic_constraints, "critical,CA:TRUE");
    sign(own_.get());
    save(certificate(), own_.get());
  }

  struct Files {
    std::string certificate, key;
  };
  std::string certificate() const { return files_ / "ca.pem"; }
  /// `others`: the subject's alternative names, such as "DNS:localhost,IP:127.0.0.1". The same `name` has the same
  /// files.
  Files issue(const std::string& name, const std::string& others = "") const {
    const Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
    const Certificate made = new_certificate(name, key.get());
    if (!others.empty()) add(made.get(), NID_subject_alt_name, others);
    sign(made.get());
    const Files files{.certificate = files_ / (name + ".pem"), .key = files_ / (name + ".key")};
    save(files.certificate, made.get());
    save(files.key, key.get());
    return files;
  }

  /// A key that needs a password.
  std::string key_with_password() const {
    std::string path = files_ / "secret.key";
    const File file(fopen(path.c_str(), "w"));
    EXPECT_EQ(PEM_write_PKCS8PrivateKey(file.get(), key_.get(), EVP_aes_256_cbc(), "word", 4, nullptr, nullptr), 1);
    return path;
  }

 private:
  template <auto free>
  struct Free {
    void operator()(auto* object) const { free(object); }
  };
  using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
  using Certificate = std::unique_ptr<X509, Free<X509_free>>;
  using File = std::unique_ptr<FILE, Free<fclose>>;

  static Certificate new_certificate(const std::string& name, EVP_PKEY* key) {
    constexpr long kVersion3 = 2, kAnHour = 3600;
    static long last_serial = 0;
    Certificate made(X509_new());
    X509_set_version(made.get(), kVersion3);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++last_serial);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -kAnHour);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), kAnHour);
    X509_set_pubkey(made.get(), key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    return made;
  }
  static void add(X509* to, int extension, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, to, to, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>> made(
        X509V3_EXT_conf_nid(nullptr, &context, extension, value.c_str()));
    EXPECT_NE(made, nullptr) << value;
    X509_add_ext(to, made.get(), -1);
  }
  void sign(X509* certificate) const {
    X509_set_issuer_name(certificate, X509_get_subject_name(own_.get()));
    EXPECT_GT(X509_sign(certificate, key_.get(), EVP_sha256()), 0);
  }
  static void save(const std::string& path, X509* certificate) {
    const File file(fopen(path.c_str(), "w"));
    EXPECT_EQ(PEM_write_X509(file.get(), certificate), 1);
  }

  static void save(const std::string& path, EVP_PKEY* key) {
    const File file(fopen(path.c_str(), "w"));
    EXPECT_EQ(PEM_write_PrivateKey(file.get(), key, nullptr, nullptr, 0, nullptr, nullptr), 1);
  }

  const TempFolder files_;
  const Key key_;
  const Certificate own_;
};

}  // namespace frazil::test
