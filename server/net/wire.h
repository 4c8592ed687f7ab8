#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/stream.hpp>

namespace frazil::server {

/// A TCP or Unix socket.
using Socket =
    boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol, boost::asio::io_context::executor_type>;
using TlsStream = boost::asio::ssl::stream<Socket>;

/// Returns the client address for counting connections: the IPv4 address, the /64 network of IPv6, or "" for Unix
/// sockets and for a client that is gone.
std::string client_address(const Socket& socket);

/// Returns the client's address without its port, "unix" for a Unix socket, and "" for a client that is gone.
std::string peer_address(const Socket& socket);

/// A byte stream of a connection, plain or TLS. It models Asio's stream concepts, with one read and one write at a
/// time.
class Wire {
 public:
  using executor_type = Socket::executor_type;

  explicit Wire(Socket socket);
  /// Takes a TLS stream after its handshake. `client`: the names in the client's certificate.
  Wire(std::unique_ptr<TlsStream> tls, std::vector<std::string> client);

  executor_type get_executor() { return socket().get_executor(); }
  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    tls_ != nullptr ? tls_->async_read_some(buffers, std::forward<Handler>(handler))
                    : plain_->async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    tls_ != nullptr ? tls_->async_write_some(record_of(buffers), std::forward<Handler>(handler))
                    : plain_->async_write_some(buffers, std::forward<Handler>(handler));
  }

  /// Drops up to `size` bytes that have arrived, without copying them. Returns how many; 0 if none have, or if the
  /// stream is not plain TCP. No read may be pending.
  std::size_t discard(std::size_t size);

  const Socket& socket() const { return tls_ != nullptr ? tls_->next_layer() : *plain_; }
  Socket& socket() { return tls_ != nullptr ? tls_->next_layer() : *plain_; }
  bool is_open() const { return tls_ != nullptr ? tls_->lowest_layer().is_open() : plain_->is_open(); }
  bool encrypted() const { return tls_ != nullptr; }
  std::span<const std::string> client() const { return client_; }
  /// Shuts down the sending side; the client may still send. `owner` keeps this object alive until then.
  void finish(std::shared_ptr<void> owner);
  /// Ends pending operations with an error.
  void close();

 private:
  static constexpr std::size_t kRecord = 16 * 1024;  // largest TLS record

  /// Joins short buffers, as TLS takes one buffer at a time.
  template <class Buffers>
  boost::asio::const_buffer record_of(const Buffers& buffers) {
    const boost::asio::const_buffer first = *boost::asio::buffer_sequence_begin(buffers);
    if (first.size() >= kRecord || first.size() == boost::asio::buffer_size(buffers)) return first;
    record_.resize(kRecord);
    return boost::asio::buffer(record_, boost::asio::buffer_copy(boost::asio::buffer(record_), buffers));
  }

  std::optional<Socket> plain_;  // exactly one of plain_ and tls_ is set
  bool plain_tcp_ = false;
  std::unique_ptr<TlsStream> tls_;
  std::vector<char> record_;  // being written
  std::vector<std::string> client_;
};

}  // namespace frazil::server
