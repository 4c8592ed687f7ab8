#pragma once

#include "server/transport.h"
#include "server/wire.h"

namespace frazil::server {

/// What is answered at an address: requests for models, or metrics.
enum class Door : std::uint8_t { models, metrics };

/// Answers HTTP/1.1 on a connection, which lives until the client closes it, or the server ends.
void serve_http(Wire wire, Transport& transport, Door door);

}  // namespace frazil::server
