#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "bench/serve_requests.h"

namespace bench {

/// One non-blocking connection of the load generator. Not thread-safe. Functions throw std::runtime_error if the server
/// breaks the protocol or closes the connection.
class ServeConnection {
 public:
  /// Receives an answer: the tag given to send(), and the HTTP status, to which gRPC's status is converted.
  using Answered = std::function<void(std::uint64_t tag, int status)>;

  /// `streams` is the number of concurrent requests; 1 for HTTP.
  static std::unique_ptr<ServeConnection> open(Protocol protocol, std::uint16_t port, std::size_t streams,
                                               Answered answered);
  virtual ~ServeConnection();
  ServeConnection(const ServeConnection&) = delete;
  ServeConnection& operator=(const ServeConnection&) = delete;

  int socket() const { return socket_; }
  virtual std::size_t free_streams() const = 0;
  /// Precondition: a stream is free. `request` must live until the answer.
  virtual void send(std::string_view request, std::uint64_t tag) = 0;
  /// Reads the available bytes. Returns false if the server has closed the connection.
  bool receive();
  /// Sends the remaining bytes. Returns true if none remain.
  bool flush();

 protected:
  ServeConnection(std::uint16_t port, Answered answered);
  void write(std::string_view bytes);
  virtual void received(std::string_view bytes) = 0;
  const Answered answered_;

 private:
  int socket_ = -1;
  std::string unsent_;
  std::size_t sent_ = 0;  // bytes of unsent_ already sent
};

}  // namespace bench
