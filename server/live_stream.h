#pragma once

#include <chrono>

#include <boost/asio/ip/tcp.hpp>

#include "server/message.h"
#include "server/transport.h"

namespace frazil::server {

/// The path of the events of the live view.
inline constexpr std::string_view kLiveEvents = "/v2/live/events";
inline constexpr std::size_t kMostLiveClients = 16;

/// How often a client wants to be told: the query every_ms, 100 to 10000. Throws Refusal: bad_request,
/// method_not_allowed, unauthorized, and unavailable where there are kMostLiveClients already or the server ends.
std::chrono::milliseconds live_interval(const Message& message, const Transport& transport);

/// Answers with server-sent events (text/event-stream): a snapshot of LiveView at once and then one each `every`, until
/// the client goes. A client that has not taken the last one yet gets none, and after the options' patience is given
/// up. When the server ends the last event is "end".
void serve_live(boost::asio::ip::tcp::socket socket, Transport& transport, std::chrono::milliseconds every);

}  // namespace frazil::server
