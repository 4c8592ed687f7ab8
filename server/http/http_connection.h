#pragma once

#include "server/http/rest.h"
#include "server/net/transport.h"
#include "server/net/wire.h"

namespace frazil::server {

/// Serves HTTP/1.1 on a connection, which ends when the client closes it or the server ends.
void serve_http(Wire wire, Transport& transport, Service& service, PortKind port_kind);

}  // namespace frazil::server
