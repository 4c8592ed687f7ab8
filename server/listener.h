#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "server/transport.h"
#include "server/wire.h"

namespace frazil::server {

/// Accepts connections at an address. Used on the thread that runs the context.
class Listener {
 public:
  using Serve = std::function<void(Socket)>;

  /// Port 0 is a free one. Throws api::Error (Code::bad_input) for an address or a port that cannot be used.
  Listener(Transport& transport, const std::string& host, std::uint16_t port, Serve serve);
  /// At a Unix socket of this path, for its owner and group; the file is removed with the end. One that a server has
  /// left that is gone is replaced. Throws api::Error (Code::bad_input) for a path that cannot be used, also where a
  /// server listens at it.
  Listener(Transport& transport, std::string path, Serve serve);
  ~Listener() { close(); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::uint16_t port() const;  ///< of TCP
  /// Beyond the options' number of connections an idle one makes place; where none is idle, those that come are closed.
  void accept();
  void close();

 private:
  using Acceptor = boost::asio::basic_socket_acceptor<Socket::protocol_type, Socket::executor_type>;

  void serve(Socket socket);
  void pause();

  Transport& transport_;
  const Serve serve_;
  Acceptor acceptor_{transport_.context.get_executor()};
  std::string file_;  // of the Unix socket; empty: it is none, or removed
  boost::asio::steady_timer timer_{transport_.context};
};

}  // namespace frazil::server
