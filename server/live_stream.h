#pragma once

#include <chrono>
#include <string>

#include "server/message.h"
#include "server/transport.h"
#include "server/wire.h"

namespace frazil::server {

/// The path of the events of the live view.
inline constexpr std::string_view kLiveEvents = "/v2/live/events";
inline constexpr std::size_t kMostLiveClients = 16;

/// What a client wants to be told.
struct LiveTerms {
  std::chrono::milliseconds every;
  std::string authorization;  ///< of whom; he is looked up each time
};
/// The query every_ms, 100 to 10000. Throws Refusal: bad_request, method_not_allowed, unauthorized, and unavailable
/// where there are kMostLiveClients already or the server ends.
LiveTerms live_terms(const Message& message, const Transport& transport);

/// Answers with server-sent events (text/event-stream): a snapshot of LiveView at once and then one each time, until
/// the client goes. A client that has not taken the last one yet gets none, and after the options' patience is given
/// up. When the server ends, or does not know the client's key any more, the last event is "end".
void serve_live(Wire wire, Transport& transport, LiveTerms terms);

}  // namespace frazil::server
