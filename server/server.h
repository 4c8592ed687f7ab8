#pragma once

#include <cstdint>
#include <functional>

#include "server/net/server_options.h"
#include "server/service/service.h"

namespace frazil::server {

struct Ports {
  std::uint16_t http, grpc, metrics;
};

/// Serves until SIGTERM or SIGINT. It then accepts no more connections, answers pending requests and returns. A second
/// signal ends it immediately. SIGHUP reloads the configuration, and the certificates for new connections.
///
/// Reports READY=1 and STOPPING=1 to a service manager that has set NOTIFY_SOCKET. `listening` is called with the ports
/// when requests are served. Throws api::Error (bad_input) for an unusable address, port, path or certificate.
void serve(Service& service, const ServerOptions& options, const std::function<void(const Ports&)>& listening);

}  // namespace frazil::server
