#pragma once

#include <optional>
#include <string>

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>

#include "server/coding.h"
#include "server/message.h"

// Headers of HTTP/1.1 as the protocol above wants them.
namespace frazil::server {

using RequestHead = boost::beast::http::request_header<>;

/// Throws Refusal (bad_request) for a header whose end of the body others may read in another way, and for one that has
/// twice what decides about the request.
void check_head(const RequestHead& head);

/// A request without its body; its texts are those of the header.
Message message_of(const RequestHead& head);

/// How the body is compressed; nothing for a way that is not known.
std::optional<Coding> coding_of(const RequestHead& head);
/// Whether the client takes an answer in gzip.
bool takes_gzip(const RequestHead& head);

/// A client with a large body may wait until it is told to go on.
bool waits_to_go_on(const RequestHead& head);

/// Whether it is of HTTP/1.0, which knows no chunks.
bool is_old(const RequestHead& head);

/// How an answer goes on behind its header.
struct Framing {
  bool keep_alive = true;             ///< others may follow
  bool old = false;                   ///< the request was
  std::optional<std::size_t> length;  ///< of the body; nothing: it comes in chunks, or up to the connection's end
};
/// The header of an answer, with the empty line behind it.
std::string head_of(const Reply& reply, const Framing& framing);

}  // namespace frazil::server
