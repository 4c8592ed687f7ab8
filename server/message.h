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

/// HTTP status codes that this server answers with.
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

/// Why a request is not served; what() is one line for the client.
class Refusal : public std::runtime_error {
 public:
  Refusal(Http status, const std::string& message) : std::runtime_error(message), status_(status) {}
  Http status() const noexcept { return status_; }

 private:
  Http status_;
};

/// Throws Refusal (bad_request).
[[noreturn]] inline void refuse(const std::string& message) { throw Refusal(Http::bad_request, message); }

class Spot;

/// A request as the transport has read it. Texts are valid while it is answered.
struct Message {
  std::string_view method, path;  ///< the path without a query, as it was sent
  std::string_view query = {};    ///< behind the '?'
  std::string_view body;
  std::optional<std::string_view> json_size = {};  ///< the header Inference-Header-Content-Length
  std::shared_ptr<const void> body_owner = {};     ///< keeps the body; may be null
  std::string_view authorization = {};             ///< the header Authorization
  std::span<const std::string> certificate = {};   ///< names in the client's
  std::string_view trace = {};                     ///< the header traceparent
  std::string_view session = {};                   ///< the header X-Session-Id, or the cookie frazil_session
  std::string_view host = {}, content_type = {};   ///< the headers of these names
  std::optional<std::string_view> origin = {};     ///< the header Origin
  Spot* spot = nullptr;                            ///< of the thread that has read it; null: it is for workers
};

inline constexpr std::string_view kEventStream = "text/event-stream";

/// An answer, or a part of one: where there is more, further replies follow, of which only `body` and `more` count.
struct Reply {
  Http status = Http::ok;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool more = false;
};

/// {"error": text}
Reply error_reply(Http status, std::string_view text);
Reply error_reply(const Refusal& refusal);

}  // namespace frazil::server
