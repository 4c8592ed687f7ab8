#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "server/clock.h"
#include "server/server_config.h"

typedef struct ssl_ctx_st SSL_CTX;

// The bytes of a connection to Redis, over TCP or TLS.
namespace frazil::server {

struct RedisAddress {
  std::string host, port;
};
/// Throws api::Error (bad_input) unless the text is HOST:PORT or [HOST]:PORT.
RedisAddress redis_address(const std::string& text);

/// What connections over TLS share: TLS 1.2 or newer, of a server whose certificate names the host.
class RedisTlsContext {
 public:
  /// Throws api::Error (bad_input) that names the file for one that cannot be used.
  explicit RedisTlsContext(const RedisTls& files);
  SSL_CTX* get() const { return context_.get(); }

 private:
  std::shared_ptr<SSL_CTX> context_;
};

/// A connection that never waits on its own. All functions throw RedisFault (broken) where it has ended.
class RedisStream {
 public:
  /// Connects until then, and shakes hands where there is a context. Throws RedisFault: refused, late or wrong.
  static std::unique_ptr<RedisStream> connect(const RedisAddress& address, const RedisTlsContext* tls,
                                              Clock::time_point until);
  RedisStream() = default;
  virtual ~RedisStream() = default;
  RedisStream(const RedisStream&) = delete;
  RedisStream& operator=(const RedisStream&) = delete;

  struct Moved {
    std::size_t bytes = 0;
    short events = 0;  ///< for poll(): what to wait for where no bytes could be moved
  };
  virtual Moved send(std::string_view bytes) = 0;
  virtual Moved receive(char* to, std::size_t most) = 0;
  /// Nothing came that has not been received, not even the end.
  virtual bool quiet() = 0;
  /// Waits for events; false: they did not come until then.
  bool wait(short events, Clock::time_point until) const;

 protected:
  virtual int file() const = 0;
};

}  // namespace frazil::server
