#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

// What clients talk to a server of this machine by.
namespace frazil::test {

using ClientSocket = boost::asio::generic::stream_protocol::socket;

inline ClientSocket connected(boost::asio::io_context& context, std::uint16_t port) {
  boost::asio::ip::tcp::socket socket(context);
  socket.connect({boost::asio::ip::address_v4::loopback(), port});
  socket.set_option(boost::asio::ip::tcp::no_delay(true));
  return socket;
}
/// At a Unix socket.
inline ClientSocket connected(boost::asio::io_context& context, const std::string& path) {
  boost::asio::local::stream_protocol::socket socket(context);
  socket.connect(path);
  return socket;
}

/// TLS, from the first byte on.
class TlsSocket : public boost::asio::ssl::stream<ClientSocket> {
 public:
  /// `protocols`: for ALPN, each behind its length; empty: names none. Throws where the server does not agree.
  TlsSocket(ClientSocket socket, boost::asio::ssl::context& tls, const std::string& protocols = "")
      : stream(std::move(socket), tls) {
    SSL_set_alpn_protos(native_handle(), reinterpret_cast<const unsigned char*>(protocols.data()),
                        static_cast<unsigned>(protocols.size()));
    handshake(client);
  }
};

}  // namespace frazil::test
