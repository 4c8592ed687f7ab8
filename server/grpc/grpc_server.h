#pragma once

#include "server/net/transport.h"
#include "server/net/wire.h"

namespace frazil::server {

class Service;

/// Serves gRPC on a connection. It ends when the client closes it, leaves it idle for longer than the options'
/// patience, or the server ends. Expects HTTP/2 from the first byte (prior knowledge, or negotiated in TLS). Called on
/// the thread that runs the context.
void serve_grpc(Wire wire, Transport& transport, Service& service);

}  // namespace frazil::server
