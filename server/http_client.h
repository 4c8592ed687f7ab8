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

#include "server/request.h"

// A client of HTTP/1.1, and of the Open Inference Protocol over it.
namespace frazil::server {

struct HttpUrl {
  std::string host, port, target;
  /// Reads http://HOST[:PORT][/PATH]. Throws std::invalid_argument for another text, and for https.
  static HttpUrl parse(const std::string& text);
};

/// What HttpClient posts.
struct ClientRequest {
  std::string body;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
};

struct HttpAnswer {
  unsigned status;
  std::string body;
};

/// Why there is no answer. what() does not tell the address, so that it is fit for a client.
class HttpFault : public std::runtime_error {
 public:
  enum class Kind : std::uint8_t {
    refused,    ///< no connection
    broken,     ///< the connection has ended
    late,       ///< no answer in time
    wrong,      ///< what came is no answer, or too large
    cancelled,  ///< by who asked
  };
  HttpFault(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  Kind kind() const noexcept { return kind_; }

 private:
  Kind kind_;
};

/// Posts to one URL, from a thread of its own; keeps connections open between requests. Thread-safe.
class HttpClient {
 public:
  using Done = std::function<void(std::expected<HttpAnswer, HttpFault>)>;

  /// A request and its answer. Thread-safe.
  class Exchange {
   public:
    virtual ~Exchange() = default;
    virtual void start() = 0;
    /// Closes the connection; without effect after the end. Also before start(), which then ends at once.
    virtual void cancel() = 0;
  };

  /// Larger answers are refused.
  explicit HttpClient(HttpUrl url, std::size_t most_bytes = std::size_t{64} << 20U);
  /// Drops what is under way without a call of its `done`; so none of these may be the last owner of the client.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Calls `done` once after start(), on the client's thread, until shortly after `until`. It must be short, not throw,
  /// and keep nothing that owns the client. A kept connection that turns out to have ended is made again, once, and the
  /// request is sent again: serving it twice must do no harm.
  std::shared_ptr<Exchange> post(ClientRequest request, Clock::time_point until, Done done);
  /// The same, and waits. Throws HttpFault.
  HttpAnswer post_and_wait(ClientRequest request, Clock::time_point until);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The body that asks another server for outputs of its model. Throws Refusal for a value without a form in JSON.
std::string inference_body(const std::vector<NamedArray>& inputs, std::span<const std::string> outputs);
/// The outputs in the body of its answer. Throws Refusal for what is none.
std::vector<NamedArray> inference_results(const std::string& body);

}  // namespace frazil::server
