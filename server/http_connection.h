#pragma once

#include "server/rest.h"
#include "server/transport.h"
#include "server/wire.h"

namespace frazil::server {

/// Serves HTTP/1.1 on a connection, which ends when the client closes it or the server ends.
void serve_http(Wire wire, Transport& transport, PortKind port_kind);

}  // namespace frazil::server
