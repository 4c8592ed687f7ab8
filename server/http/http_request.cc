#include "server/http/http_request.h"

#include <algorithm>

#include <boost/beast/http/error.hpp>

#include "server/model/served.h"

namespace frazil::server {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kShortRead = 4 * 1024;
constexpr std::size_t kCompressedRead = 1024;  // inflates to at most 1 MiB, so that other connections get their turn

Reply unknown_coding() {
  Reply reply = error_reply(Http::unknown_coding, "header Content-Encoding: expected one of " + std::string(kCodings));
  reply.headers.emplace_back("Accept-Encoding", kCodings);
  return reply;
}

}  // namespace

HttpRequest::HttpRequest(const ServerOptions& options) : options_(options) {
  parser_.header_limit(kMaxHeaderBytes);
  parser_.body_limit(options.max_bytes);
  parser_.get().body().most = options.max_bytes;
}

std::optional<Reply> HttpRequest::take(boost::beast::flat_buffer& buffer) try {
  boost::system::error_code error;
  buffer.consume(parser_.put(buffer.data(), error));
  if (error && error != http::error::need_more) return answer_to(error);
  return std::nullopt;
} catch (...) {
  return error_reply(refusal_of_exception());
}

std::optional<Reply> HttpRequest::take_head(boost::beast::flat_buffer& buffer) try {
  parser_.eager(false);
  if (auto fault = take(buffer)) return fault;
  if (!has_head()) return std::nullopt;
  check_head(head());
  return coding_of(head()) ? std::nullopt : std::optional(unknown_coding());
} catch (const Refusal& refusal) {
  return error_reply(refusal);
}

std::optional<Reply> HttpRequest::take_body(boost::beast::flat_buffer& buffer) {
  if (complete() || buffer.size() == 0) return std::nullopt;
  parser_.eager(true);
  return take(buffer);
}

std::optional<std::uint64_t> HttpRequest::left() const {
  if (complete()) return 0;
  const auto left = parser_.content_length_remaining();
  return left ? std::optional(*left) : std::nullopt;
}

std::size_t HttpRequest::next_read_size() const {
  if (!has_head()) return kShortRead;
  if (coding_of(head()) != Coding::none) return kCompressedRead;
  return std::clamp<std::uint64_t>(left().value_or(kLongRead), kShortRead, kLongRead);
}

Reply HttpRequest::answer_to(boost::system::error_code error) const {
  const bool body = error == http::error::body_limit;
  if (!body && error != http::error::header_limit) {
    return error_reply(Http::bad_request, "invalid HTTP request: " + error.message());
  }
  const std::uint64_t most = body ? options_.max_bytes : kMaxHeaderBytes;
  return error_reply(Http::too_large, std::string(body ? "the body" : "the header") + " has more than " +
                                          std::to_string(most) + " bytes");
}

}  // namespace frazil::server
