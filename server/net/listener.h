#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "server/net/transport.h"
#include "server/net/wire.h"

namespace frazil::server {

/// Accepts connections at an address, and hands them to the transports in turn. Used on the thread that runs the first
/// context; outlives the runs of all.
class Listener {
 public:
  /// Called on the thread of the transport.
  using Serve = std::function<void(Socket, Transport&)>;

  /// Port 0 selects a free port. Throws api::Error (bad_input) for an unusable address or port.
  Listener(const Transports& transports, const std::string& host, std::uint16_t port, Serve serve);
  /// Listens at a Unix socket with this path, for its owner and group. The file is removed at the end. A stale file of
  /// a dead server is replaced. Throws api::Error (bad_input) for an unusable path, or if a server listens there.
  Listener(const Transports& transports, std::string path, Serve serve);
  ~Listener() { close(); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::uint16_t port() const;  ///< TCP only
  /// Accepts connections. Beyond the options' connection limit an idle connection is closed first. If none is idle, the
  /// new connection is closed.
  void accept();
  void close();

 private:
  using Acceptor = boost::asio::basic_socket_acceptor<Socket::protocol_type, Socket::executor_type>;

  Transport& own() const { return *transports_.front(); }
  void hand_over(Socket socket, Transport& target) const;
  void serve(Socket socket, Transport& target) const;
  void pause();

  const Transports& transports_;
  const Serve serve_;
  std::size_t accepted_ = 0;
  Acceptor acceptor_{own().context.get_executor()};
  std::string file_;  // path of the Unix socket; empty: none, or removed
  boost::asio::steady_timer timer_{own().context};
};

}  // namespace frazil::server
