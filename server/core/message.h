#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace frazil::server {

/// The HTTP status codes that this server returns.
enum class Http : unsigned {
  ok = 200,
  bad_request = 400,
  unauthorized = 401,
  forbidden = 403,
  not_found = 404,
  method_not_allowed = 405,
  too_large = 413,
  unknown_coding = 415,
  too_many = 429,
  cancelled = 499,
  internal = 500,
  unsupported = 501,
  unavailable = 503,
  timeout = 504,
};

/// The reason why a request is refused; what() is one line for the client. A part at its begin is plain: it consists of
/// names in files of the server, types and extents. The rest may quote the request or values computed from it.
class Refusal : public std::runtime_error {
 public:
  /// No part of the message is plain. `retry_after_s`: seconds after which too_many may be over; 0: the same request
  /// will be refused again.
  Refusal(Http status, const std::string& message, unsigned retry_after_s = 1)
      : Refusal(status, message, 0, retry_after_s) {}
  /// A literal is plain.
  template <std::size_t kSize>
  Refusal(Http status, const char (&message)[kSize]) : Refusal(status, message, kSize - 1, 1) {}
  /// The whole message is plain.
  static Refusal plain(Http status, const std::string& message, unsigned retry_after_s = 1) {
    return {status, message, message.size(), retry_after_s};
  }

  Http status() const noexcept { return status_; }
  unsigned retry_after_s() const noexcept { return retry_after_s_; }
  bool is_plain() const noexcept { return plain_ == std::string_view(what()).size(); }
  /// Returns the refusal with a plain text before its own.
  Refusal after(const std::string& place) const {
    return {status_, place + what(), place.size() + plain_, retry_after_s_};
  }
  /// Returns the refusal with so many plain characters at the begin of its message.
  Refusal with_plain(std::size_t size) const { return {status_, what(), size, retry_after_s_}; }
  /// Returns the refusal with the plain part of its message, and the meaning of the status instead of the rest.
  Refusal without_values() const;

 private:
  Refusal(Http status, const std::string& message, std::size_t plain, unsigned retry_after_s)
      : std::runtime_error(message), status_(status), plain_(plain), retry_after_s_(retry_after_s) {}

  Http status_;
  std::size_t plain_;  ///< characters at the begin of the message
  unsigned retry_after_s_;
};

/// Refuses a request. Throws Refusal (bad_request).
[[noreturn]] inline void refuse(const std::string& message) { throw Refusal(Http::bad_request, message); }
template <std::size_t kSize>
[[noreturn]] void refuse(const char (&message)[kSize]) {
  throw Refusal(Http::bad_request, message);
}

class InlineRunSlot;

/// A request as read by the transport. The texts are valid while it is being answered.
struct Message {
  std::string_view method, path;  ///< the path excludes the query and is not decoded
  std::string_view query = {};    ///< after the '?'
  std::string_view body;
  std::optional<std::string_view> json_size = {};  ///< header Inference-Header-Content-Length
  std::shared_ptr<const void> body_owner = {};     ///< owner of the body; may be null
  std::string_view authorization = {};             ///< header Authorization
  std::span<const std::string> certificate = {};   ///< names in the client's certificate
  std::string_view trace = {};                     ///< header traceparent
  std::string_view session = {};                   ///< header X-Session-Id, or cookie frazil_session
  std::string_view host = {}, content_type = {};   ///< headers Host and Content-Type
  std::optional<std::string_view> origin = {};     ///< header Origin
  InlineRunSlot* inline_slot = nullptr;            ///< slot of the reading thread; null: run it on workers
};

inline constexpr std::string_view kEventStream = "text/event-stream";

/// An answer, or a part of one. If `more` is true, further replies follow, of which only `body` and `more` are used.
struct Reply {
  Http status = Http::ok;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool more = false;
  std::string plain = {};  ///< of an error: the body without what a request may contain; empty: `body` is that
};

/// Returns a reply with the body {"error": text}.
Reply error_reply(Http status, std::string_view text);
Reply error_reply(const Refusal& refusal);

}  // namespace frazil::server
