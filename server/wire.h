#pragma once

#include <memory>
#include <utility>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

namespace frazil::server {

/// Of TCP or a Unix one.
using Socket =
    boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol, boost::asio::io_context::executor_type>;

/// The bytes of a connection. Reads and writes as streams of Asio do, one of each at a time; functions do not throw.
class Wire {
 public:
  using executor_type = Socket::executor_type;

  /// Small messages are sent without delay.
  explicit Wire(Socket socket);

  executor_type get_executor() { return socket_.get_executor(); }
  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    socket_.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    socket_.async_write_some(buffers, std::forward<Handler>(handler));
  }

  Socket& socket() { return socket_; }
  bool is_open() const { return socket_.is_open(); }
  /// Nothing more will be written; the client is told, and may still send.
  void finish();
  /// What is under way ends with an error.
  void close();

 private:
  Socket socket_;
};

}  // namespace frazil::server
