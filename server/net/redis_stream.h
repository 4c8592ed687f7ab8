#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>

#include "server/core/clock.h"
#include "server/net/external_gate.h"
#include "server/net/wire.h"

// A byte stream to Redis over TCP or TLS.
namespace frazil::server {

struct RedisAddress {
  std::string host, port;
};
/// Throws api::Error (bad_input) unless the text is HOST:PORT or [HOST]:PORT.
RedisAddress redis_address(const std::string& text);

/// A connection whose operations block, each until a deadline that is missed by at most 1 ms. It must be discarded
/// after a fault. Not thread-safe.
class RedisStream {
 public:
  /// Connects, with a TLS handshake if there is a context. The name look-up of the host has no deadline. Skips the
  /// addresses that `may_use` rejects. Throws RedisFault: refused, late, wrong or forbidden.
  RedisStream(const RedisAddress& address, boost::asio::ssl::context* tls, Clock::time_point until,
              const MayUse& may_use);
  const PeerAddress& peer() const { return peer_; }

  /// Sends or receives at least one byte and returns the number of bytes. Throws RedisFault: late, or broken if the
  /// connection has ended.
  std::size_t send(std::string_view bytes, Clock::time_point until);
  std::size_t receive(char* to, std::size_t most, Clock::time_point until);
  /// Returns true if no unreceived bytes have arrived and the connection has not ended.
  bool quiet();

 private:
  using Done = std::function<void(boost::system::error_code, std::size_t)>;

  /// Runs an operation that `start` begins, and returns its error. Throws RedisFault (late) with `too_late` if it has
  /// not ended in time; it is then cancelled with this object.
  boost::system::error_code run(Clock::time_point until, const char* too_late, const std::function<void(Done)>& start);
  std::size_t move(Clock::time_point until, const std::function<void(Done)>& start);
  Socket connect(const RedisAddress& address, Clock::time_point until, const MayUse& may_use);
  Wire shake_hands(Socket socket, boost::asio::ssl::context& tls, const std::string& host, Clock::time_point until);

  boost::asio::io_context context_{1};
  std::optional<boost::system::error_code> ended_;  // result of the last operation; nullopt: it is under way
  std::size_t moved_ = 0;                           // bytes of the last operation
  std::optional<Wire> wire_;
  PeerAddress peer_;
};

}  // namespace frazil::server
