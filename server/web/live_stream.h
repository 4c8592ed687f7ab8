#pragma once

#include <chrono>
#include <string>

#include "server/access/gate.h"
#include "server/core/message.h"
#include "server/net/transport.h"
#include "server/net/wire.h"

namespace frazil::server {

class Service;

inline constexpr std::size_t kMaxLiveClients = 16;

/// The parameters of a client's event stream.
struct LiveTerms {
  std::chrono::milliseconds every;
  Rule rule;                  ///< of the route; checked before each event
  std::string authorization;  ///< header of the client, for that check
};
/// Reads the query parameter every_ms, 100 to 10000. Throws Refusal: bad_request for another value; unavailable if
/// there are kMaxLiveClients already or the server is ending.
LiveTerms live_terms(const Message& message, const Rule& rule, const Transport& transport);

/// Answers with server-sent events (text/event-stream): a LiveView snapshot immediately and then at each interval,
/// until the client leaves. While a client has not received the last event, snapshots are skipped; after the options'
/// patience its connection is closed. When the server ends or the client's key becomes invalid, the last event is
/// "end".
void serve_live(Wire wire, Transport& transport, Service& service, LiveTerms terms);

}  // namespace frazil::server
