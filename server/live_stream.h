#pragma once

#include <chrono>
#include <string>

#include "server/gate.h"
#include "server/message.h"
#include "server/transport.h"
#include "server/wire.h"

namespace frazil::server {

inline constexpr std::size_t kMostLiveClients = 16;

/// What a client wants to be told.
struct LiveTerms {
  std::chrono::milliseconds every;
  Rule rule;                  ///< of the route; checked again before each event
  std::string authorization;  ///< of the client, for that
};
/// Reads the query every_ms, 100 to 10000. Throws Refusal: bad_request, and unavailable where there are
/// kMostLiveClients already or the server ends.
LiveTerms live_terms(const Message& message, const Rule& rule, const Transport& transport);

/// Answers with server-sent events (text/event-stream): a snapshot of LiveView at once and then one each time, until
/// the client goes. A client that has not taken the last one yet gets none, and after the options' patience is given
/// up. When the server ends, or does not know the client's key any more, the last event is "end".
void serve_live(Wire wire, Transport& transport, LiveTerms terms);

}  // namespace frazil::server
