#include "server/net/tls.h"

#include <string_view>
#include <vector>

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "server/net/tls_client.h"
#include "server/net/transport.h"

namespace frazil::server {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

constexpr std::string_view kHttp = "\x08http/1.1", kGrpc = "\x02h2";  // in ALPN's wire format

// ---- contexts ----

/// Selects the single protocol of a port in ALPN.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                    unsigned offered_size, void* ours) {
  const auto& protocol = *static_cast<const std::string_view*>(ours);
  unsigned char* to = nullptr;
  const int agreed = SSL_select_next_proto(&to, size, reinterpret_cast<const unsigned char*>(protocol.data()),
                                           static_cast<unsigned>(protocol.size()), offered, offered_size);
  *chosen = to;
  return agreed == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// NOLINTBEGIN(bugprone-unused-return-value): it is in `error`, too

void ask_for_certificates(ssl::context& context, const std::string& file, bool demand) {
  read_tls_file("--tls-client-ca", file, "certificates in PEM",
                [&](error_code& error) { context.load_verify_file(file, error); });
  context.set_verify_mode(demand ? ssl::verify_peer | ssl::verify_fail_if_no_peer_cert : ssl::verify_peer);
  SSL_CTX_set_client_CA_list(context.native_handle(), SSL_load_client_CA_file(file.c_str()));
}

ssl::context make_context(const TlsOptions& options, const std::string_view& protocol, bool demand_certificate) {
  ssl::context context(ssl::context::tls_server);
  SSL_CTX* const native = context.native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(native, "ECDHE+AESGCM:ECDHE+CHACHA20");  // for TLS 1.2
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_alpn_select_cb(native, choose_protocol, const_cast<std::string_view*>(&protocol));
  SSL_CTX_set_session_id_context(native, reinterpret_cast<const unsigned char*>(protocol.data()),
                                 static_cast<unsigned>(protocol.size()));
  refuse_passwords(context);
  read_tls_file("--tls-certificate", options.certificate, "a certificate in PEM",
                [&](error_code& error) { context.use_certificate_chain_file(options.certificate, error); });
  read_tls_file("--tls-key", options.key, "the certificate's key in PEM, without a password",
                [&](error_code& error) { context.use_private_key_file(options.key, ssl::context::pem, error); });
  if (!options.client_ca.empty()) ask_for_certificates(context, options.client_ca, demand_certificate);
  return context;
}

// NOLINTEND(bugprone-unused-return-value)

// ---- names of the client ----

std::string utf8_of(const ASN1_STRING* text) {
  unsigned char* bytes = nullptr;
  const int size = ASN1_STRING_to_UTF8(&bytes, text);
  if (size < 0) return {};
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(bytes,
                                                                       [](unsigned char* b) { OPENSSL_free(b); });
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

/// Returns the common name, DNS names and URIs of the client's certificate.
std::vector<std::string> names_of_client(SSL* session) {
  const X509* const certificate = SSL_get0_peer_certificate(session);
  if (certificate == nullptr) return {};
  std::vector<std::string> names;
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0;) {
    names.push_back(utf8_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at))));
  }
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> others(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  for (int i = 0; others != nullptr && i < sk_GENERAL_NAME_num(others.get()); ++i) {
    int type = 0;
    const void* const value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(others.get(), i), &type);
    if (type == GEN_DNS || type == GEN_URI) names.push_back(utf8_of(static_cast<const ASN1_STRING*>(value)));
  }
  return names;
}

/// A connection during the handshake. Pending operations keep it alive.
class Handshake : public Connection, public std::enable_shared_from_this<Handshake> {
 public:
  Handshake(Socket socket, ssl::context& context, Transport& transport, std::function<void(Wire)> serve)
      : Connection(transport, client_address(socket)),
        stream_(std::make_unique<TlsStream>(std::move(socket), context)),
        transport_(transport),
        serve_(std::move(serve)) {}

  void begin() {
    stream_->async_handshake(ssl::stream_base::server, [self = shared_from_this()](error_code error) {
      if (error || self->transport_.ending) return;
      auto client = names_of_client(self->stream_->native_handle());
      self->serve_(Wire(std::move(self->stream_), std::move(client)));
    });
  }
  void end() override { abort(); }
  void abort() override {
    error_code ignored;
    // NOLINTNEXTLINE(bugprone-unused-return-value): it is given up anyway
    if (stream_ != nullptr) stream_->lowest_layer().close(ignored);
  }
  void check(Clock::time_point now) override {
    if (now - begun_ > transport_.patience()) abort();
  }
  std::optional<Clock::time_point> idle_since() const override {
    return stream_ != nullptr && stream_->lowest_layer().is_open() ? std::optional(begun_) : std::nullopt;
  }

 private:
  std::unique_ptr<TlsStream> stream_;
  Transport& transport_;
  const std::function<void(Wire)> serve_;
  const Clock::time_point begun_ = Clock::now();
};

}  // namespace

Tls::Tls(TlsOptions options) : options_(std::move(options)), contexts_(read()) {}

Tls::Contexts Tls::read() const {
  return {.http = make_context(options_, kHttp, true),
          .grpc = make_context(options_, kGrpc, true),
          .probes = make_context(options_, kHttp, false)};
}

ssl::context& Tls::context_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::grpc: return contexts_.grpc;
    case Protocol::probes: return contexts_.probes;
    case Protocol::http: break;
  }
  return contexts_.http;
}

void Tls::reload() {
  Contexts next = read();
  const std::scoped_lock lock(mutex_);
  contexts_ = std::move(next);
}

void Tls::accept(Socket socket, Transport& transport, Protocol protocol, std::function<void(Wire)> serve) {
  std::unique_lock lock(mutex_);
  const auto handshake =
      std::make_shared<Handshake>(std::move(socket), context_of(protocol), transport, std::move(serve));
  lock.unlock();
  handshake->begin();
}

}  // namespace frazil::server
