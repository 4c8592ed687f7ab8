#pragma once

#include <optional>
#include <string>

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>

#include "server/core/message.h"
#include "server/net/coding.h"

// Headers of HTTP/1.1, translated to and from the protocol above.
namespace frazil::server {

using RequestHead = boost::beast::http::request_header<>;

/// Throws Refusal (bad_request) for ambiguous body framing (request smuggling) and for duplicates of headers that
/// decide about the request.
void check_head(const RequestHead& head);

/// Returns the request without its body. Its texts are views of the header.
Message message_of(const RequestHead& head);

/// Returns the coding of the body, or nullopt for an unknown one.
std::optional<Coding> coding_of(const RequestHead& head);
/// Returns true if the client accepts gzip.
bool accepts_gzip(const RequestHead& head);

/// Returns true if the client waits for "100 Continue" before it sends the body.
bool expects_continue(const RequestHead& head);

/// Returns true for HTTP/1.0, which lacks chunks.
bool is_http_1_0(const RequestHead& head);

/// The framing of an answer after its header.
struct Framing {
  bool keep_alive = true;             ///< the connection stays open
  bool http_1_0 = false;              ///< the request was HTTP/1.0
  std::optional<std::size_t> length;  ///< of the body; nullopt: chunked, or up to the end of the connection
};
/// Returns the header of an answer, including the final empty line.
std::string head_of(const Reply& reply, const Framing& framing);

}  // namespace frazil::server
