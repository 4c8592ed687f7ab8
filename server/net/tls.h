#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include <boost/asio/ssl/context.hpp>

#include "server/net/server_options.h"
#include "server/net/wire.h"

namespace frazil::server {

struct Transport;

/// The server side of TLS 1.2 and 1.3. Thread-safe.
class Tls {
 public:
  /// The protocol of a port. Clients that use ALPN must offer http/1.1, or h2 for grpc. Clients of `probes` need no
  /// certificate.
  enum class Protocol : std::uint8_t { http, grpc, probes };

  /// Reads the files. Throws api::Error (bad_input) for an unusable file.
  explicit Tls(TlsOptions options);

  /// Reloads the files for new connections. Throws as the constructor; the old files then stay in use.
  void reload();
  /// Call it on the transport's thread. Performs the handshake and passes the connection to `serve`. The handshake is
  /// limited by the options' patience.
  void accept(Socket socket, Transport& transport, Protocol protocol, std::function<void(Wire)> serve);

 private:
  struct Contexts {
    boost::asio::ssl::context http, grpc, probes;
  };
  Contexts read() const;
  boost::asio::ssl::context& context_of(Protocol protocol);

  const TlsOptions options_;
  std::mutex mutex_;  // guards the member below
  Contexts contexts_;
};

}  // namespace frazil::server
