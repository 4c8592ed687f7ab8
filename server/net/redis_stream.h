#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "server/config/server_config.h"
#include "server/core/clock.h"

typedef struct ssl_ctx_st SSL_CTX;

// A byte stream to Redis over TCP or TLS.
namespace frazil::server {

struct RedisAddress {
  std::string host, port;
};
/// Throws api::Error (bad_input) unless the text is HOST:PORT or [HOST]:PORT.
RedisAddress redis_address(const std::string& text);

/// The shared TLS context of connections. Requires TLS 1.2 or newer and a certificate that names the host.
class RedisTlsContext {
 public:
  /// Throws api::Error (bad_input) that names the unusable file.
  explicit RedisTlsContext(const RedisTls& files);
  SSL_CTX* get() const { return context_.get(); }

 private:
  std::shared_ptr<SSL_CTX> context_;
};

/// A non-blocking connection. All functions throw RedisFault (broken) if it has ended.
class RedisStream {
 public:
  /// Connects until a deadline, with a TLS handshake if there is a context. Throws RedisFault: refused, late or wrong.
  static std::unique_ptr<RedisStream> connect(const RedisAddress& address, const RedisTlsContext* tls,
                                              Clock::time_point until);
  RedisStream() = default;
  virtual ~RedisStream() = default;
  RedisStream(const RedisStream&) = delete;
  RedisStream& operator=(const RedisStream&) = delete;

  struct Moved {
    std::size_t bytes = 0;
    short events = 0;  ///< for poll(): the events to wait for if no bytes were moved
  };
  virtual Moved send(std::string_view bytes) = 0;
  virtual Moved receive(char* to, std::size_t most) = 0;
  /// Returns true if no unreceived bytes have arrived and the connection has not ended.
  virtual bool quiet() = 0;
  /// Waits for events. Returns false after the deadline.
  bool wait(short events, Clock::time_point until) const;

 protected:
  virtual int file() const = 0;
};

}  // namespace frazil::server
