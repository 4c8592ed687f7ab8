#include "server/wire.h"

#include <boost/asio/ip/tcp.hpp>

namespace frazil::server {
namespace {

using boost::system::error_code;

// NOLINTBEGIN(bugprone-unused-return-value): a slower connection works, too, and one that ends is given up anyway

void send_at_once(Socket& socket) {
  error_code ignored;
  socket.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
}

}  // namespace

Wire::Wire(Socket socket) : plain_(std::move(socket)) { send_at_once(*plain_); }

Wire::Wire(std::unique_ptr<TlsStream> tls, std::vector<std::string> client)
    : tls_(std::move(tls)), client_(std::move(client)) {
  send_at_once(tls_->next_layer());
}

void Wire::finish(std::shared_ptr<void> owner) {
  error_code ignored;
  if (tls_ == nullptr) return void(plain_->shutdown(Socket::shutdown_send, ignored));
  tls_->async_shutdown([owner = std::move(owner)](error_code) {});
}

void Wire::close() {
  error_code ignored;
  socket().shutdown(Socket::shutdown_send, ignored);
  socket().close(ignored);
}

// NOLINTEND(bugprone-unused-return-value)

}  // namespace frazil::server
