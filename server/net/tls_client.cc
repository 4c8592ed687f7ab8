#include "server/net/tls_client.h"

#include <cerrno>
#include <system_error>

#include <frazil/error.h>
#include <openssl/ssl.h>
#include <unistd.h>

namespace frazil::server {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

void read_tls_file(const std::string& name, const std::string& file, const char* expected,
                   const std::function<void(error_code&)>& read) {
  const auto refuse = [&](const std::string& why) {
    throw api::Error(api::Code::bad_input, std::string(name).append(" ").append(file).append(": ").append(why));
  };
  if (::access(file.c_str(), R_OK) != 0) refuse(std::generic_category().message(errno));
  error_code error;
  read(error);
  if (error) refuse(std::string("expected ") + expected + ": " + error.message());
}

void refuse_passwords(ssl::context& context) {
  SSL_CTX_set_default_passwd_cb(context.native_handle(), [](char*, int, int, void*) { return 0; });
}

// NOLINTBEGIN(bugprone-unused-return-value): it is in `error`, too

ssl::context tls_client_context(const TlsFiles& files, const std::string& where) {
  ssl::context context(ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  context.set_verify_mode(ssl::verify_peer);
  refuse_passwords(context);
  if (files.ca.empty()) {
    context.set_default_verify_paths();
  } else {
    read_tls_file(where + "ca", files.ca, "certificates in PEM",
                  [&](error_code& error) { context.load_verify_file(files.ca, error); });
  }
  if (files.certificate.empty()) return context;
  read_tls_file(where + "certificate", files.certificate, "a certificate in PEM",
                [&](error_code& error) { context.use_certificate_chain_file(files.certificate, error); });
  read_tls_file(where + "key", files.key, "the certificate's key in PEM, without a password",
                [&](error_code& error) { context.use_private_key_file(files.key, ssl::context::pem, error); });
  return context;
}

// NOLINTEND(bugprone-unused-return-value)

}  // namespace frazil::server
