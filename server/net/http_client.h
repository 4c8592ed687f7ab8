#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "server/config/server_config.h"
#include "server/core/clock.h"
#include "server/net/external_gate.h"

// A client of HTTP/1.1 with and without TLS, on libcurl.
namespace frazil::server {

struct HttpUrl {
  std::string text;
  std::string shown;  ///< for logs: without user, password and query
  /// Parses http://HOST[:PORT][/PATH] or https://..., which may contain USER:PASSWORD@ before the host. Throws
  /// std::invalid_argument for another text; the message contains no password.
  static HttpUrl parse(const std::string& text);
};

/// The body and headers that HttpClient posts.
struct ClientRequest {
  std::string body;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  /// Asked on the client's thread with the resolved address, that of the proxy if there is one. A rejected address is
  /// not connected. If no other address remains, the request fails with HttpFault::Kind::forbidden.
  MayUse may_use = {};
};

struct HttpAnswer {
  unsigned status;
  std::string body;
};

/// The reason of a missing answer. what() does not contain the address and may be shown to clients.
class HttpFault : public std::runtime_error {
 public:
  enum class Kind : std::uint8_t {
    refused,    ///< no connection, or no TLS over it
    broken,     ///< the connection was closed
    late,       ///< no answer in time
    wrong,      ///< not an HTTP answer, or too large
    cancelled,  ///< by cancel()
    forbidden,  ///< ClientRequest::may_use rejects the address; what() is its reason
  };
  HttpFault(Kind kind, const std::string& message, std::string detail = "")
      : std::runtime_error(message), kind_(kind), detail_(std::move(detail)) {}
  Kind kind() const noexcept { return kind_; }
  /// Returns what the server's operator may see in addition: the URL as HttpUrl::shown, and libcurl's message.
  const std::string& detail() const noexcept { return detail_; }

 private:
  Kind kind_;
  std::string detail_;
};

struct HttpClientOptions {
  TlsFiles tls = {};                               ///< for https
  std::size_t max_bytes = std::size_t{64} << 20U;  ///< limit for the body of an answer
};

/// Posts to one URL from its own thread and keeps connections open between requests. It uses a proxy if the environment
/// has one (http_proxy, https_proxy, no_proxy), and does not follow redirects. Thread-safe.
class HttpClient {
 public:
  using Done = std::function<void(std::expected<HttpAnswer, HttpFault>)>;

  /// A request and its answer. Thread-safe.
  class Exchange {
   public:
    virtual ~Exchange() = default;
    virtual void start() = 0;
    /// Closes the connection; no effect after the end. If called before start(), start() ends immediately.
    virtual void cancel() = 0;
  };

  /// Throws api::Error (bad_input) for an unusable TLS file.
  explicit HttpClient(HttpUrl url, HttpClientOptions options = {});
  /// Drops pending requests without calling their `done`. Therefore no `done` may be the last owner of the client.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Prepares a request. After start(), `done` is called once on the client's thread, shortly after `until` at the
  /// latest. It must be short, must not throw and must not own the client. If a kept connection turns out to be closed,
  /// the request is sent again on another one, so the request must be idempotent.
  std::shared_ptr<Exchange> post(ClientRequest request, Clock::time_point until, Done done);
  /// Posts and waits for the answer. Throws HttpFault.
  HttpAnswer post_and_wait(ClientRequest request, Clock::time_point until);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::server
