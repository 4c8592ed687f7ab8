#include "server/net/wire.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include <boost/asio/ip/tcp.hpp>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace frazil::server {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// NOLINTBEGIN(bugprone-unused-return-value): a slower connection works, too, and one that ends is given up anyway

/// Returns true for a TCP socket.
bool send_at_once(Socket& socket) {
  error_code error;
  socket.set_option(tcp::no_delay(true), error);
  return !error;
}

/// Returns the IP address of the other end; an IPv4 address if it is mapped to IPv6. nullopt for Unix sockets and for a
/// client that is gone.
std::optional<boost::asio::ip::address> remote_address(const Socket& socket) {
  error_code error;
  const auto end = socket.remote_endpoint(error);
  const auto* const address = static_cast<const sockaddr*>(end.data());
  if (error || (address->sa_family != AF_INET && address->sa_family != AF_INET6)) return std::nullopt;
  tcp::endpoint of_tcp;
  of_tcp.resize(end.size());
  std::memcpy(of_tcp.data(), end.data(), end.size());
  namespace ip = boost::asio::ip;
  if (of_tcp.address().is_v6() && of_tcp.address().to_v6().is_v4_mapped()) {
    return ip::make_address_v4(ip::v4_mapped, of_tcp.address().to_v6());
  }
  return of_tcp.address();
}

}  // namespace

std::string client_address(const Socket& socket) {
  const auto address = remote_address(socket);
  if (!address || address->is_v4()) return address ? address->to_string() : "";
  auto network = address->to_v6().to_bytes();
  std::ranges::fill(std::span(network).last<8>(), 0);
  return boost::asio::ip::address_v6(network).to_string();
}

std::string peer_address(const Socket& socket) {
  if (const auto address = remote_address(socket)) return address->to_string();
  error_code error;
  const auto own = socket.local_endpoint(error);
  return !error && own.protocol().family() == AF_UNIX ? "unix" : "";
}

Wire::Wire(Socket socket) : plain_(std::move(socket)) { plain_tcp_ = send_at_once(*plain_); }

Wire::Wire(std::unique_ptr<TlsStream> tls, std::vector<std::string> client)
    : tls_(std::move(tls)), client_(std::move(client)) {
  send_at_once(tls_->next_layer());
}

std::size_t Wire::discard(std::size_t size) {
  if (!plain_tcp_ || size == 0) return 0;
  // Not ::recv: the sanitizers' recv would check the bytes of a buffer that does not exist.
  const long dropped =
      ::syscall(SYS_recvfrom, plain_->native_handle(), nullptr, size, MSG_TRUNC | MSG_DONTWAIT, nullptr, nullptr);
  return static_cast<std::size_t>(std::max(dropped, 0L));
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
