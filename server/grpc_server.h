#pragma once

#include "server/transport.h"
#include "server/wire.h"

namespace frazil::server {

/// Answers gRPC on a connection, which lives until the client closes it, leaves it idle for longer than the options'
/// patience, or the server ends. HTTP/2 is expected from the first byte on (prior knowledge, or agreed on in TLS).
/// Called on the thread that runs the context.
void serve_grpc(Wire wire, Transport& transport);

}  // namespace frazil::server
