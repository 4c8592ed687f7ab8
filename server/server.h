#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "server/service.h"

namespace frazil::server {

/// Largest headers of a request, in bytes. HTTP/2 counts 32 more for each field.
inline constexpr std::uint32_t kLongestHeader = 16 * 1024;

/// Files in PEM.
struct TlsOptions {
  std::string certificate;  ///< with those that lead to the root behind it; empty: no TLS
  std::string key;          ///< without a password
  std::string client_ca;    ///< clients need a certificate of one of these, but at the port of metrics; empty: none
};

struct ServerOptions {
  std::string host = "127.0.0.1";            ///< an address of this machine
  std::uint16_t http_port = 8000;            ///< 0: a free one
  std::uint16_t grpc_port = 8001;            ///< 0: a free one
  std::uint16_t metrics_port = 8002;         ///< 0: a free one
  std::string http_socket, grpc_socket;      ///< paths of Unix sockets that are listened at, too; empty: none
  TlsOptions tls;                            ///< of the ports; Unix sockets have none
  std::size_t most_connections = 4096;       ///< more are closed
  std::uint64_t most_bytes = 64U << 20U;     ///< of a request's message, also once it is not compressed any more
  std::uint64_t most_buffered = 1U << 30U;   ///< bytes of requests and answers in memory
  std::uint64_t compress_from = 16U << 10U;  ///< bytes of an answer whose client takes it compressed
  double patience_s = 60;                    ///< for a request to be complete, and for the next one
  Tell tell = [](const Notice&) {};          ///< is told of certificates that are read again, and of the end
};

struct Ports {
  std::uint16_t http, grpc, metrics;
};

/// Serves until SIGTERM or SIGINT. Then it accepts no more connections, answers the requests that it has, and returns;
/// a second signal ends it at once. On SIGHUP the configuration is read again, and certificates for connections that
/// begin from then on. `listening` is told the ports once requests are served. Throws api::Error (Code::bad_input) for
/// an address, a port, a path or a certificate that cannot be used.
void serve(Service& service, const ServerOptions& options, const std::function<void(const Ports&)>& listening);

}  // namespace frazil::server
