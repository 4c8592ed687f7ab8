#include "server/http/http_head.h"

#include <algorithm>
#include <string_view>

#include <boost/beast/http/status.hpp>

namespace frazil::server {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

constexpr std::string_view kJsonSize = "Inference-Header-Content-Length", kSession = "X-Session-Id",
                           kSessionCookie = "frazil_session=";

std::string_view view_of(beast::string_view text) { return {text.data(), text.size()}; }
beast::string_view view_of(std::string_view text) { return {text.data(), text.size()}; }

std::optional<std::string_view> field(const RequestHead& head, std::string_view name) {
  const auto at = head.find(view_of(name));
  return at == head.end() ? std::nullopt : std::optional(view_of(at->value()));
}

/// Returns the session id from the header or the cookie.
std::string_view session_of(const RequestHead& head) {
  if (const auto id = field(head, kSession)) return *id;
  std::string_view cookies = view_of(head[http::field::cookie]);
  while (!cookies.empty()) {
    const std::size_t end = std::min(cookies.find(';'), cookies.size());
    const std::string_view cookie = cookies.substr(0, end);
    if (cookie.starts_with(kSessionCookie)) return cookie.substr(kSessionCookie.size());
    cookies.remove_prefix(std::min(cookies.find_first_not_of("; ", end), cookies.size()));
  }
  return {};
}

void append_field(std::string& to, std::string_view name, std::string_view value) {
  ((to += name) += ": ") += value;
  to += "\r\n";
}

}  // namespace

Message message_of(const RequestHead& head) {
  const std::string_view target = view_of(head.target());
  return {.method = view_of(head.method_string()),
          .path = target.substr(0, target.find('?')),
          .query = target.substr(std::min(target.find('?'), target.size() - 1) + 1),
          .body = {},
          .json_size = field(head, kJsonSize),
          .authorization = view_of(head[http::field::authorization]),
          .trace = view_of(head["traceparent"]),
          .session = session_of(head),
          .host = view_of(head[http::field::host]),
          .content_type = view_of(head[http::field::content_type]),
          .origin = field(head, "Origin")};
}

void check_head(const RequestHead& head) {
  const auto refuse = [](const std::string& why) { throw Refusal(Http::bad_request, "invalid HTTP request: " + why); };
  const auto codings = head.count(http::field::transfer_encoding);
  if (codings != 0) {
    const bool chunked = codings == 1 && beast::iequals(head[http::field::transfer_encoding], "chunked");
    if (!chunked || is_http_1_0(head)) refuse("header Transfer-Encoding: expected chunked, in HTTP/1.1");
    if (head.count(http::field::content_length) != 0) refuse("it has Transfer-Encoding and Content-Length");
  }
  for (const auto name : {http::field::host, http::field::authorization, http::field::origin}) {
    if (head.count(name) > 1) refuse("header " + std::string(view_of(http::to_string(name))) + ": expected it once");
  }
}

std::optional<Coding> coding_of(const RequestHead& head) {
  return coding_from(view_of(head[http::field::content_encoding]));
}

bool accepts_gzip(const RequestHead& head) {
  return accepts(view_of(head[http::field::accept_encoding]), Coding::gzip);
}

bool expects_continue(const RequestHead& head) {
  return !is_http_1_0(head) && beast::iequals(head[http::field::expect], "100-continue");
}

bool is_http_1_0(const RequestHead& head) {
  constexpr unsigned kVersion10 = 10;
  return head.version() <= kVersion10;
}

std::string head_of(const Reply& reply, const Framing& framing) {
  const auto status = static_cast<unsigned>(reply.status);
  std::string text = "HTTP/1.1 " + std::to_string(status) + ' ';
  (text += view_of(http::obsolete_reason(http::int_to_status(status)))) += "\r\n";
  append_field(text, "Content-Type", reply.type);
  for (const auto& [name, value] : reply.headers) append_field(text, name, value);
  if (!framing.keep_alive) append_field(text, "Connection", "close");
  if (framing.keep_alive && framing.http_1_0) append_field(text, "Connection", "keep-alive");
  if (framing.length) append_field(text, "Content-Length", std::to_string(*framing.length));
  if (!framing.length && !framing.http_1_0) append_field(text, "Transfer-Encoding", "chunked");
  return text += "\r\n";
}

}  // namespace frazil::server
