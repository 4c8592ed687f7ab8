#include "server/wire.h"

#include <boost/asio/ip/tcp.hpp>

namespace frazil::server {

using boost::system::error_code;

// NOLINTBEGIN(bugprone-unused-return-value): a slower connection works, too, and one that ends is given up anyway

Wire::Wire(Socket socket) : socket_(std::move(socket)) {
  error_code ignored;
  socket_.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
}

void Wire::finish() {
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

void Wire::close() {
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  socket_.close(ignored);
}

// NOLINTEND(bugprone-unused-return-value)

}  // namespace frazil::server
