#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <boost/asio/ssl/context.hpp>

#include "server/server.h"
#include "server/wire.h"

namespace frazil::server {

struct Transport;

/// TLS 1.2 and 1.3 of a server. Used on the thread that runs the context.
class Tls {
 public:
  /// Of a port. Clients that name protocols must name http/1.1, or h2 for grpc. Those of `probes` need no certificate.
  enum class Protocol : std::uint8_t { http, grpc, probes };

  /// Reads the files. Throws api::Error (Code::bad_input) for one that cannot be used.
  explicit Tls(TlsOptions options);

  /// Reads them again for connections that begin from now on. Throws as above, and then goes on with what it has.
  void reload();
  /// `serve` is given the connection once the client has shaken hands, which he has the options' patience for.
  void accept(Socket socket, Transport& transport, Protocol protocol, std::function<void(Wire)> serve);

 private:
  struct Contexts {
    boost::asio::ssl::context http, grpc, probes;
  };
  Contexts read() const;
  boost::asio::ssl::context& context_of(Protocol protocol);

  const TlsOptions options_;
  Contexts contexts_;
};

}  // namespace frazil::server
