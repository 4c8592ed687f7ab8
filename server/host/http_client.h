#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/request/request.h"

// A client of HTTP/1.1, and of the Open Inference Protocol over it.
namespace frazil::server {

struct HttpUrl {
  std::string host, port, target;
  /// Reads http://HOST[:PORT][/PATH]. Throws std::invalid_argument for another text, including https.
  static HttpUrl parse(const std::string& text);
};

/// The body and headers that HttpClient posts.
struct ClientRequest {
  std::string body;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
};

struct HttpAnswer {
  unsigned status;
  std::string body;
};

/// The reason of a missing answer. what() does not contain the address and may be shown to clients.
class HttpFault : public std::runtime_error {
 public:
  enum class Kind : std::uint8_t {
    refused,    ///< no connection
    broken,     ///< the connection was closed
    late,       ///< no answer in time
    wrong,      ///< not an HTTP answer, or too large
    cancelled,  ///< by cancel()
  };
  HttpFault(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  Kind kind() const noexcept { return kind_; }

 private:
  Kind kind_;
};

/// Posts to one URL from its own thread and keeps connections open between requests. Thread-safe.
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

  /// `max_bytes` limits the size of an answer.
  explicit HttpClient(HttpUrl url, std::size_t max_bytes = std::size_t{64} << 20U);
  /// Drops pending requests without calling their `done`. Therefore no `done` may be the last owner of the client.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Prepares a request. After start(), `done` is called once on the client's thread, shortly after `until` at the
  /// latest. It must be short, must not throw and must not own the client. If a kept connection turns out to be closed,
  /// the request is sent once more on a new one, so the request must be idempotent.
  std::shared_ptr<Exchange> post(ClientRequest request, Clock::time_point until, Done done);
  /// Posts and waits for the answer. Throws HttpFault.
  HttpAnswer post_and_wait(ClientRequest request, Clock::time_point until);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Returns the body that requests outputs of another server's model. Throws Refusal for a value without a JSON form.
std::string inference_body(const std::vector<NamedArray>& inputs, std::span<const std::string> outputs);
/// Returns the outputs in the body of the answer. Throws Refusal for a malformed answer.
std::vector<NamedArray> inference_results(const std::string& body);

}  // namespace frazil::server
