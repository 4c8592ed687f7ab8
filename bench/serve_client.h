#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "bench/serve_requests.h"

namespace bench {

/// One connection of the load generator, on a socket that does not block. Not thread-safe. Functions throw
/// std::runtime_error where the server breaks the protocol or closes the connection.
class ServeConnection {
 public:
  /// Is told an answer: the number given to send(), and its status as one of HTTP, also where gRPC has another.
  using Answered = std::function<void(std::uint64_t tag, int status)>;

  /// `streams`: requests at the same time; of HTTP one.
  static std::unique_ptr<ServeConnection> open(Protocol protocol, std::uint16_t port, std::size_t streams,
                                               Answered answered);
  virtual ~ServeConnection();
  ServeConnection(const ServeConnection&) = delete;
  ServeConnection& operator=(const ServeConnection&) = delete;

  int socket() const { return socket_; }
  virtual std::size_t free_streams() const = 0;
  /// Precondition: a stream is free. `request` must live until the answer.
  virtual void send(std::string_view request, std::uint64_t tag) = 0;
  /// Takes what has come. False: the server has closed the connection.
  bool receive();
  /// Sends what is left; true when nothing is.
  bool flush();

 protected:
  ServeConnection(std::uint16_t port, Answered answered);
  void write(std::string_view bytes);
  virtual void received(std::string_view bytes) = 0;
  const Answered answered_;

 private:
  int socket_ = -1;
  std::string unsent_;
  std::size_t sent_ = 0;  // of unsent_
};

}  // namespace bench
