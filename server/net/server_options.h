#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "server/core/access_log.h"
#include "server/core/notice.h"

namespace frazil::server {

/// Largest size of a request's headers, in bytes. HTTP/2 counts 32 extra bytes per field.
inline constexpr std::uint32_t kMaxHeaderBytes = 16 * 1024;

/// TLS files in PEM format.
struct TlsOptions {
  std::string certificate;  ///< certificate followed by its chain; empty: no TLS
  std::string key;          ///< private key without a password
  std::string client_ca;    ///< CA that client certificates must be issued by, except on the metrics port; empty: none
};

struct ServerOptions {
  std::string host = "127.0.0.1";            ///< an address of this machine
  std::uint16_t http_port = 8000;            ///< 0: any free port
  std::uint16_t grpc_port = 8001;            ///< 0: any free port
  std::uint16_t metrics_port = 8002;         ///< 0: any free port
  std::string http_socket, grpc_socket;      ///< paths of additional Unix sockets; empty: none
  TlsOptions tls;                            ///< for TCP ports only
  unsigned io_threads = 1;                   ///< threads that read and write sockets
  std::chrono::microseconds busy_poll{50};   ///< time for which such a thread may poll before it sleeps; 0: it sleeps
  std::size_t max_connections = 4096;        ///< further connections are closed
  std::uint64_t max_bytes = 64U << 20U;      ///< limit for a request's message, also after decompression
  std::uint64_t max_buffered = 1U << 30U;    ///< limit for requests and answers in memory, in bytes
  std::uint64_t compress_from = 16U << 10U;  ///< smallest answer to compress, in bytes
  double patience_s = 60;                    ///< seconds for a request to complete, and until the next one
  NoticeSink notify = [](const Notice&) {};  ///< receives notices about reloaded certificates and the end
  AccessLog* access = nullptr;               ///< receives a record of each request; null: none
};

}  // namespace frazil::server
